"""Working beside autocast, which changes the types of some operations and not of others."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def without_autocast(like: Tensor) -> AbstractContextManager:
    """Inside, operations on the tensor's device keep the types that they are given."""
    device = like.device.type
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def product_type(weight: Tensor) -> torch.dtype:
    """The type in which matrices are multiplied with a weight: that of autocast where it is on."""
    device = weight.device.type
    autocast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if autocast else weight.dtype
