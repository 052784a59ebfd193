"""What the numbers of every block's config must be."""

import math


def check_block(hidden_dim: int, norm_epsilon: float, dropout: float = 0.0) -> None:
    if hidden_dim < 1:
        raise ValueError(f"hidden_dim must be at least 1, got {hidden_dim}")
    if not 0 <= norm_epsilon < math.inf:
        raise ValueError(f"norm_epsilon must be a number from 0 on, got {norm_epsilon}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
