import json

from headgrid.experiments import PRESETS

from .conftest import Headgrid


def test_json_of_one_preset(headgrid: Headgrid):
    (cost,) = json.loads(headgrid("cost", "quadratic", "--json").out)
    assert cost["preset"] == "quadratic"
    assert cost["size"] == "paper"
    assert cost["num_parameters"] == 12_086_844
    assert cost["num_unused_parameters"] == 0
    # 9 heads of 6 layers apply maps of 256 x 256 pixels to 400 channels.
    assert cost["attention_macs"] == 6 * 9 * 256 * 256 * 400
    weights = 12 * 400 + 6 * (9 * 400 * 400 + 400 * 400 + 2 * 400 * 512)
    assert cost["linear_macs"] == 256 * weights + 400 * 10
    assert cost["macs"] == cost["linear_macs"] + cost["attention_macs"]
    assert cost["executed_macs"] < cost["macs"]


def test_several_presets_in_their_order_and_another_size(headgrid: Headgrid):
    costs = json.loads(headgrid("cost", "resnet18", "learned", "--size", "tiny", "--json").out)
    assert [(cost["preset"], cost["size"]) for cost in costs] == [("resnet18", "tiny"), ("learned", "tiny")]
    assert costs[0]["attention_macs"] == 0


def test_a_table_of_all_that_names_its_convention(headgrid: Headgrid):
    ended = headgrid("cost", "--size", "tiny")
    assert [line.split()[0] for line in ended.out.splitlines()[1 : len(PRESETS) + 1]] == list(PRESETS)
    assert "Multiply-adds of one image" in ended.out


def test_the_flops_of_the_san_paper_beside_those_of_all(headgrid: Headgrid):
    names = ("san10-pairwise", "resnet26", "quadratic", "resnet18")
    costs = json.loads(headgrid("cost", *names, "--json").out)
    assert [cost["san_paper_flops"] and round(cost["san_paper_flops"] / 1e9, 3) for cost in costs] == [
        2.155, 2.361, None, None,
    ]  # fmt: skip
    out = headgrid("cost", *names).out
    assert [line.split() for line in out.splitlines() if line.endswith(" G")][-2:] == [
        ["san10-pairwise", "2.155", "G"],
        ["resnet26", "2.361", "G"],
    ]
    assert "the SAN paper" not in headgrid("cost", "quadratic").out


def test_misspelt_presets(headgrid: Headgrid):
    assert headgrid("cost", "quadratc") == (
        2,
        "",
        "headgrid: there is no preset 'quadratc': did you mean 'quadratic'?\n",
    )
