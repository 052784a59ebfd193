"""Vision transformers of timm, DeiTs among them: their weights as our models."""

from headgrid.interop.timm_vit.checkpoint import import_checkpoint
from headgrid.interop.timm_vit.translation import translate

__all__ = ["import_checkpoint", "translate"]
