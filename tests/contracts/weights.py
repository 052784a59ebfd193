"""What the recorded weights of a layer promise, whatever it attends to: pixels, footprints or tokens."""

from typing import Any

import torch

from headgrid.attention import FootprintAttentionOutput, TokenAttentionOutput


def check_weights(output: Any, layer: torch.nn.Module, sums_to_one: bool) -> None:
    """One map for each image, head and query, over all keys; of a softmax, each is a distribution."""
    weights, num_images = output.weights, len(output.values)
    assert weights is not None
    assert weights.shape[:2] == (num_images, getattr(layer, "num_heads", weights.shape[1]))
    assert weights.isfinite().all()
    if isinstance(output, TokenAttentionOutput):
        assert weights.shape[2:] == (output.layout.num_tokens, output.layout.num_tokens)
        assert output.values.shape[1] == output.layout.num_tokens
        sums = weights.sum(-1)
    else:
        dense = output.dense() if isinstance(output, FootprintAttentionOutput) else weights
        assert dense.shape[2:4] == dense.shape[4:6] == output.values.shape[1:3]
        sums = dense.sum((-2, -1))
    if sums_to_one:
        torch.testing.assert_close(sums, torch.ones_like(sums))
