"""The attention of headgrid's own layers, in whatever form they hand it back, placed on the image."""

import math

from headgrid.analysis.attention_record import LayerAttention, Placement, layer_of_matrix
from headgrid.analysis.recording import NoMapError
from headgrid.attention import AttentionOutput, FootprintAttentionOutput, TokenAttentionOutput
from headgrid.theory import ConvertedConvolution

Output = AttentionOutput | FootprintAttentionOutput | TokenAttentionOutput
"""What the layers of our models give for ``record=True``."""

MOST_WEIGHTS = 2**31
"""Maps of more numbers than these are not written out: 8 GiB in float32 for one layer."""


def layer_of_output(name: str, output: Output, image_size: tuple[int, int]) -> LayerAttention:
    """The maps of a layer, placed by what its output says of footprint and tokens."""
    if output.weights is not None and output.weights.shape[1] == 0:
        raise NoMapError("pruning has removed all its heads")
    if isinstance(output, TokenAttentionOutput):
        assert output.weights is not None
        layout = output.layout
        return layer_of_matrix(
            name, output.weights, Placement.of_grid(layout.grid, image_size), layout.num_class_tokens
        )
    if isinstance(output, FootprintAttentionOutput):
        assert output.weights is not None
        grid = (output.key.shape[1], output.key.shape[2])
        check_size(math.prod(output.weights.shape[:-1]) * math.prod(grid))
        # Keys beyond the border count for the pixel that they mirror, or are left out where they are zero.
        return LayerAttention(
            name, output.dense(), Placement.of_grid(grid, image_size, stride=output.footprint.stride)
        )
    assert output.weights is not None
    grid = (output.weights.shape[-2], output.weights.shape[-1])
    if output.weights.shape[2:4] != grid:
        raise NoMapError("only some of its pixels attend, and it does not say which")
    return LayerAttention(name, output.weights, Placement.of_grid(grid, image_size))


def layer_of_convolution(
    name: str, layer: ConvertedConvolution, input_shape: tuple[int, ...], image_size: tuple[int, int]
) -> LayerAttention:
    """The maps of a converted convolution, the same for all images; its keys are the pixels of the padded input."""
    if layer.num_axes == 1 or len(input_shape) != 4:
        raise NoMapError("it runs on sequences, or on no batch: its input is no map of the images")
    num_images, _, *size = input_shape
    (top, bottom), (left, right) = layer.padding_sides()
    keys = (size[0] + top + bottom, size[1] + left + right)
    rows, columns = layer.queries(*size)
    assert isinstance(rows, slice)
    assert isinstance(columns, slice)
    placement = Placement(
        keys=keys,
        query_rows=tuple(range(*rows.indices(keys[0]))),
        query_columns=tuple(range(*columns.indices(keys[1]))),
        pixel_size=(image_size[0] / size[0], image_size[1] / size[1]),
        padding=(top, left),
    )
    check_size(layer.attention.num_heads * math.prod(placement.queries) * math.prod(keys))
    weights = layer.weights(*size)
    return LayerAttention(name, weights.expand(num_images, *weights.shape), placement)


def check_size(num_weights: int) -> None:
    """Stops before maps are written out that cannot fit."""
    if num_weights > MOST_WEIGHTS:
        raise NoMapError(
            f"its maps would take {num_weights * 4 / 2**30:.0f} GiB: record fewer or smaller images at a time"
        )
