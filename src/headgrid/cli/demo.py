"""`headgrid demo`"""

import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headgrid.cli.report import write_report
from headgrid.experiments import run
from headgrid.experiments.demo import demo
from headgrid.training import choose_progress, set_num_threads


@dataclass(frozen=True)
class Arguments:
    """Train a small quadratic model on built-in images, then show where its heads have come to look."""

    run: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs/demo")
    """Run folder; a demo that was stopped goes on, and a finished one only writes its page again."""
    open: bool = True
    """Open the page in a browser where there is a screen."""
    device: str = "auto"
    """cpu, cuda, cuda:1, mps; auto takes what there is, GPUs first."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Threads that torch computes with on the CPU."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid demo")
    set_num_threads(options.threads)
    experiment = demo()
    print(
        "Training a small attention-only network on textures and shapes. Each of its heads looks at one place\n"
        "around a pixel, and learns where.",
        flush=True,
    )
    result = run(
        experiment,
        options.run,
        resume=True,
        device=options.device,
        progress=choose_progress(),
        resume_hint="To go on: headgrid demo",
    )
    assert result.test is not None
    print(f"accuracy on {result.test.num_images} test images: {result.test.accuracy:.1%} (guessing: 10.0%)")
    page = write_report(options.run).resolve()
    print(f"report: {page}", flush=True)
    if options.open and _has_screen():
        webbrowser.open(page.as_uri())
    return 0


def _has_screen() -> bool:
    if not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
