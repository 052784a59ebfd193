"""`headgrid show`"""

from collections.abc import Sequence
from dataclasses import dataclass

from headgrid.cli.experiment_arguments import ExperimentArguments, base_experiment, parse_experiment, parse_first
from headgrid.cli.presets import num_parameters
from headgrid.experiments import Experiment, experiment_to_yaml
from headgrid.experiments.durations import HARDWARE, expected_seconds
from headgrid.training.progress import in_words

PROG = "headgrid show"


@dataclass(frozen=True)
class Arguments(ExperimentArguments):
    """Print an experiment in full, as YAML that `headgrid train --config FILE` reads."""


def main(arguments: Sequence[str]) -> int:
    first = parse_first(Arguments, arguments, PROG)
    experiment = parse_experiment(Arguments, arguments, base_experiment(first), PROG)
    print(f"# {experiment.name}, size {experiment.size}: {num_parameters(experiment):,} parameters")
    print(f"# expected time of training: {_expected(experiment)}")
    print(experiment_to_yaml(experiment), end="")
    return 0


def _expected(experiment: Experiment) -> str:
    expected = expected_seconds(experiment)
    if not expected:
        return "not measured"
    times = ", ".join(f"{in_words(seconds)} in {precision}" for precision, seconds in expected.items())
    return f"{times} ({HARDWARE})"
