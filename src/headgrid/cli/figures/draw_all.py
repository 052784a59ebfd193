"""Draws figures of several models, writes them and says what became of each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from headgrid.cli.figures.draw_curves import check_curve, draw_accuracy_curves
from headgrid.cli.figures.drawing import Drawing, MovingDrawing
from headgrid.cli.figures.drawings import DRAWINGS
from headgrid.cli.figures.kinds import FIGURES
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.data.progress import progress
from headgrid.figures.animation import has_ffmpeg, save_animation
from headgrid.figures.saving import Format, save_figure

CURVES = "accuracy-curves"


def draw_all(
    subjects: Sequence[Subject], names: Sequence[str], out: Path | None, formats: Sequence[Format]
) -> dict[str, str]:
    """Returns the figures that were drawn of no model, each with the reason."""
    of_one = [name for name in names if name != CURVES]
    folders = [subject.folder if out is None else out for subject in subjects]
    if len(subjects) > 1 and out is not None:
        folders = [out / subject.name for subject in subjects]
    undrawn: dict[str, str] = {}
    drawn: set[str] = set()
    if of_one:
        _check_folders(subjects, folders)
        for subject, folder in zip(subjects, folders, strict=True):
            print(f"{subject.title} -> {folder}", flush=True)
            left_out = _draw_one(subject, of_one, folder, formats)
            drawn |= set(of_one) - set(left_out)
            undrawn |= left_out
            _explain(left_out)
    if CURVES in names:
        folder = folders[0] if len(subjects) == 1 else Path("figures") if out is None else out
        left_out = _draw_curves(subjects, folder, formats)
        drawn |= {CURVES} - set(left_out)
        undrawn |= left_out
    return {name: reason for name, reason in undrawn.items() if name not in drawn}


def _draw_one(subject: Subject, names: Sequence[str], folder: Path, formats: Sequence[Format]) -> dict[str, str]:
    left_out = {}
    for name in names:
        try:
            for drawing in DRAWINGS[name](subject):
                _write(drawing, name, folder, formats)
        except LeftOut as reason:
            left_out[name] = str(reason)
    return left_out


def _draw_curves(subjects: Sequence[Subject], folder: Path, formats: Sequence[Format]) -> dict[str, str]:
    runs, left_out = [], {}
    for subject in subjects:
        try:
            check_curve(subject)
            runs.append(subject)
        except LeftOut as reason:
            left_out[subject.word] = str(reason)
    if not runs:
        undrawn = {CURVES: "; ".join(dict.fromkeys(left_out.values()))}
        _explain(undrawn)
        return undrawn
    print(f"{', '.join(run.name for run in runs)} -> {folder}", flush=True)
    _write(draw_accuracy_curves(runs), CURVES, folder, formats)
    for word, reason in left_out.items():
        print(f"  without {word}: {reason}")
    return {}


def _write(drawing: Drawing | MovingDrawing, name: str, folder: Path, formats: Sequence[Format]) -> None:
    if isinstance(drawing, Drawing):
        kinds = [path.suffix for path in save_figure(drawing.figure, folder, drawing.name, formats)]
    else:
        kinds = [".gif", ".mp4"] if has_ffmpeg() else [".gif"]
        for kind in kinds:
            path = folder / f"{drawing.name}{kind}"
            save_animation(_with_progress(drawing, path), path, _frames_per_second(drawing.num_frames))
    papers = FIGURES[name].in_papers
    print(f"  {drawing.name}{' '.join(kinds)}{f'  ({papers})' if papers else ''}", flush=True)


def _frames_per_second(num_frames: int) -> float:
    """About eight seconds, neither a rush nor a slide show."""
    return min(12.0, max(1.5, num_frames / 8))


def _with_progress(drawing: MovingDrawing, path: Path) -> Iterator[Figure]:
    with progress(f"drawing {path.name}", drawing.num_frames) as advance:
        for frame in drawing.frames():
            yield frame
            advance(1)


def _explain(left_out: dict[str, str]) -> None:
    """Figures with the same reason on one line."""
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, given in left_out.items() if given == reason]
        print(f"  not drawn: {', '.join(names)}: {reason}")


def _check_folders(subjects: Sequence[Subject], folders: Sequence[Path]) -> None:
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            first, second = subjects[folders.index(folder)].word, subjects[number].word
            raise ValueError(
                f"the figures of {first} and {second} would go into one folder, {folder}: draw them one after the "
                f"other, each with a folder --out of its own"
            )
