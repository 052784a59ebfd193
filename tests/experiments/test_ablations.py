"""The ablations of SAN: what their rows are, what the paper prints of them, and that all of them can be trained."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.data import Cifar10, ImageFolder
from headgrid.evaluation.published_flops import published_flops
from headgrid.experiments import ABLATIONS, ALL_PRESETS, PRESETS, for_data, make_experiment
from headgrid.models import SAN, SAN10, BottleneckConfig, ResNet, ResNetConfig, SANConfig

ROWS = {f"{ablation.name}, {row.name}": row for ablation in ABLATIONS.values() for row in ablation.rows}
PUBLISHED = {name: row for name, row in ROWS.items() if row.published is not None}
NAMES = sorted({row.name for row in ROWS.values()})

DISAGREEMENTS = {("san10-pairwise-shared-phi-psi", "giga_flops"): (2.0, 2.1)}
"""What we count and what is printed, where they differ."""


def test_the_tables_and_their_sizes():
    sizes = {name: len(ablation.rows) for name, ablation in ABLATIONS.items()}
    assert sizes == {
        "relation": 9,
        "transformation": 7,
        "footprint": 13,
        "position": 4,
        "mapping-depth": 6,
        "mapping-width": 8,
    }
    for name, ablation in ABLATIONS.items():
        variants = [(row.network, row.variant) for row in ablation.rows]
        assert len(set(variants)) == len(variants)
        assert all((row.published is None) == name.startswith("mapping") for row in ablation.rows)


def test_a_name_is_one_experiment_and_two_experiments_of_a_table_differ():
    for row in ROWS.values():
        assert ALL_PRESETS[row.name].make() == row.make() == make_experiment(row.name)
    for ablation in ABLATIONS.values():
        for one, other in itertools.combinations(ablation.rows, 2):
            assert one.experiment.model != other.experiment.model
            assert one.experiment.training == other.experiment.training
            assert one.experiment.data == other.experiment.data


def test_presets_stay_a_short_list():
    assert not {name for name in NAMES if name in PRESETS} - {"san10-pairwise", "san10-patchwise", "resnet26"}
    assert set(ALL_PRESETS) == set(PRESETS) | set(NAMES)
    preset = ALL_PRESETS["san10-pairwise-hadamard"]
    assert (preset.accuracy, preset.summary) == (0.774, "SAN10 pairwise, Hadamard product")


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_and_flops_are_the_printed_ones(name: str):
    row = PUBLISHED[name]
    assert row.published is not None
    with torch.device("meta"):
        model = row.make().model.build()
    assert isinstance(model, SAN | ResNet)
    counted = {
        "mega_parameters": round(sum(parameter.numel() for parameter in model.parameters()) / 1e6, 1),
        "giga_flops": round(published_flops(model) / 1e9, 1),
    }
    for what, number in counted.items():
        printed = getattr(row.published, what)
        assert (number, printed) == DISAGREEMENTS.get((row.name, what), (printed, printed))


def test_one_network_has_one_published_row():
    """ResNet-26 and the two SAN10 stand in several tables of the paper, with the same numbers in all."""
    published: dict[str, object] = {}
    for row in PUBLISHED.values():
        assert published.setdefault(row.name, row.published) == row.published
    for row in PUBLISHED.values():
        assert row.published is not None
        assert 0.7 < row.published.top_1 < row.published.top_5 < 1


@pytest.mark.parametrize("name", ["relation", "transformation", "position", "mapping-depth", "mapping-width"])
def test_an_ablation_changes_one_field_of_the_attention(name: str):
    field = {"transformation": "transformations"}.get(name, name.partition("-")[0])
    field = {"mapping": "gamma"}.get(field, field)
    for row in ABLATIONS[name].rows:
        model = row.experiment.model
        if not isinstance(model, SANConfig):
            assert row.name == "resnet26"
            continue
        kind = PairwiseAttentionConfig if row.network == "SAN10 pairwise" else PatchwiseAttentionConfig
        assert type(model.attention) is kind
        value = getattr(model.attention, field)
        assert (row.experiment == make_experiment(row.name.partition("wise")[0] + "wise")) == (
            value == getattr(kind(), field)
        )
        assert model == SANConfig(replace(kind(), **{field: value}), SAN10)


def test_footprints_vary_from_the_second_stage_on():
    for row in ABLATIONS["footprint"].rows:
        side = int(row.variant.split()[0])
        model = row.experiment.model
        if isinstance(model, SANConfig):
            assert model.footprints == (3, side, side, side, side)
            assert model == replace(SANConfig(type(model.attention)()), footprints=model.footprints)
        else:
            assert isinstance(model, ResNetConfig)
            assert model.block == BottleneckConfig(kernel_size=side)


@pytest.mark.parametrize("size", ["laptop", "tiny"])
def test_smaller_sizes_keep_what_tells_the_rows_apart(size: str):
    for ablation in ABLATIONS.values():
        for one, other in itertools.combinations([row.name for row in ablation.rows], 2):
            assert make_experiment(one, size).model != make_experiment(other, size).model  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_learns_in_size_tiny_with_all_its_parameters(name: str):
    torch.manual_seed(0)
    model = make_experiment(name, "tiny").model.build()
    height, width = model.config.image_size
    images = torch.rand(3, model.config.num_channels, height, width - 8)
    logits = model(images)
    assert logits.shape == (3, model.config.num_classes)
    F.cross_entropy(logits, torch.tensor([0, 1, 2])).backward()
    unused = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert not unused
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_builds_in_size_laptop(name: str):
    experiment = make_experiment(name, "laptop")
    assert experiment.data == Cifar10()
    with torch.device("meta"):
        model = experiment.model.build()
        assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_a_wider_mapping_has_more_parameters_in_size_laptop():
    for attention in ("pairwise", "patchwise"):
        names = [f"san10-{attention}-mapping-{word}-width" for word in ("half", "double", "fourfold")]
        half, double, fourfold = (_num_parameters(make_experiment(name, "laptop").model) for name in names)
        base = _num_parameters(make_experiment(f"san10-{attention}", "laptop").model)
        assert half < base < double < fourfold


def test_rows_learn_a_folder_of_images(tmp_path: Path):
    for name in ("cat", "dog", "owl"):
        (tmp_path / "train" / name).mkdir(parents=True)
    row = ABLATIONS["position"].rows[1]
    model = for_data(row.experiment, ImageFolder(tmp_path, image_size=(64, 48))).model
    assert (model.num_classes, model.image_size) == (3, (64, 48))
    assert isinstance(model, SANConfig)
    assert isinstance(row.experiment.model, SANConfig)
    assert model.attention == row.experiment.model.attention


def _num_parameters(config) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in config.build().parameters())
