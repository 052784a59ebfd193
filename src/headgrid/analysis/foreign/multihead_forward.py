"""The weights of `nn.MultiheadAttention`, whose work `F.multi_head_attention_forward` does."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor


def multihead_weights(
    forward: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Float[Tensor, "b n t s"]:
    """Calls the function once more, for the weights of every head, as nobody asks it for them in most models.

    In there images are the second axis of its inputs, whatever ``batch_first`` says, and the first of its weights.
    """
    call = inspect.signature(forward).bind(*args, **kwargs)
    call.arguments |= {"need_weights": True, "average_attn_weights": False, "training": False}
    _, weights = forward(*call.args, **call.kwargs)
    return weights if weights.dim() == 4 else weights[None]
