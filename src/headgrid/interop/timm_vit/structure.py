"""What the weights of a vision transformer of timm tell about it, and what no model of ours has."""

import re
from collections.abc import Mapping
from math import isqrt

from torch import Tensor

from headgrid.attention import TokenAttentionConfig
from headgrid.interop.foreign_weights import shape_of
from headgrid.layers import (
    ClassTokenPooling,
    FinalNorm,
    LearnedClassTokenConfig,
    MeanOfPatches,
    NoClassTokenConfig,
    NormAfterPooling,
    NormBeforePooling,
    TokenPooling,
)
from headgrid.models import PatchStemConfig, ViTConfig
from headgrid.stacks import PreNormBlockConfig

EPSILON = 1e-6
"""Of timm's layer norms; the weights do not tell."""

CHANNELS_PER_HEAD = 64

UNKNOWN_PARTS = {
    r"dist_token|head_dist\.": "a distilled DeiT, which has a second class token and classifier",
    r"reg_token": "register tokens",
    r"norm_pre\.": "a norm in front of the first block",
    r".*\.ls[12]\.gamma|.*\.gamma_[12]": "layer scale, which weighs the channels of every branch",
    r".*\.attn\.[qk]_norm\.": "normalised queries and keys",
    r".*\.(attn|mlp)\.norm\.": "a norm within the attention or the feed-forward part",
    r".*\.mlp\.(w1|w2|w3|w12|fc1_g|fc1_x)\.": "gated feed-forward parts, such as SwiGLU",
    r".*\.attn\.[qv]_bias|.*rel_pos.*|.*relative_position.*": "relative positions, as in BEiT",
    r"attn_pool\.": "pooling by attention",
    r"patch_embed\.backbone\.|patch_embed\.conv": "a stem of several convolutions",
    r"pre_logits\.": "one more layer in front of the classifier",
}
"""Entries of other vision transformers, and what they belong to."""


def refuse_unknown_parts(entries: Mapping[str, Tensor]) -> None:
    """Says what the model has beyond a plain ViT, if it has."""
    for name in entries:
        for pattern, part in UNKNOWN_PARTS.items():
            if re.match(pattern, name):
                raise ValueError(
                    f"entry {name} of the weights belongs to {part}: "
                    f"only plain vision transformers and DeiTs can be translated"
                )
    norms = [name for name in ("norm.weight", "fc_norm.weight") if name in entries]
    if len(norms) != 1:
        raise ValueError(
            f"the weights have {' and '.join(norms) or 'neither norm.weight nor fc_norm.weight'}: a plain vision "
            f"transformer has one norm after its blocks, before or after pooling"
        )


def read_config(
    entries: Mapping[str, Tensor], num_heads: int | None, image_size: tuple[int, int] | None
) -> ViTConfig:
    """Our config for these weights, before the table of positions changes its size."""
    dim, num_channels, *patch = shape_of(
        entries, "patch_embed.proj.weight", "channels", "colours", "rows", "columns"
    )
    if patch[0] != patch[1]:
        raise ValueError(
            f"entry patch_embed.proj.weight of the weights has patches of {patch[0]} x {patch[1]}: "
            f"they must be square"
        )
    hidden_dim, _ = shape_of(entries, "blocks.0.mlp.fc1.weight", "hidden", "channels")
    _, narrowed_from = shape_of(entries, "blocks.0.mlp.fc2.weight", "channels", "hidden")
    if hidden_dim != narrowed_from:
        raise ValueError(
            f"entry blocks.0.mlp.fc1.weight of the weights gives {hidden_dim} channels where fc2 takes "
            f"{narrowed_from}: gated feed-forward parts cannot be translated"
        )
    num_classes, _ = shape_of(entries, "head.weight", "classes", "channels")
    pooling, final_norm = _end(entries)
    rows, columns = grid_of_positions(entries, patch[0], image_size)
    return ViTConfig(
        dim=dim,
        num_layers=_num_layers(entries),
        stem=PatchStemConfig(patch[0]),
        class_token=LearnedClassTokenConfig() if "cls_token" in entries else NoClassTokenConfig(),
        attention=TokenAttentionConfig(
            num_heads=_num_heads(dim) if num_heads is None else num_heads,
            bias="blocks.0.attn.qkv.bias" in entries,
        ),
        block=PreNormBlockConfig(hidden_dim=hidden_dim, norm_epsilon=EPSILON),
        pooling=pooling,
        final_norm=final_norm,
        image_size=(rows * patch[0], columns * patch[0]),
        num_channels=num_channels,
        num_classes=num_classes,
    )


def grid_of_positions(
    entries: Mapping[str, Tensor], patch_size: int, image_size: tuple[int, int] | None
) -> tuple[int, int]:
    """Rows and columns of patches that the table is for.

    They are those of the images, if there are as many patches, or else a square. With a class token, the table has
    a position for it as well, unless this leaves no square and the whole table is one.
    """
    _, length, _ = shape_of(entries, "pos_embed", "1", "tokens", "channels")
    wanted = None if image_size is None else (image_size[0] // patch_size, image_size[1] // patch_size)
    whole, without_class_token = _grid(length, wanted), None
    if "cls_token" in entries:
        without_class_token = _grid(length - 1, wanted)
        if without_class_token and whole and not _grid(length - 1, None):
            raise ValueError(
                f"entry pos_embed of the weights has {length} positions: these could be of a class token and of "
                f"{' x '.join(map(str, without_class_token))} patches, or of {' x '.join(map(str, whole))} "
                f"patches; leave image_size out if they are the latter"
            )
    grid = without_class_token or whole
    if grid is None:
        raise ValueError(
            f"entry pos_embed of the weights has {length} positions, which are no square of patches: "
            f"give the image_size that the model was trained with"
        )
    return grid


def _grid(count: int, wanted: tuple[int, int] | None) -> tuple[int, int] | None:
    """So many patches in rows and columns, if they can be arranged as wanted or in a square."""
    if wanted is not None and wanted[0] * wanted[1] == count:
        return wanted
    return (isqrt(count), isqrt(count)) if count and isqrt(count) ** 2 == count else None


def _end(entries: Mapping[str, Tensor]) -> tuple[TokenPooling, FinalNorm]:
    """Of a mean, timm puts the norm behind; without a class token there is only the mean."""
    if "fc_norm.weight" in entries:
        return MeanOfPatches(), NormAfterPooling(EPSILON)
    return ClassTokenPooling() if "cls_token" in entries else MeanOfPatches(), NormBeforePooling(EPSILON)


def _num_layers(entries: Mapping[str, Tensor]) -> int:
    found = [re.match(r"blocks\.(\d+)\.", name) for name in entries]
    numbers = {int(number[1]) for number in found if number}
    if numbers != set(range(len(numbers))):
        raise ValueError(
            "the weights do not hold the blocks blocks.0, blocks.1 and so on without a gap: "
            "give the complete state dict of timm's model"
        )
    return len(numbers)


def _num_heads(dim: int) -> int:
    if dim % CHANNELS_PER_HEAD:
        raise ValueError(
            f"a width of {dim} is no multiple of {CHANNELS_PER_HEAD}, the usual width of a head, and weights do "
            f"not tell the number of heads: give num_heads"
        )
    return dim // CHANNELS_PER_HEAD
