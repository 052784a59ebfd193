"""All presets by name, one file per paper."""

from headgrid.experiments import cordonnier, report, report_hierarchical, san, vit
from headgrid.experiments.experiment import Experiment, Size
from headgrid.experiments.kinds import suggestion
from headgrid.experiments.preset import Preset
from headgrid.experiments.sizes import SIZES

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        *cordonnier.PRESETS,
        *report.PRESETS,
        *report_hierarchical.PRESETS,
        *san.PRESETS,
        *vit.PRESETS,
    )
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    return PRESETS[name]


def make_experiment(name: str, size: Size = "paper") -> Experiment:
    """The experiment of a preset, in a size."""
    preset = find_preset(name)
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}: {suggestion(size, SIZES)}")
    return SIZES[size](preset.make())
