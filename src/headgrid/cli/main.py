"""`headgrid VERB ...`: finds the verb's file, and imports it only then."""

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module

from headgrid.cli.errors import guarded

VERBS = {
    "presets": ("headgrid.cli.presets", "list the published models that can be trained by name"),
    "show": ("headgrid.cli.show", "print an experiment in full, as YAML"),
    "train": ("headgrid.cli.train", "train a preset, or an experiment from a file; resume a run"),
    "study": ("headgrid.cli.study", "train all runs of a study, and print its table"),
    "evaluate": ("headgrid.cli.evaluate", "measure a trained model: accuracy, loss, each class"),
    "robustness": ("headgrid.cli.robustness", "measure what turned images and adversaries do to accuracy"),
    "analyze": ("headgrid.cli.analyze", "measure what every head looks at: where, how widely, like a convolution?"),
    "report": ("headgrid.cli.report", "write a page about a run: accuracy, head centres, attention maps"),
    "figures": ("headgrid.cli.figures", "draw the figures of the papers, and others, of runs and models"),
    "cost": ("headgrid.cli.cost", "count parameters and multiply-adds"),
    "demo": ("headgrid.cli.demo", "train a small model in three minutes and look at its heads"),
    "convert": ("headgrid.cli.convert", "turn the convolutions of a trained network into attention"),
    "compile": ("headgrid.cli.compile", "turn attention that depends on the shift alone into convolutions"),
    "prune": ("headgrid.cli.prune", "remove heads of a trained model: a smaller one is left"),
    "import": ("headgrid.cli.import_weights", "turn weights of another project into a file of ours"),
    "completion": ("headgrid.cli.completion", "print a script that lets the shell complete this command"),
}
"""Verb -> the module, and what it does. A module has its options, `Arguments`, and `main(words)`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: _dispatch(words))


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    if words[0] == "--version":
        from importlib.metadata import version

        print(f"headgrid {version('headgrid')}")
        return 0
    verb = words[0]
    if verb not in VERBS:
        close = difflib.get_close_matches(verb, VERBS, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(VERBS)}"
        raise ValueError(f"there is no verb {verb!r}: {meant}")
    from headgrid.cli.number_options import NUMBERS

    with NUMBERS:
        return import_module(VERBS[verb][0]).main(words[1:])


def usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "\n".join(
        (
            "usage: headgrid VERB ...",
            "",
            "Vision self-attention seen as convolution: train it, look at its heads, convert it.",
            "",
            *lines,
            "",
            "`headgrid VERB --help` explains a verb; `headgrid train PRESET --help` lists every field of a preset.",
            "To begin: headgrid demo",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
