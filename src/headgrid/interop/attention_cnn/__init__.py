"""attention-cnn, the code of Cordonnier et al. (2020): its weights as our models."""

from headgrid.interop.attention_cnn.checkpoint import (
    Checkpoint,
    CheckpointInfo,
    import_checkpoint,
    load_checkpoint,
)
from headgrid.interop.attention_cnn.translation import translate, translate_resnet18

__all__ = [
    "Checkpoint",
    "CheckpointInfo",
    "import_checkpoint",
    "load_checkpoint",
    "translate",
    "translate_resnet18",
]
