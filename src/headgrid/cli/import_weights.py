"""`headgrid import`"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from headgrid.cli.out_file import check_out
from headgrid.experiments import Model, save_model
from headgrid.interop import attention_cnn, official_san


@dataclass(frozen=True)
class Arguments:
    """Turn the weights of another project into a file that `headgrid evaluate` and `headgrid.load` read."""

    project: tyro.conf.Positional[Literal["attention-cnn", "san"]]
    """The project: attention-cnn is the code of Cordonnier et al., san the official SAN of Zhao et al."""
    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CHECKPOINT")]
    """Its file: of attention-cnn a .checkpoint, with the config.yaml of its run in the folder; of san a .pth."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write."""
    kernels: Annotated[str | None, tyro.conf.arg(metavar="3,7,7,7,7")] = None
    """Footprints of the stages of a pairwise SAN, which its weights do not tell; without, those of the paper."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid import")
    check_out(options.out, options.force)
    kernels = None if options.kernels is None else _numbers(options.kernels)
    if options.project == "san":
        model, facts = _import_san(options.checkpoint, kernels)
    elif kernels is None:
        model, facts = _import_attention_cnn(options.checkpoint)
    else:
        raise ValueError("--kernels are footprints of a SAN: networks of attention-cnn have none")
    save_model(model, options.out)
    facts = [f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters", *facts]
    print(f"wrote {options.out}: {type(model).__name__}, {', '.join(facts)}", file=sys.stderr)
    return 0


def _import_attention_cnn(checkpoint: Path) -> tuple[Model, list[str]]:
    model, info = attention_cnn.import_checkpoint(checkpoint)
    facts = [] if info.dataset is None else [f"trained on {info.dataset}"]
    if info.test_accuracy is not None:
        facts.append(f"test accuracy {info.test_accuracy} by its own account")
    return model, facts


def _import_san(checkpoint: Path, kernels: tuple[int, ...] | None) -> tuple[Model, list[str]]:
    model, info = official_san.import_checkpoint(checkpoint, kernels)
    facts = [f"footprints {','.join(map(str, model.config.footprints))}"]
    if info.top1 is not None:
        facts.append(f"validation accuracy {info.top1} by its own account")
    return model, facts


def _numbers(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise ValueError(
            f"--kernels should be whole numbers with commas between them, such as 3,7,7,7,7: got {text!r}"
        )
    return tuple(map(int, words))
