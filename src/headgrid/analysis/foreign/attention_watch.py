"""Sees every call of a torch function that a model makes, and picks out those that are attention."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from headgrid.analysis.foreign.multihead_forward import multihead_weights
from headgrid.analysis.foreign.running_module import RunningModule
from headgrid.analysis.foreign.scaled_dot_product import scaled_dot_product_weights
from headgrid.analysis.foreign.softmax_and_product import SoftmaxAndProduct
from headgrid.analysis.foreign.token_grid import TokenGrid

CONVOLUTION = "conv2d"
POOLINGS = {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "_max_pool2d"}
JOINS = {"cat", "concat", "concatenate"}
KERNEL_NAMES = ("attention", "attn")
"""What the kernels that hide their weights have in their names."""


class AttentionWatch(TorchFunctionMode):
    """Hands on the weights of each attention computed while it is on; what the model computes stays as it is."""

    def __init__(
        self,
        running: RunningModule,
        tokens: TokenGrid,
        on_attention: Callable[[str, Tensor], None],
        on_hidden: Callable[[str, str], None],
    ) -> None:
        """The callbacks get the name of the layer, and its weights or a reason why they cannot be seen."""
        super().__init__()
        self.running, self.tokens = running, tokens
        self.on_attention, self.on_hidden = on_attention, on_hidden
        self._written_out = SoftmaxAndProduct()
        self.paused = 0
        """Above zero, calls pass unseen: a layer that is known otherwise is running."""
        self.left_fast_path = False
        """Whether `nn.MultiheadAttention` was called: it has a fast path in which all is one kernel, and does not
        take it while torch's functions are watched, so that what it computes differs in the last digits."""

    def finish(self) -> None:
        """Names the softmaxes that look like attention and gave no map."""
        for layer, reason in self._written_out.no_maps():
            self.on_hidden(layer, reason)

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)  # in here the mode is off, and what is called in turn is not seen
        if not self.paused:
            self._see(func, args, kwargs, output)
        return output

    def _see(self, func: Callable[..., Any], args: Any, kwargs: Any, output: Any) -> None:
        name, layer = getattr(func, "__name__", ""), self.running.name
        if func is F.multi_head_attention_forward:
            self.left_fast_path = True
            self.on_attention(layer, multihead_weights(func, args, kwargs))
        elif func is F.scaled_dot_product_attention:
            self.on_attention(layer, scaled_dot_product_weights(*args, **kwargs))
        elif name == CONVOLUTION:
            self.tokens.see(args[0] if args else kwargs["input"], output, _stride(args, kwargs))
        elif name in POOLINGS and isinstance(output, Tensor):
            self.tokens.see(args[0] if args else kwargs["input"], output, None)
        elif any(part in name for part in KERNEL_NAMES):
            self.on_hidden(layer, f"it calls {name}, a kernel that hides its weights")
        else:
            if name in JOINS:
                self._see_joined(*args, **kwargs)
            weights = self._written_out.see(layer, name, args, kwargs, output)
            if weights is not None:
                self.on_attention(layer, weights)

    def _see_joined(self, tensors: Any = (), dim: int = 0, axis: int | None = None, **_others: Any) -> None:
        self.tokens.joined.see(tuple(tensors), dim if axis is None else axis)


def _stride(args: Any, kwargs: Any) -> tuple[int, int]:
    """Of the arguments (input, weight, bias, stride, ...) of a convolution."""
    stride = args[3] if len(args) > 3 else kwargs.get("stride", 1)
    if isinstance(stride, int):
        return stride, stride
    return (stride[0], stride[-1])
