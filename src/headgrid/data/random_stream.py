"""Random numbers that follow from what they are for, not from what was drawn before them.

A shuffled order belongs to (seed, epoch), the augmentation of a batch to (seed, epoch, batch): each gets a
generator of its own, and the global one is never touched.
"""

from enum import IntEnum

import numpy as np
import torch


class Purpose(IntEnum):
    ORDER = 1
    AUGMENTATION = 2
    SPLIT = 3
    PICTURES = 4
    ATTACK = 5


def random_stream(seed: int, purpose: Purpose, *place: int) -> torch.Generator:
    """A generator for `purpose` at `place` (an epoch; an epoch and a batch; a class; ...)."""
    if seed < 0:
        raise ValueError(f"a seed is a whole number from 0 on, not {seed}")
    state = np.random.SeedSequence(seed, spawn_key=(int(purpose), *place)).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0]) >> 1)  # torch takes a signed 64-bit number
