"""`headgrid study hierarchical-attention`: does it win, and through which ingredient? In size laptop, on CIFAR-10.

Four families, each in the four combinations of the report's two ingredients: weights shared by all passes or not,
the first key kept or not. Within a family everything else is the same: network, recipe, images, number of epochs.
Own weights with own keys are the plain stack.

HA-SAN is no SAN with fewer weights but another network, so the report's own comparison, of its SAN with HA-SAN,
stands beside: for as many epochs, and for as long, because an epoch of the SAN takes a third or half of the time.
In the two other families an epoch of hierarchical attention takes nearly as long as one of the plain stack: there
equal epochs are equal time.
"""

from collections.abc import Callable
from dataclasses import replace

from headgrid.experiments.cordonnier import learned_content
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.hierarchical import hierarchical
from headgrid.experiments.report_hierarchical import (
    report_san_pairwise_corrected,
    report_san_pairwise_hierarchical_corrected,
    report_san_patchwise_corrected,
    report_san_patchwise_hierarchical_corrected,
    report_vit_corrected,
)
from headgrid.experiments.sizes import laptop, shorten
from headgrid.stacks import KeptKey, OwnKeys, OwnWeights, SharedWeights
from headgrid.study.study import Study, StudyRow

NUM_EPOCHS = 2
"""About ten minutes a run on one core."""

COMBINATIONS = {
    "plain": (OwnWeights(), OwnKeys()),
    "hierarchical": (SharedWeights(), KeptKey()),
    "shared weights alone": (SharedWeights(), OwnKeys()),
    "kept key alone": (OwnWeights(), KeptKey()),
}


def _row(group: str, variant: str, experiment: Experiment, num_epochs: int, seeds: tuple[int, ...]) -> StudyRow:
    name = f"{group}-{variant}".replace(" ", "-")
    return StudyRow(group, variant, shorten(laptop(replace(experiment, name=name)), num_epochs), seeds)


def _combinations(
    group: str, preset: Callable[[], Experiment], seeds: tuple[int, ...] = (0,)
) -> tuple[StudyRow, ...]:
    return tuple(
        _row(group, variant, hierarchical(preset(), weights=weights, key=key), NUM_EPOCHS, seeds)
        for variant, (weights, key) in COMBINATIONS.items()
    )


def _san_of_report(group: str, preset: Callable[[], Experiment], times_as_fast: int) -> tuple[StudyRow, ...]:
    return (
        _row(group, "SAN for as many epochs", preset(), NUM_EPOCHS, (0,)),
        _row(group, "SAN for as long", preset(), NUM_EPOCHS * times_as_fast, (0,)),
    )


HIERARCHICAL_STUDY = Study(
    "hierarchical-attention",
    "Does hierarchical attention win, by how much, and through which ingredient?",
    (
        *_combinations("learned-content", learned_content, seeds=(0, 1, 2)),
        *_combinations("san-pairwise", report_san_pairwise_hierarchical_corrected),
        *_combinations("san-patchwise", report_san_patchwise_hierarchical_corrected),
        *_combinations("vit", report_vit_corrected),
        *_san_of_report("san-pairwise", report_san_pairwise_corrected, times_as_fast=3),
        *_san_of_report("san-patchwise", report_san_patchwise_corrected, times_as_fast=2),
    ),
)
