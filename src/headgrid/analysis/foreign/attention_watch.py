"""Sees every call of a torch function that a model makes, and picks out those that are attention."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from headgrid.analysis.foreign.multihead_forward import multihead_weights
from headgrid.analysis.foreign.scaled_dot_product import scaled_dot_product_weights
from headgrid.analysis.foreign.softmax_and_product import SoftmaxAndProduct

CONVOLUTION = "conv2d"
POOLINGS = {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "_max_pool2d"}
KERNEL_NAMES = ("attention", "attn")
"""What the kernels that hide their weights have in their names."""


class AttentionWatch(TorchFunctionMode):
    """Hands on the weights of each attention computed while it is on; what the model computes stays as it is.

    `nn.MultiheadAttention` and `nn.TransformerEncoderLayer` have a fast path in which all is one kernel. They do
    not take it while torch's functions are watched.
    """

    def __init__(
        self,
        on_attention: Callable[[Tensor], None],
        on_map: Callable[[Tensor, Tensor, tuple[int, int] | None], None],
        on_hidden: Callable[[str], None],
    ) -> None:
        super().__init__()
        self.on_attention, self.on_map, self.on_hidden = on_attention, on_map, on_hidden
        self._written_out = SoftmaxAndProduct()
        self.paused = 0
        """Above zero, calls pass unseen: a layer that is known otherwise is running."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)  # in here the mode is off, and what is called in turn is not seen
        if not self.paused:
            self._see(func, args, kwargs, output)
        return output

    def _see(self, func: Callable[..., Any], args: Any, kwargs: Any, output: Any) -> None:
        name = getattr(func, "__name__", "")
        if func is F.multi_head_attention_forward:
            self.on_attention(multihead_weights(func, args, kwargs))
        elif func is F.scaled_dot_product_attention:
            self.on_attention(scaled_dot_product_weights(*args, **kwargs))
        elif name == CONVOLUTION:
            self.on_map(args[0] if args else kwargs["input"], output, _stride(args, kwargs))
        elif name in POOLINGS and isinstance(output, Tensor):
            self.on_map(args[0] if args else kwargs["input"], output, None)
        elif any(part in name for part in KERNEL_NAMES):
            self.on_hidden(name)
        else:
            weights = self._written_out.see(name, args, kwargs, output)
            if weights is not None:
                self.on_attention(weights)


def _stride(args: Any, kwargs: Any) -> tuple[int, int]:
    """Of the arguments (input, weight, bias, stride, ...) of a convolution."""
    stride = args[3] if len(args) > 3 else kwargs.get("stride", 1)
    if isinstance(stride, int):
        return stride, stride
    return (stride[0], stride[-1])
