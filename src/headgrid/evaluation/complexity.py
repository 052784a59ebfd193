"""What a model costs: parameters, those that nothing reaches, and multiply-adds for one image.

The papers print twice the multiply-adds of the linear layers and call it FLOPs (6.2B for quadratic attention);
here everything is a multiply-add of a matrix product or convolution, once. Softmax, norms, activations and the
distances of a quadratic score are free, as in the papers.

- `linear_macs`: layers with weights that act on pixels, `nn.Linear` and convolutions;
- `attention_macs`: the rest, which is scores (query with key, query with position) and applying the maps. It is
  counted on the explicit path, where the N x N maps exist as the papers describe them;
- `executed_macs`: what the path that runs without ``record`` really multiplies, linear layers included.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from headgrid.evaluation.accuracy import eval_mode

_LINEAR = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)

_FUSED = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_fused_attention_overrideable",
)
"""Kernels of scaled dot-product attention for which torch has no formula."""


@dataclass(frozen=True)
class Cost:
    """What a model costs; multiply-adds are those of one image in eval mode."""

    num_parameters: int
    num_unused_parameters: int
    """Parameters whose gradient is None after a backward pass."""
    macs: int
    """Linear layers and attention maps together."""
    linear_macs: int
    """Multiply-adds of linear layers and convolutions."""
    attention_macs: int
    """Multiply-adds of attention scores and of applying explicit maps."""
    executed_macs: int
    """Multiply-adds of the fastest exact path, which may never build a map."""


def model_cost(model: nn.Module, image_size: tuple[int, int], num_channels: int = 3) -> Cost:
    """The cost of a model of images; the model stays as it is. A model on the meta device costs no time."""
    device = next(model.parameters()).device
    image = torch.zeros(1, num_channels, *image_size, device=device)
    with eval_mode(model), torch.no_grad():
        record = {"record": True} if "record" in inspect.signature(model.forward).parameters else {}
        linear, explicit = _count(model, image, record)
        _, executed = _count(model, image, {})
    return Cost(
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        num_unused_parameters=sum(parameter.numel() for parameter in unused_parameters(model, image).values()),
        macs=explicit,
        linear_macs=linear,
        attention_macs=explicit - linear,
        executed_macs=executed,
    )


def unused_parameters(model: nn.Module, images: Tensor) -> dict[str, nn.Parameter]:
    """Parameters that autograd does not reach from the logits, frozen ones judged like others."""
    parameters = dict(model.named_parameters())
    # Detached twins: neither the gradients of the model nor its frozen parameters are touched.
    twins = {name: parameter.detach().requires_grad_() for name, parameter in parameters.items()}
    with eval_mode(model), torch.enable_grad():
        logits = torch.func.functional_call(model, twins, (images,))
        gradients = torch.autograd.grad(logits.sum(), list(twins.values()), allow_unused=True)
    return {name: parameters[name] for name, gradient in zip(twins, gradients, strict=True) if gradient is None}


def _count(model: nn.Module, image: Tensor, arguments: dict[str, Any]) -> tuple[int, int]:
    """Multiply-adds inside of linear layers, and all."""
    packets = (getattr(torch.ops.aten, name, None) for name in _FUSED)
    formulas = {packet: _fused_attention_flops for packet in packets if packet is not None}
    counter = FlopCounterMode(display=False, custom_mapping=formulas)
    with counter, _flops_of_linear_layers(model, counter) as linear:
        model(image, **arguments)
    return sum(linear) // 2, counter.get_total_flops() // 2


@contextmanager
def _flops_of_linear_layers(model: nn.Module, counter: FlopCounterMode) -> Iterator[list[int]]:
    """The list of what every call of a linear layer adds to the counter."""
    counts: list[int] = []
    started: list[int] = []

    def before(module: nn.Module, inputs: Any) -> None:
        started.append(counter.get_total_flops())

    def after(module: nn.Module, inputs: Any, output: Any) -> None:
        counts.append(counter.get_total_flops() - started.pop())

    handles = []
    for module in model.modules():
        if isinstance(module, _LINEAR):
            handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    try:
        yield counts
    finally:
        for handle in handles:
            handle.remove()


def _fused_attention_flops(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], *_: Any, **__: Any
) -> int:
    """Scores and their application, two operations per multiply-add."""
    *batch, num_queries, width = query
    pairs = num_queries * key[-2]
    for size in batch:
        pairs *= size
    return 2 * pairs * (width + value[-1])
