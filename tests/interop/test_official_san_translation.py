import random
from pathlib import Path

import numpy as np
import pytest
import torch
from official_san_formulas import network, network_shapes, operator, operator_shapes, random_state

from headgrid.interop.official_san import import_checkpoint, translate, translate_operator

WIDTHS = {"in_planes": 12, "rel_planes": 3, "out_planes": 8, "share_planes": 2}

OPERATORS = [
    {"kind": "pairwise", "kernel_size": 3},
    {"kind": "pairwise", "kernel_size": 5, "stride": 2},
    {"kind": "pairwise", "kernel_size": 3, "dilation": 2},
    {"kind": "pairwise", "kernel_size": 3, "stride": 3, "dilation": 3},
    {"kind": "pairwise", "kernel_size": 9},
    {"kind": "patchwise", "kernel_size": 3},
    {"kind": "patchwise", "kernel_size": 5, "stride": 2},
    {"kind": "patchwise", "kernel_size": 3, "dilation": 2},
    {"kind": "patchwise", "kernel_size": 9},
]

NETWORKS = [
    {"kind": "pairwise", "layers": [1, 2], "kernels": [3, 7], "num_classes": 5},
    {"kind": "patchwise", "layers": [2, 1], "kernels": [5, 3], "num_classes": 7},
]


def _operator_state(config):
    torch.manual_seed(0)
    return random_state(operator_shapes(config["kind"], 12, 3, 8, 2, config["kernel_size"]))


def _network_state(config):
    torch.manual_seed(0)
    return random_state(network_shapes(**config))


@pytest.mark.parametrize("config", OPERATORS, ids=str)
@torch.no_grad()
def test_operators_follow_the_official_formulas(config):
    state = _operator_state(config)
    maps = torch.randn(2, 12, 7, 11, dtype=torch.float64)
    expected = operator(
        state, maps, config["kind"], config["kernel_size"], config.get("stride", 1), config.get("dilation", 1)
    )
    ours = translate_operator(state, config | WIDTHS)
    assert not ours.training
    torch.testing.assert_close(ours(maps), expected)
    torch.testing.assert_close(ours(maps, record=True)[0], expected)


@pytest.mark.parametrize("seed", range(24))
@torch.no_grad()
def test_random_operators_follow_the_official_formulas(seed):
    """All that may be chosen of an operator, on maps of odd and even sizes that its padding can mirror once."""
    chance = random.Random(seed)
    kind, kernel = chance.choice(("pairwise", "patchwise")), chance.choice((1, 3, 5, 7, 9, 11))
    stride, dilation = chance.choice((1, 1, 2, 3)), chance.choice((1, 1, 2, 3))
    share, groups = chance.choice((1, 2, 4, 8)), chance.choice((1, 2, 3))
    dim, relation, value = chance.randint(3, 20), chance.randint(1, 6), share * groups
    reach = dilation * (kernel // 2)
    height = reach + chance.randint(1, 6)
    width = height + chance.randint(1, 5)
    torch.manual_seed(seed)
    state = random_state(operator_shapes(kind, dim, relation, value, share, kernel))
    maps = torch.randn(chance.randint(1, 3), dim, height, width, dtype=torch.float64)
    expected = operator(state, maps, kind, kernel, stride, dilation)
    config = {
        "kind": kind, "kernel_size": kernel, "stride": stride, "dilation": dilation,
        "in_planes": dim, "rel_planes": relation, "out_planes": value, "share_planes": share,
    }  # fmt: skip
    ours = translate_operator(state, config)
    torch.testing.assert_close(ours(maps), expected)
    torch.testing.assert_close(ours(maps, record=True)[0], expected)
    single = ours.float()(maps.float())
    assert (single - expected).abs().max() < 1e-4 * max(1.0, expected.abs().max().item())


@pytest.mark.parametrize("seed", range(8))
@torch.no_grad()
def test_random_networks_follow_the_official_formulas(seed):
    """Images of odd sizes, whose last row or column max pooling leaves out."""
    chance = random.Random(seed)
    num_stages = chance.choice((1, 2, 2, 3))
    config = {
        "kind": chance.choice(("pairwise", "patchwise")),
        "layers": [chance.choice((1, 1, 2)) for _ in range(num_stages)],
        "kernels": [chance.choice((3, 5, 7)) for _ in range(num_stages)],
        "num_classes": chance.randint(2, 9),
    }
    # The official code mirrors once: no footprint may reach farther than the map is long.
    smallest = max((kernel // 2 + 1) * 2 ** (stage + 1) for stage, kernel in enumerate(config["kernels"]))
    images = torch.randn(2, 3, smallest + chance.randint(0, 5), smallest + chance.randint(6, 11)).double()
    torch.manual_seed(seed)
    state = random_state(network_shapes(**config))
    expected = network(state, images, config["kind"], config["layers"], config["kernels"])
    torch.testing.assert_close(translate(state, config)(images), expected)


@pytest.mark.parametrize("config", NETWORKS, ids=lambda config: config["kind"])
@pytest.mark.parametrize("prefix", ["", "module."])
@torch.no_grad()
def test_networks_follow_the_official_formulas(config, prefix):
    state = _network_state(config)
    images = torch.randn(2, 3, 20, 28, dtype=torch.float64)
    expected = network(state, images, config["kind"], config["layers"], config["kernels"])
    ours = translate({prefix + name: value for name, value in state.items()}, config)
    assert not ours.training
    assert ours.config.footprints == tuple(config["kernels"])
    torch.testing.assert_close(ours(images), expected)


def test_what_the_weights_tell_needs_no_config():
    config = translate(_network_state(NETWORKS[1])).config
    assert (config.footprints, config.blocks_per_stage, config.num_classes) == ((5, 3), (2, 1), 7)


def test_pairwise_weights_do_not_tell_their_footprints():
    state = _network_state(NETWORKS[0])
    with pytest.raises(ValueError, match="2 stages and there are footprints for 5"):
        translate(state)
    with pytest.raises(ValueError, match="the config needs kernel_size"):
        translate_operator(_operator_state(OPERATORS[0]), {"kind": "pairwise"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "pairwise"}, "kind = pairwise, and by the weights it is patchwise"),
        ({"layers": [1, 1]}, r"layers = \(1, 1\), and by the weights it is \(2, 1\)"),
        ({"kernels": [3, 3]}, r"kernels = \(3, 3\), and by the weights it is \(5, 3\)"),
        ({"num_classes": 1000}, "num_classes = 1000, and by the weights it is 7"),
    ],
)
def test_a_config_of_other_weights_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        translate(_network_state(NETWORKS[1]), NETWORKS[1] | wrong)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("layer0.1.sam.conv_w.2.weight", "no entry layer0.1.sam.conv_w.2.weight"),
        ("fc.weight", "no entry fc.weight"),
        ("layer0.0.sam.conv_w.0.weight", "no entry layer0.0.sam.conv_w.0.weight"),
    ],
)
def test_a_missing_entry_is_named(name, message):
    state = _network_state(NETWORKS[1])
    del state[name]
    with pytest.raises(ValueError, match=message):
        translate(state)


def test_weights_of_something_else_are_refused():
    with pytest.raises(ValueError, match="no complete stages"):
        translate({"linear.weight": torch.zeros(3, 4)})


def test_an_entry_of_another_shape_is_named():
    state = _network_state(NETWORKS[1])
    state["layer1.0.sam.conv_w.2.weight"] = state["layer1.0.sam.conv_w.2.weight"][:, :-1]
    with pytest.raises(ValueError, match=r"entry layer1\.0\.sam\.conv_w\.2\.weight of the weights has the shape"):
        translate(state)


def test_checkpoint_saved_under_data_parallel(tmp_path: Path):
    state = _network_state(NETWORKS[0])
    path = tmp_path / "model_best.pth"
    content = {
        "epoch": 100,
        "state_dict": {f"module.{name}": value for name, value in state.items()},
        "optimizer": {"state": {}, "param_groups": [{"lr": 0.1}]},
        "top1_val": np.float64(0.749),
        "top5_val": torch.tensor(0.921),
    }
    torch.save(content, path)
    model, info = import_checkpoint(path, kernels=[3, 7])
    assert model.config.footprints == (3, 7)
    assert (info.epoch, info.top1) == (100, 0.749)
    assert info.top5 == pytest.approx(0.921)
    images = torch.randn(1, 3, 20, 24, dtype=torch.float64)
    expected = network(state, images, "pairwise", [1, 2], [3, 7])
    torch.testing.assert_close(model(images).detach(), expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [({"weights": 1}, "expected a dictionary with state_dict"), ([1, 2], "expected a dictionary with state_dict")],
)
def test_another_file_is_refused(tmp_path: Path, content, message):
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=message):
        import_checkpoint(tmp_path / "other.pth")
