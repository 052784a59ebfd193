"""`headgrid import`"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from headgrid.cli.out_file import check_out
from headgrid.experiments import Model, save_model
from headgrid.interop import attention_cnn, official_san, timm_vit

OPTIONS_OF = {"kernels": "san", "num_heads": "timm-vit", "image_size": "timm-vit"}
"""Options that only weights of one project need."""


@dataclass(frozen=True)
class Arguments:
    """Turn the weights of another project into a file that `headgrid evaluate` and `headgrid.load` read."""

    project: tyro.conf.Positional[Literal["attention-cnn", "san", "timm-vit"]]
    """attention-cnn: the code of Cordonnier et al.; san: the official SAN; timm-vit: plain ViTs and DeiTs."""
    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CHECKPOINT")]
    """Its file: a .checkpoint with the config.yaml of its run beside it; a .pth; a .safetensors, .bin or .pth."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The .safetensors file to write."""
    kernels: Annotated[str | None, tyro.conf.arg(metavar="3,7,7,7,7")] = None
    """Footprints of the stages of a pairwise SAN, which its weights do not tell; without, those of the paper."""
    num_heads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Heads of a vision transformer, which its weights do not tell; without, one for each 64 channels."""
    image_size: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="ROWS COLUMNS")] = None
    """Images for which the positions of a vision transformer are resized; without, those of its weights."""
    force: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace OUT if it exists."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid import")
    check_out(options.out, options.force)
    for option, project in OPTIONS_OF.items():
        if getattr(options, option) is not None and options.project != project:
            raise ValueError(
                f"--{option.replace('_', '-')} is for weights of {project}, and these are of {options.project}: "
                f"leave it out"
            )
    if options.project == "san":
        kernels = None if options.kernels is None else _numbers(options.kernels)
        model, facts = _import_san(options.checkpoint, kernels)
    elif options.project == "timm-vit":
        model, facts = _import_timm_vit(options.checkpoint, options.num_heads, options.image_size)
    else:
        model, facts = _import_attention_cnn(options.checkpoint)
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


def _import_timm_vit(
    checkpoint: Path, num_heads: int | None, image_size: tuple[int, int] | None
) -> tuple[Model, list[str]]:
    model = timm_vit.import_checkpoint(checkpoint, num_heads, image_size)
    rows, columns = model.config.image_size
    patch = model.config.stem.patch_size
    return model, [
        f"images of {rows} x {columns} in patches of {patch} x {patch}",
        f"{model.config.attention.num_heads} heads",
        f"{model.config.num_classes} classes",
    ]


def _numbers(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise ValueError(
            f"--kernels should be whole numbers with commas between them, such as 3,7,7,7,7: got {text!r}"
        )
    return tuple(map(int, words))
