"""One official self-attention operator (`SAM`) by itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, overload

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import FootprintAttentionOutput, PairwiseAttention, PatchwiseAttention
from headgrid.interop.foreign_weights import carry_over, named_tensors, without_storage
from headgrid.interop.official_san.weights import agree, arranged, attention_name, attention_shape
from headgrid.ops import Footprint

Maps = Float[Tensor, "b c y x"]
Outputs = Float[Tensor, "b c_out h w"]


class ChannelsFirst(nn.Module):
    """An attention layer for networks of convolutions, whose maps have their channels first, in and out."""

    def __init__(self, attention: PairwiseAttention | PatchwiseAttention) -> None:
        super().__init__()
        self.attention = attention

    @overload
    def forward(self, maps: Maps, record: Literal[False] = False) -> Outputs: ...
    @overload
    def forward(self, maps: Maps, record: Literal[True]) -> tuple[Outputs, FootprintAttentionOutput]: ...
    def forward(self, maps: Maps, record: bool = False) -> Outputs | tuple[Outputs, FootprintAttentionOutput]:
        """The layer's output; with ``record`` also what the layer itself hands back, weights included."""
        attended = self.attention(maps.movedim(1, -1).contiguous(), record=record)
        outputs = attended.values.movedim(-1, 1)
        return (outputs, attended) if record else outputs


def translate_operator(state: Mapping[str, Tensor], config: Mapping[str, Any]) -> ChannelsFirst:
    """Our layer with the weights of an official operator, in eval mode: maps in, maps out, channels first.

    ``config`` lists `kind` (pairwise or patchwise), `kernel_size`, and `stride` and `dilation` where they are not
    1. Widths are read off the weights; those that it lists (`in_planes`, `rel_planes`, `out_planes`,
    `share_planes`) have to agree.
    """
    entries = named_tensors(state)
    shape = attention_shape(entries, "", config)
    agree(config, "in_planes", shape.dim)
    agree(config, "rel_planes", shape.relation_dim)
    agree(config, "out_planes", shape.value_dim)
    agree(config, "share_planes", shape.sharing)
    if shape.footprint is not None:
        agree(config, "kernel_size", shape.footprint)
    elif "kernel_size" not in config:
        raise ValueError(
            "the weights of a pairwise operator do not tell its footprint: the config needs kernel_size"
        )
    size = config["kernel_size"] if shape.footprint is None else shape.footprint
    footprint = Footprint(size, config.get("stride", 1), config.get("dilation", 1))
    attention = replace(shape.config, footprint=footprint)
    ours = without_storage(lambda: ChannelsFirst(attention.build(shape.dim, shape.relation_dim, shape.value_dim)))
    names = {name: attention_name(name.removeprefix("attention."), "") for name in ours.state_dict()}
    return carry_over(ours, arranged(entries, "", shape), names)
