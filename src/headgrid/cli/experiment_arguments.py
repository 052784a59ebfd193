"""From a command line to an experiment: preset, size, data, kinds of parts, then any field.

The words are parsed twice. The first time tells the preset, the size and the data; the experiment that they make
supplies the defaults, the help and the names of all other options for the second time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from headgrid.cli.data_argument import choose_data
from headgrid.cli.part_kinds import choose_kinds, kind_options
from headgrid.cli.weight_decay import without_lost_parts
from headgrid.evaluation.accuracy import Precision
from headgrid.experiments import (
    DataConfig,
    Experiment,
    HeadCare,
    ModelConfig,
    Size,
    for_data,
    make_experiment,
    read_experiment,
    shorten,
)
from headgrid.training.config import TrainingConfig

INLINE = tyro.conf.arg(name="")
"""Fields of a part appear without the name of the part in front."""


@dataclass(frozen=True)
class ExperimentArguments:
    """Which experiment: a preset or a file, and what is different."""

    preset: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="PRESET")] = None
    """Name of a preset; `headgrid presets` lists them."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """YAML file with a whole experiment, as `headgrid show` prints it, in place of a preset."""
    size: Size = "paper"
    """As published, the same kind of network for half an hour on two cores, or for a minute."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """cifar10, cifar100, embedded, or a folder with train/CLASS/IMAGE and val or test (see --data.image-size)."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder that holds the CIFAR files; otherwise $HEADGRID_DATA, then the cache, then a download."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Train for so many epochs; epochs that the schedule names move in proportion."""
    precision: Annotated[Precision | None, tyro.conf.arg(metavar="{float32,bfloat16}")] = None
    """What matrix products are computed in."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Seed of everything random."""

    @property
    def names_experiment(self) -> bool:
        """Whether the options say which experiment is meant."""
        return self.preset is not None or self.config is not None


HELP = ("-h", "--help")

OF_THE_DATA = ("image_size", "num_channels", "num_classes")
"""Fields of a model that follow its data."""

Arguments = TypeVar("Arguments", bound=ExperimentArguments)


def parse_first(kind: type[Arguments], words: Sequence[str], prog: str) -> Arguments:
    """The options that do not depend on the experiment. Handles --help where no experiment is named."""
    asks_for_help = any(word in HELP for word in words)
    arguments, _ = tyro.cli(kind, args=_without_fields(words), prog=prog, return_unknown_args=True)
    if asks_for_help and not arguments.names_experiment:
        more = f"Any field of the experiment can be set as well: `{prog} PRESET --help` lists them."
        tyro.cli(kind, args=["--help"], prog=prog, description=f"{kind.__doc__}\n\n{more}")
    return arguments


def _without_fields(words: Sequence[str]) -> list[str]:
    """The words without help and without `--some.field VALUE ...`, whose values could be taken for a preset."""
    kept, in_field = [], False
    for word in words:
        if word.startswith("--"):
            in_field = "." in word.partition("=")[0]
        if not in_field and word not in HELP:
            kept.append(word)
    return kept


def base_experiment(arguments: ExperimentArguments) -> Experiment:
    """The experiment of the preset or file that the options name, with the other options applied."""
    if arguments.config is not None:
        if arguments.preset is not None:
            raise ValueError("--config names a whole experiment: give no preset beside it")
        return with_options(read_experiment(arguments.config), arguments)
    if arguments.preset is None:
        raise ValueError(
            "name a preset before all options (`headgrid presets` lists them), or a file with --config"
        )
    return with_options(make_experiment(arguments.preset, arguments.size), arguments)


def with_options(experiment: Experiment, arguments: ExperimentArguments) -> Experiment:
    """The experiment with the data, epochs, precision and seed that the options name."""
    if arguments.preset is None and arguments.size != "paper":
        raise ValueError("--size belongs to a preset: an experiment from a file has its size already")
    if arguments.data is not None or arguments.data_dir is not None:
        size = experiment.model.image_size
        experiment = for_data(experiment, choose_data(arguments.data, arguments.data_dir, experiment.data, size))
    if arguments.epochs is not None:
        experiment = shorten(experiment, arguments.epochs)
    if arguments.precision is not None:
        experiment = replace(experiment, training=replace(experiment.training, precision=arguments.precision))
    return experiment if arguments.seed is None else replace(experiment, seed=arguments.seed)


def parse_experiment(
    kind: type[ExperimentArguments], words: Sequence[str], base: Experiment, prog: str
) -> Experiment:
    """The experiment with all that the command line says about its parts. Handles --help, with every field."""
    chosen = choose_kinds(base, words)
    request = request_type(kind, chosen)
    parsed = tyro.cli(request, args=words, prog=prog, config=(tyro.conf.AvoidSubcommands,))
    experiment = replace(chosen, model=parsed.model, training=parsed.training, heads=parsed.heads)
    if parsed.data != chosen.data:
        # What the command line says about the model's images stays, and is compared with the data before training.
        said = any(getattr(parsed.model, name) != getattr(chosen.model, name) for name in OF_THE_DATA)
        experiment = replace(experiment, data=parsed.data) if said else for_data(experiment, parsed.data)
    return without_lost_parts(base, experiment)


def request_type(kind: type[ExperimentArguments], experiment: Experiment) -> Any:
    """All options of a verb, with the fields of an experiment and their values as defaults."""
    kinds = kind_options(experiment)
    return make_dataclass(
        "Request",
        [
            ("arguments", Annotated[kind, INLINE], field(default_factory=kind)),
            ("kinds", Annotated[kinds, INLINE], field(default_factory=kinds)),
            ("model", ModelConfig, field(default=experiment.model)),
            ("data", DataConfig, field(default=experiment.data)),
            ("training", TrainingConfig, field(default=experiment.training)),
            ("heads", HeadCare, field(default=experiment.heads)),
        ],
        namespace={"__doc__": kind.__doc__},
        frozen=True,
    )
