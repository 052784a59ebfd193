"""Operators of our own, as torch knows its own: opaque to ``torch.compile``, and counted by its FLOP counter.

A loop over shifts that works in place is fast as it stands; a compiler that unrolls it takes minutes and makes the
backward pass slower (``benchmarks/local_attention.py --compile``). As an operator, it is one node of any graph.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import register_flop_formula

_LIBRARY = torch.library.Library("headgrid", "FRAGMENT")


def register_operator(
    compute: Callable[..., Any], shapes: Callable[..., Any], flops: Callable[..., int] | None = None
) -> Callable[..., Any]:
    """``compute`` as the operator ``torch.ops.headgrid.<its name>``.

    ``compute`` takes tensors and plain numbers and changes none of them. ``shapes`` takes the same and returns
    empty tensors like its result; ``flops`` takes the shapes of the tensors and counts two for a multiply-add.
    (`torch.library.custom_op` does the same, but loads the whole compiler at the first call: seconds.)
    """
    name = compute.__name__.removeprefix("_")
    _LIBRARY.define(name + torch.library.infer_schema(compute, mutates_args=()))
    _LIBRARY.impl(name, compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"headgrid::{name}", shapes, lib=_LIBRARY)
    packet = getattr(torch.ops.headgrid, name)
    if flops is not None:
        register_flop_formula(packet)(flops)
    return packet.default


def register_gradient(
    operator: Callable[..., Any], backward: Callable[..., Any], setup_context: Callable[..., None]
) -> None:
    """Tells torch the derivative of an operator; see `torch.library.register_autograd`."""
    torch.library.register_autograd(operator, backward, setup_context=setup_context, lib=_LIBRARY)  # type: ignore[arg-type]
