"""The weights that `F.scaled_dot_product_attention` never writes down, recomputed from what it is called with."""

import torch
from jaxtyping import Float
from torch import Tensor


def scaled_dot_product_weights(
    query: Float[Tensor, "*batch t d"],
    key: Float[Tensor, "*keys s d"],
    value: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Float[Tensor, "*batch t s"]:
    """``softmax(scale Q K^T + mask)``, with the fused call's arguments, before dropout, at least in float32."""
    exact = torch.promote_types(query.dtype, torch.float32)
    query, key = query.to(exact), key.to(exact)
    if enable_gqa:  # groups of query heads share a key head
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask.to(exact)
    # A query that may look at nothing looks at nothing: the fused call gives zeros, a softmax would give NaN.
    nowhere = scores.isneginf().all(dim=-1, keepdim=True)
    return torch.softmax(scores, dim=-1).masked_fill(nowhere, 0.0)
