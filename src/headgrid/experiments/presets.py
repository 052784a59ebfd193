"""All presets and all tables of ablations by name, one file per paper."""

from headgrid.experiments import cordonnier, report, report_hierarchical, san, san_ablations, vit
from headgrid.experiments.ablation import Ablation
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

ABLATIONS: dict[str, Ablation] = {ablation.name: ablation for ablation in san_ablations.ABLATIONS}
"""Tables whose rows differ in one thing."""

ALL_PRESETS: dict[str, Preset] = PRESETS | {
    row.name: ablation.preset(row)
    for ablation in ABLATIONS.values()
    for row in ablation.rows
    if row.name not in PRESETS
}
"""Everything that can be trained by name: the presets, and the rows of ablations that are none."""


def find_preset(name: str) -> Preset:
    if name not in ALL_PRESETS:
        raise ValueError(f"there is no preset {name!r}: {suggestion(name, ALL_PRESETS)}")
    return ALL_PRESETS[name]


def make_experiment(name: str, size: Size = "paper") -> Experiment:
    """The experiment of a preset, in a size."""
    preset = find_preset(name)
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}: {suggestion(size, SIZES)}")
    return SIZES[size](preset.make())
