"""Files with weights of timm, read without running anything that they contain."""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from headgrid.interop.checkpoint_file import read_checkpoint_file
from headgrid.interop.timm_vit.translation import translate
from headgrid.models import ViT

PROJECT = "timm"

WRAPPERS = ("state_dict", "model")
"""Under which names training programs keep the weights: those of timm, and of DeiT."""


def import_checkpoint(path: Path, num_heads: int | None = None, image_size: tuple[int, int] | None = None) -> ViT:
    """Our model with the weights of a .safetensors file or a pickled one; see `translate`."""
    return translate(_read_state(Path(path)), num_heads, image_size)


def _read_state(path: Path) -> dict[str, Any]:
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"{path} is no intact safetensors file: {error}") from error
    content = read_checkpoint_file(path, PROJECT)
    for wrapper in WRAPPERS:
        if isinstance(content, dict) and isinstance(content.get(wrapper), dict):
            return content[wrapper]
    if not isinstance(content, dict):
        raise ValueError(f"{path} is no checkpoint of {PROJECT}: expected a dictionary of names and tensors")
    return content
