"""Vision transformers of timm as ours: the same images in, the same logits out.

timm keeps query, key and value of a block in one matrix, patches in a convolution, and the positions of class token
and patches in one table.
"""

from collections.abc import Mapping

import torch
from einops import rearrange
from torch import Tensor

from headgrid.interop.foreign_weights import carry_over, named_tensors, without_storage
from headgrid.interop.timm_vit.structure import read_config, refuse_unknown_parts
from headgrid.models import ViT, ViTConfig, resize_tables

MODULES = {
    "attention_norm": "norm1",
    "attention.mixing": "attn.proj",
    "feed_forward_norm": "norm2",
    "feed_forward.widen": "mlp.fc1",
    "feed_forward.narrow": "mlp.fc2",
}
"""Our module -> timm's, in each block."""

NAMES = {
    "stem.class_token.vector": "cls_token",
    "positions.table": "pos_embed",
    "positions.class_tokens": "pos_embed, class token",
    "classifier.linear.weight": "head.weight",
    "classifier.linear.bias": "head.bias",
}
"""Our parameter -> timm's, of which some are parts of an entry."""

PROJECTIONS = ("query", "key", "value")
"""In the order of timm's rows."""


def translate(
    state: Mapping[str, Tensor], num_heads: int | None = None, image_size: tuple[int, int] | None = None
) -> ViT:
    """Our model that computes what timm's computes: images in, logits out, in eval mode.

    ``state`` is the state dict of a plain vision transformer or a DeiT, as `timm.create_model` names it: with a
    class token or without, with a norm before or after pooling. ``num_heads`` is by default the width by 64; the
    weights do not tell. For another ``image_size`` (rows, columns) the positions are resized as timm does. What no
    model of ours has (distillation token, registers, layer scale, gated feed-forward parts ...) is an error that
    names the entry.
    """
    entries = named_tensors(state)
    refuse_unknown_parts(entries)
    config = read_config(entries, num_heads, image_size)
    model = without_storage(config.build)
    names = {name: _timm_name(name) for name in model.state_dict()}
    model = carry_over(model, arranged(entries, config), names)
    return model if image_size is None else resize_tables(model, image_size)


def arranged(entries: Mapping[str, Tensor], config: ViTConfig) -> dict[str, Tensor]:
    """The entries in our shapes, those of timm that hold several of ours taken apart."""
    parts: dict[str, Tensor] = {}
    for name, value in entries.items():
        if ".attn.qkv." in name and len(value) % len(PROJECTIONS) == 0:
            for projection, rows in zip(PROJECTIONS, value.chunk(len(PROJECTIONS)), strict=True):
                parts[f"{name}, {projection}"] = rows
        elif name == "patch_embed.proj.weight":
            parts[name] = rearrange(value, "dim colours rows columns -> dim (rows columns colours)")
        elif name == "cls_token":
            parts[name] = value.flatten()
        elif name == "pos_embed":
            parts |= _positions(value, config)
        else:
            parts[name] = value
    return parts


def _positions(table: Tensor, config: ViTConfig) -> dict[str, Tensor]:
    """A class token without a position of its own has a position of zeros."""
    num_patches = config.layout.num_tokens - config.layout.num_class_tokens
    of_class_tokens, of_patches = table[0, :-num_patches], table[0, -num_patches:]
    parts = {"pos_embed": of_patches.unflatten(0, config.layout.grid)}
    if config.layout.num_class_tokens:
        given = of_class_tokens if len(of_class_tokens) else torch.zeros_like(of_patches[:1])
        parts["pos_embed, class token"] = given
    return parts


def _timm_name(ours: str) -> str:
    match ours.split("."):
        case _ if ours in NAMES:
            return NAMES[ours]
        case ["stem", "embedding", "linear", entry]:
            return f"patch_embed.proj.{entry}"
        case ["classifier", "token_norm", entry]:
            return f"norm.{entry}"
        case ["classifier", "pooled_norm", entry]:
            return f"fc_norm.{entry}"
        case ["stack", "blocks", number, "attention", projection, entry] if projection in PROJECTIONS:
            return f"blocks.{number}.attn.qkv.{entry}, {projection}"
        case ["stack", "blocks", number, *module, entry]:
            return f"blocks.{number}.{MODULES['.'.join(module)]}.{entry}"
    raise AssertionError(f"no name for {ours}")
