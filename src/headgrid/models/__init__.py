"""Image classifiers: a frozen config, and the module that it builds. Images in, logits out."""

from headgrid.models.fully_attentional import (
    FullyAttentional,
    FullyAttentionalConfig,
    enlarge_tables,
)

__all__ = ["FullyAttentional", "FullyAttentionalConfig", "enlarge_tables"]
