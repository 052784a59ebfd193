"""`headgrid completion`"""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Annotated, Any, Literal

import tyro

from headgrid.cli.experiment_arguments import ExperimentArguments, request_type
from headgrid.cli.main import VERBS
from headgrid.experiments import PRESETS


@dataclass(frozen=True)
class Arguments:
    """Print a script that lets the shell complete verbs, presets, options and their values.

    For bash: headgrid completion bash > ~/.local/share/bash-completion/completions/headgrid
    """

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]
    """The shell that reads the script."""


OR_FILES = {
    "bash": """
_headgrid_or_files() {
  _tyro_headgrid "$@"
  [[ -n "${COMPREPLY[*]}" ]] || COMPREPLY=()
}
complete -o default -F _headgrid_or_files headgrid
""",
    "zsh": """
(( compstate[nmatches] )) || _files
""",
}
"""What is added to tyro's scripts: names of files, where it has nothing to offer (runs and files of weights)."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid completion")
    command = _choice({verb: _options(import_module(module).Arguments) for verb, (module, _) in VERBS.items()})
    configuration = (tyro.conf.AvoidSubcommands,)
    script = io.StringIO()
    with redirect_stdout(script), suppress(SystemExit):
        tyro.cli(command, prog="headgrid", args=("--tyro-print-completion", options.shell), config=configuration)
    print(script.getvalue().rstrip("\n") + "\n" + OR_FILES.get(options.shell, ""), end="")
    return 0


def _options(kind: type) -> Any:
    """What may stand after a verb: its options, or a preset first and then the fields of its experiment too."""
    if not issubclass(kind, ExperimentArguments):
        return kind
    return _choice({name: request_type(kind, preset.make()) for name, preset in PRESETS.items()})


def _choice(kinds: dict[str, Any]) -> Any:
    return reduce(or_, (Annotated[kind, tyro.conf.subcommand(name)] for name, kind in kinds.items()))
