"""How long presets take, as far as it was measured."""

from dataclasses import replace

from headgrid.data import Cifar10
from headgrid.evaluation.accuracy import Precision
from headgrid.experiments.experiment import Experiment, Size
from headgrid.experiments.presets import PRESETS, make_experiment

HARDWARE = "two cores of an AMD EPYC with AVX512-BF16"

SECONDS_PER_EPOCH: dict[tuple[str, Size], dict[Precision, float]] = {
    ("resnet18", "laptop"): {"bfloat16": 125, "float32": 146},
    ("quadratic", "laptop"): {"bfloat16": 46, "float32": 108},
    ("quadratic-generalized", "laptop"): {"bfloat16": 36, "float32": 116},
    ("learned", "laptop"): {"bfloat16": 66, "float32": 103},
    ("learned-query", "laptop"): {"bfloat16": 114, "float32": 197},
    ("learned-content", "laptop"): {"bfloat16": 165, "float32": 768},
    ("quadratic-16-heads", "laptop"): {"bfloat16": 66, "float32": 116},
    ("learned-16-heads", "laptop"): {"bfloat16": 90, "float32": 153},
    ("learned-content-16-heads", "laptop"): {"bfloat16": 256, "float32": 508},
    ("san10-pairwise", "laptop"): {"bfloat16": 154, "float32": 171},
    ("san10-patchwise", "laptop"): {"bfloat16": 114, "float32": 124},
    ("san15-pairwise", "laptop"): {"bfloat16": 259, "float32": 288},
    ("san15-patchwise", "laptop"): {"bfloat16": 164, "float32": 181},
    ("san19-pairwise", "laptop"): {"bfloat16": 286, "float32": 356},
    ("san19-patchwise", "laptop"): {"bfloat16": 210, "float32": 233},
    ("resnet26", "laptop"): {"bfloat16": 22, "float32": 34},
    ("resnet38", "laptop"): {"bfloat16": 31, "float32": 54},
    ("resnet50", "laptop"): {"bfloat16": 42, "float32": 64},
    ("report-san-pairwise", "laptop"): {"bfloat16": 38, "float32": 39},
    ("report-san-patchwise", "laptop"): {"bfloat16": 33, "float32": 35},
}
"""Training and validation of one epoch on `HARDWARE`, without compiling: `benchmarks/epoch_duration.py` printed it
on 2026-11-18 and 19. Other work ran on the machine, so these are upper bounds."""


def expected_seconds(experiment: Experiment) -> dict[Precision, float]:
    """Seconds of the whole training in each precision that was measured; empty for changed experiments."""
    if experiment.name not in PRESETS:
        return {}
    preset = make_experiment(experiment.name, experiment.size)
    data = experiment.data
    if isinstance(data, Cifar10):
        data = replace(data, directory=None)  # where the files are does not matter
    same = replace(
        experiment.training,
        num_epochs=preset.training.num_epochs,
        schedule=preset.training.schedule,
        precision=preset.training.precision,
    )
    if (experiment.model, data, same) != (preset.model, preset.data, preset.training):
        return {}
    measured = SECONDS_PER_EPOCH.get((experiment.name, experiment.size), {})
    return {precision: float(seconds * experiment.training.num_epochs) for precision, seconds in measured.items()}
