"""`hf:FOLDER`: an image classifier that transformers saved, from the local disk and from safetensors alone."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headgrid.data import Normalization
from headgrid.interop.foreign_model.foreign_model import ForeignModel, UnwrappedLogits
from headgrid.interop.foreign_model.model_name import ModelName
from headgrid.interop.foreign_model.torchvision_import import import_torchvision
from headgrid.interop.foreign_model.weights import RandomWeights, WeightsFile, drawn_with

PREPROCESSOR = "preprocessor_config.json"


def open_transformers(wanted: ModelName, word: str) -> ForeignModel:
    folder = Path(wanted.name).expanduser()
    if isinstance(wanted.weights, WeightsFile):
        raise ValueError(f"{word}: the folder has its weights beside its config; leave weights out")
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} is no folder that transformers saved a model into: it has no config.json")
    if find_spec("transformers") is None:
        raise ValueError("models of transformers need its package: pip install 'headgrid[hf]'")
    if find_spec("torchvision") is not None:
        import_torchvision()  # which transformers imports where it finds it
    original = _make(folder, wanted, word).eval()
    normalization = _normalization(folder)
    return ForeignModel(
        name=word,
        module=UnwrappedLogits(original),
        original=original,
        image_size=_image_size(original.config),
        normalization=normalization,
    )


def _make(folder: Path, wanted: ModelName, word: str) -> Any:
    from transformers import (  # pyright: ignore[reportMissingImports]
        AutoConfig,
        AutoModelForImageClassification,
    )

    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **local, **wanted.options)
        if isinstance(wanted.weights, RandomWeights):
            with drawn_with(wanted.weights.seed):
                return AutoModelForImageClassification.from_config(config, trust_remote_code=False)
        if not list(folder.glob("*.safetensors")):
            raise ValueError("the folder has no .safetensors file")
        original, info = AutoModelForImageClassification.from_pretrained(
            folder, config=config, use_safetensors=True, output_loading_info=True, **local
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{word} cannot be opened: {error}") from error
    if info["missing_keys"]:
        missing = sorted(info["missing_keys"])[0]
        raise ValueError(f"{word} lacks the weights {missing}, which a classifier needs: was it saved as one?")
    return original


def _image_size(config: Any) -> tuple[int, int] | None:
    size = getattr(config, "image_size", None)
    if isinstance(size, int):
        return size, size
    return (size[0], size[1]) if isinstance(size, list | tuple) and len(size) == 2 else None


def _normalization(folder: Path) -> Normalization | None:
    """What the folder says of the images; without a word of it, nothing is assumed."""
    if not (folder / PREPROCESSOR).is_file():
        return None
    try:
        described = json.loads((folder / PREPROCESSOR).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{folder / PREPROCESSOR} is damaged (no JSON: {error})") from error
    if not described.get("do_normalize", True):
        return Normalization((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    if "image_mean" not in described or "image_std" not in described:
        return None
    return Normalization(tuple(described["image_mean"]), tuple(described["image_std"]))
