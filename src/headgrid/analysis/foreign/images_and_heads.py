"""Which numbers of a foreign softmax count images, and which count heads.

Images come first in most models, ``b n t s``. But where both are counted through, ``(b n) t s`` and ``(n b) t s``
are both in use, and where there are as many heads as images, ``n b t s`` has the same shape as ``b n t s``. In
these cases the first image is recorded once more, alone: that reading is right whose first image has its weights.
"""

from jaxtyping import Float
from torch import Tensor

from headgrid.analysis.attention_record import AttentionRecord, LayerAttention, layer_of_matrix
from headgrid.analysis.recording import NoMapError


def images_first(weights: Float[Tensor, "*axes"], num_images: int) -> Float[Tensor, "b n t s"]:
    """The weights as (image, head, query, key), read as usual; `NoMapError` if they are something else."""
    if weights.dim() == 3 and len(weights) % num_images == 0:
        return weights.unflatten(0, (num_images, -1))
    if weights.dim() == 4 and len(weights) == num_images:
        return weights
    if weights.dim() == 4 and len(weights) == 1:  # one map for all images
        return weights.expand(num_images, -1, -1, -1)
    shape = " x ".join(str(size) for size in weights.shape)
    raise NoMapError(
        f"its weights are {shape} numbers for {num_images} image(s): attention within windows or along one axis, "
        f"not between all places of an image"
    )


def may_be_heads_first(weights: Float[Tensor, "*axes"], num_images: int) -> bool:
    """Whether the shape allows for the other reading too."""
    if num_images == 1:
        return False
    if weights.dim() == 3:
        return num_images < len(weights)
    return weights.dim() == 4 and weights.shape[0] == weights.shape[1] == num_images


def told_apart(layer: LayerAttention, alone: AttentionRecord) -> LayerAttention:
    """The layer in its right reading; ``alone`` is the record of its first image."""
    swapped = _heads_first(layer)
    if layer.name not in alone.layers:  # of one image, only heads that come first are no map
        return swapped
    first = alone[layer.name].weights[0]
    as_usual = (layer.weights[0] - first).abs().max()
    return swapped if (swapped.weights[0] - first).abs().max() < as_usual else layer


def _heads_first(layer: LayerAttention) -> LayerAttention:
    numbers = layer.matrix().flatten(0, 1).unflatten(0, (layer.num_heads, layer.num_images))
    num_tokens = 0 if layer.tokens is None else layer.tokens.num_tokens
    return layer_of_matrix(layer.name, numbers.transpose(0, 1), layer.placement, num_tokens)
