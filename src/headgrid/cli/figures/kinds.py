"""The figures by name: what each shows, and which figures of the papers it redraws for a model of yours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgrid.experiments.kinds import suggestion


@dataclass(frozen=True)
class FigureKind:
    """An entry of `headgrid figures --help`."""

    shows: str
    """In a few words."""
    iclr: str = ""
    """Numbers of the figures of Cordonnier et al. (ICLR 2020) that are of this kind."""
    report: str = ""
    """The same for the reproduction report: "8a-17a" are the first parts of the figures 8 to 17."""

    @property
    def in_papers(self) -> str:
        return "; ".join(
            f"{paper} {text}" for paper, text in (("ICLR", self.iclr), ("report", self.report)) if text
        )

    @property
    def names_in_papers(self) -> set[str]:
        """What `--only` takes beside the name: iclr-5, report-8a, and report-8 for all parts of the figure."""
        iclr = {f"iclr-{number}" for number in _numbers(self.iclr)}
        report = {f"report-{name}" for number in _numbers(self.report) for name in (number, number.rstrip("ab"))}
        return iclr | report


def _numbers(text: str) -> Iterator[str]:
    """`3, 8a-10a` -> 3, 8a, 9a, 10a."""
    for part in text.split(", ") if text else ():
        first, _, last = part.partition("-")
        digits = first.rstrip("ab")
        for number in range(int(digits), int((last or first).rstrip("ab")) + 1):
            yield f"{number}{first.removeprefix(digits)}"


FIGURES = {
    "layer-illustration": FigureKind("how a layer computes its output at one query pixel", iclr="1"),
    "centers-during-training": FigureKind("where the heads of one layer look, at several epochs", iclr="2"),
    "centers-of-layers": FigureKind("where the heads of every layer look, at the end", iclr="3, 8"),
    "centers-over-epochs": FigureKind("where the heads of every layer look, at several epochs", report="2"),
    "centers-animation": FigureKind("the same as a moving picture, epoch by epoch"),
    "ellipses": FigureKind("heads of any Gaussian shape, numbered", iclr="6"),
    "fitted-ellipses": FigureKind("Gaussians fitted to what the heads of any model look at"),
    "accuracy-curves": FigureKind(
        "accuracy over the epochs, of several runs in one figure", iclr="4, 7", report="1"
    ),
    "attention-maps": FigureKind(
        "what each head looks at from one query pixel", iclr="5", report="3, 8a-17a, 20a-23a"
    ),
    "mean-attention-maps": FigureKind("the same as a mean over a set of images", report="4"),
    "average-attention": FigureKind("how much each pixel is looked at, by all others", report="5, 8b-17b, 20b-23b"),
    "footprint-maps": FigureKind("how much each pixel looks at each of its neighbours (SAN)", report="18, 19"),
    "normal-attention-diagram": FigureKind("layers that have weights and keys of their own", report="6"),
    "hierarchical-attention-diagram": FigureKind("layers that share weights and the first key", report="7"),
    "overlay": FigureKind("what each head looks at from one query pixel, laid over the image"),
    "overlay-grid": FigureKind("the same of several images, as a mean over the heads"),
    "class-token-overlay": FigureKind("what the class token looks at, laid over the image"),
    "class-token-grid": FigureKind("the same of several images, as a mean over the heads"),
    "rollout": FigureKind("what a pixel, or the class token, has looked at through all layers so far"),
    "shift-distributions": FigureKind("the attention of each head by shift, over all query pixels and images"),
    "locality": FigureKind("how far the heads of each layer look, and at how many pixels"),
    "content-dependence": FigureKind("how much the heads of each layer look at the image, and at positions"),
    "kernel-covers": FigureKind("the heads of each layer, assigned to the elements of a kernel"),
    "head-similarity": FigureKind("how alike the heads of each layer look, head by head"),
    "head-shapes": FigureKind("how wide and how thin Gaussian heads are, and which are degenerate"),
}
"""Name -> kind, in the order in which they are drawn."""


def chosen_figures(only: Sequence[str]) -> list[str]:
    """The names that are to be drawn: those asked for, by their own names or the papers' numbers, or all."""
    asked = {name for word in only for name in _meant(word)}
    return [name for name in FIGURES if name in asked or not only]


def _meant(word: str) -> list[str]:
    if word in FIGURES:
        return [word]
    found = [name for name, kind in FIGURES.items() if word in kind.names_in_papers]
    if not found:
        in_papers = [name for kind in FIGURES.values() for name in sorted(kind.names_in_papers)]
        known = in_papers if word.startswith(("iclr-", "report-")) else FIGURES
        raise ValueError(f"--only {word}: there is no such figure: {suggestion(word, known)}")
    return found


def list_of_figures() -> str:
    """The end of the help."""
    return "\n".join(
        f"  {name}{f' ({kind.in_papers})' if kind.in_papers else ''}\n      {kind.shows}"
        for name, kind in FIGURES.items()
    )
