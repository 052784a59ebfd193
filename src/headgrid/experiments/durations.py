"""How long presets take, as far as it was measured."""

from dataclasses import replace

from headgrid.evaluation.accuracy import Precision
from headgrid.experiments.experiment import Experiment, Size
from headgrid.experiments.presets import PRESETS, make_experiment

HARDWARE = "two cores of an AMD EPYC with AVX512-BF16"

SECONDS_PER_EPOCH: dict[tuple[str, Size], dict[Precision, float]] = {}
"""Training and validation of one epoch on `HARDWARE`, without compiling."""


def expected_seconds(experiment: Experiment) -> dict[Precision, float]:
    """Seconds of the whole training in each precision that was measured; empty for changed experiments."""
    if experiment.name not in PRESETS:
        return {}
    preset = make_experiment(experiment.name, experiment.size)
    same = replace(
        experiment.training,
        num_epochs=preset.training.num_epochs,
        schedule=preset.training.schedule,
        precision=preset.training.precision,
    )
    if (experiment.model, experiment.data, same) != (preset.model, preset.data, preset.training):
        return {}
    measured = SECONDS_PER_EPOCH.get((experiment.name, experiment.size), {})
    return {precision: seconds * experiment.training.num_epochs for precision, seconds in measured.items()}
