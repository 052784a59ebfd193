"""The table of the SAN paper: parameters and FLOPs, and those of its ablations, to the printed digit."""

from dataclasses import replace

import pytest
import torch

from headgrid.attention import (
    AbsolutePosition,
    AllDifferent,
    AllShared,
    CliqueProduct,
    Concatenation,
    DotProduct,
    HadamardProduct,
    NoPosition,
    PairwiseAttentionConfig,
    PatchConcatenation,
    PatchwiseAttentionConfig,
    RelativePosition,
    SharedPhiPsi,
    StarProduct,
    Subtraction,
    Summation,
)
from headgrid.evaluation.published_flops import resnet_flops, san_flops
from headgrid.models import (
    SAN10,
    SAN15,
    SAN19,
    BottleneckConfig,
    ImageNetStemConfig,
    ResNetConfig,
    SANConfig,
)

PAIRWISE, PATCHWISE = PairwiseAttentionConfig(), PatchwiseAttentionConfig()


def _cost(config: SANConfig) -> tuple[int, int]:
    with torch.device("meta"):
        model = config.build()
    return sum(parameter.numel() for parameter in model.parameters()), san_flops(model)


@pytest.mark.parametrize(
    ("blocks", "attention", "num_parameters", "giga_flops"),
    [
        (SAN10, PAIRWISE, 10_531_848, 2.155),
        (SAN10, PATCHWISE, 11_841_124, 1.865),
        (SAN15, PAIRWISE, 14_065_436, 3.023),
        (SAN15, PATCHWISE, 16_181_310, 2.583),
        (SAN19, PAIRWISE, 17_596_156, 3.844),
        (SAN19, PATCHWISE, 20_518_470, 3.259),
    ],
)
def test_networks(blocks, attention, num_parameters, giga_flops):
    parameters, flops = _cost(SANConfig(attention, blocks))
    assert parameters == num_parameters
    assert round(flops / 1e9, 3) == giga_flops


@pytest.mark.parametrize(
    ("blocks", "num_parameters", "giga_flops"),
    [((1, 2, 4, 1), 13_696_552, 2.361), ((2, 3, 5, 2), 19_626_792, 3.242), ((3, 4, 6, 3), 25_557_032, 4.122)],
)
def test_their_convolutional_counterparts(blocks, num_parameters, giga_flops):
    config = ResNetConfig(
        blocks, block=BottleneckConfig(), stem=ImageNetStemConfig(), image_size=(224, 224), num_classes=1000
    )
    with torch.device("meta"):
        model = config.build()
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters
    assert round(resnet_flops(model) / 1e9, 3) == giga_flops
    assert model.training


@pytest.mark.parametrize(
    ("attention", "mega_parameters", "giga_flops"),
    [
        (replace(PAIRWISE, relation=Summation()), 10.5, 2.2),
        (replace(PAIRWISE, relation=Subtraction()), 10.5, 2.2),
        (replace(PAIRWISE, relation=Concatenation()), 10.6, 2.5),
        (replace(PAIRWISE, relation=HadamardProduct()), 10.5, 2.2),
        (replace(PAIRWISE, relation=DotProduct()), 10.5, 1.8),
        (replace(PATCHWISE, relation=StarProduct()), 10.9, 1.7),
        (replace(PATCHWISE, relation=CliqueProduct()), 11.5, 1.9),
        (replace(PATCHWISE, relation=PatchConcatenation()), 11.8, 1.9),
        (replace(PAIRWISE, transformations=AllShared()), 9.5, 3.0),
        # Here alone the slides print another number, 2.1: we count 2.046, and find no reading that gives more.
        (replace(PAIRWISE, transformations=SharedPhiPsi()), 10.0, 2.0),
        (replace(PAIRWISE, transformations=AllDifferent()), 10.5, 2.2),
        (replace(PATCHWISE, transformations=AllShared()), 13.4, 2.2),
        (replace(PATCHWISE, transformations=SharedPhiPsi()), 11.3, 1.8),
        (replace(PATCHWISE, transformations=AllDifferent()), 11.8, 1.9),
        (replace(PAIRWISE, position=NoPosition()), 10.5, 2.1),
        (replace(PAIRWISE, position=AbsolutePosition()), 10.5, 2.2),
        (replace(PAIRWISE, position=RelativePosition()), 10.5, 2.2),
    ],
)
def test_ablations_of_san10(attention, mega_parameters, giga_flops):
    parameters, flops = _cost(SANConfig(attention))
    assert (round(parameters / 1e6, 1), round(flops / 1e9, 1)) == (mega_parameters, giga_flops)


@pytest.mark.parametrize(
    ("attention", "footprint", "mega_parameters", "giga_flops"),
    [
        (PAIRWISE, 3, 10.5, 1.7),
        (PAIRWISE, 5, 10.5, 1.9),
        (PAIRWISE, 7, 10.5, 2.2),
        (PAIRWISE, 9, 10.5, 2.5),
        (PAIRWISE, 11, 10.5, 3.0),
        (PATCHWISE, 3, 10.7, 1.6),
        (PATCHWISE, 5, 11.2, 1.7),
        (PATCHWISE, 7, 11.8, 1.9),
        (PATCHWISE, 9, 12.7, 2.1),
        (PATCHWISE, 11, 13.8, 2.3),
    ],
)
def test_footprints_of_san10(attention, footprint, mega_parameters, giga_flops):
    parameters, flops = _cost(SANConfig(attention, footprints=(3, *(footprint,) * 4)))
    assert (round(parameters / 1e6, 1), round(flops / 1e9, 1)) == (mega_parameters, giga_flops)
