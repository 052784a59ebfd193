"""Which attention layers of a model can lose heads, and which of them only together.

Layers of a plain stack lose heads of their own. The passes of a hierarchical stack share weights or a kept key, so
all of them lose the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from headgrid.attention import (
    GatedPositionalAttention,
    HeadlessAttention,
    HeadlessTokenAttention,
    MultiheadAttention,
    TokenAttention,
)
from headgrid.models import (
    SAN,
    FullyAttentional,
    FullyAttentionalConfig,
    HierarchicalSAN,
    ViT,
    ViTConfig,
)
from headgrid.stacks import Plain

PrunableModel = FullyAttentional | ViT
AttentionWithHeads = MultiheadAttention | GatedPositionalAttention | TokenAttention


@dataclass(frozen=True)
class PrunableLayer:
    """Attention whose heads are removed one by one: a layer, or all passes of a hierarchical stack at once."""

    name: str
    """Of the layer's module; with a star in the place of its number for all passes."""
    modules: tuple[AttentionWithHeads, ...]
    """The modules, each once; none where no head is left."""
    passes: tuple[int, ...]
    """The numbers of the layers in the model, in which a module may come several times."""
    num_heads: int

    @property
    def names_of_passes(self) -> tuple[str, ...]:
        """The names under which the model's record has them."""
        return tuple(f"stack.blocks.{number}.attention" for number in self.passes)


def prunable_layers(model: nn.Module) -> tuple[PrunableLayer, ...]:
    """The layers that can lose heads, in their order; says what stands in the way where there are none."""
    model = checked(model)
    config = model.config
    attentions = [block.get_submodule("attention") for block in model.stack.applied()]
    if isinstance(config.stack, Plain):
        return tuple(
            _layer(f"stack.blocks.{number}.attention", [attention], (number,))
            for number, attention in enumerate(attentions)
        )
    return (_layer("stack.blocks.*.attention", attentions, tuple(range(len(attentions)))),)


def checked(model: nn.Module) -> PrunableModel:
    """The model, if its heads can be removed."""
    if isinstance(model, SAN | HierarchicalSAN):
        raise ValueError(
            "a SAN has no heads to remove: its weights are vectors, one number for each group of channels, and the "
            "channels of a group have no output matrix of their own that could be left out; a SAN becomes smaller "
            "by smaller channels, which have to be trained anew"
        )
    if not isinstance(model, PrunableModel):
        raise ValueError(f"a {type(model).__name__} has no attention heads that could be removed")
    if not isinstance(model.config, FullyAttentionalConfig | ViTConfig):
        raise ValueError(
            "heads cannot be removed from a model that `headgrid compile` has made, some of its layers are "
            "convolutions: prune the model that it was made of"
        )
    return model


def _layer(name: str, attentions: Sequence[nn.Module], passes: tuple[int, ...]) -> PrunableLayer:
    modules = tuple(dict.fromkeys(attentions))
    if isinstance(modules[0], HeadlessAttention | HeadlessTokenAttention):
        return PrunableLayer(name, (), passes, 0)
    with_heads = tuple(module for module in modules if isinstance(module, AttentionWithHeads))
    assert len(with_heads) == len(modules)
    return PrunableLayer(name, with_heads, passes, with_heads[0].num_heads)
