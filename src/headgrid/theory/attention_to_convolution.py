"""Attention as a convolution, with a certificate: `attention_to_convolution(layer, tolerance)`.

Let the maps of a layer depend on the shift alone: ``a_h(q, k) = exp(s_h(k - q)) / Z_h(q)``, where Z_h(q) sums over
the pixels of a finite grid. Take a rectangle F of shifts and, for the *interior* queries, whose q + F lies on the
grid, the weights that head h has on F, made to sum to one: ``c_h(delta) = exp(s_h(delta)) / sum_F exp(s_h)``. They
no longer depend on q, so the layer with these weights is one convolution with the kernel ``sum_h c_h(delta)
W^(h)``.

**Bound.** At an interior query, let ``m_h(q) = sum of a_h(q, .) outside of q + F``. On q + F, c_h is a_h / (1 -
m_h), so c_h exceeds a_h there by m_h in all, and falls short of it by m_h outside: their distance in total
variation is m_h(q). With e_h the largest m_h(q) over the interior, `headgrid.theory.error_bound` bounds the error
of every output for every input: by ``2 M max_o sum_h e_h |w_ho|_1`` where no coordinate exceeds M, and by
``2 R max_o sum_h e_h |w_ho|_2`` where no pixel's norm exceeds R. Z_h(q) varies over the interior of a finite grid,
as different queries see different far shifts; e_h takes the worst of them, so this is part of the bound. On a
smaller grid every interior query sees less outside of F, so the certificate of a grid holds on all smaller ones.

**Borders.** For all other queries the softmax spreads the weight of missing pixels over those that exist. The
compiled layer computes the attention there as it is, for these queries only: no approximation, and a cost of its
own.

Rounding is not part of the bound.
"""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.attention import AttentionOutput, MultiheadAttention
from headgrid.axes import AttentionWeights, Pixels
from headgrid.layers import GroupedHeadMixing
from headgrid.theory.error_bound import ErrorBound, error_bound
from headgrid.theory.footprint import Footprint, smallest_footprint
from headgrid.theory.shift_scores import shift_scores


@dataclass(frozen=True)
class Certificate:
    """What is proved about a compiled layer, on maps up to ``grid``."""

    grid: tuple[int, int]
    footprint: Footprint
    tolerance: float
    missed: Float[Tensor, "n"]
    """e_h: the largest share of each head's attention that the footprint leaves out; none exceeds the tolerance."""
    bound: ErrorBound
    """For every input: the largest possible difference of any output."""


@dataclass(frozen=True)
class Compilation:
    """A compiled layer with its certificate, or the layer as it was with the reason."""

    module: nn.Module
    """`CompiledAttention`, or the layer."""
    certificate: Certificate | None
    reason: str | None


def attention_to_convolution(
    layer: MultiheadAttention, tolerance: float, grid: tuple[int, int] | None = None
) -> Compilation:
    """Compiles a positional layer in eval mode for maps up to ``grid``, by default the one that it was built for.

    The footprint is the smallest that leaves out at most ``tolerance`` of each head's attention. A layer that needs
    more than half the grid in some direction stays attention, as do layers that look at the image.
    """
    grid = layer.grid if grid is None else grid
    try:
        scores = shift_scores(layer, grid)
    except ValueError as error:
        return Compilation(layer, None, str(error))
    found = smallest_footprint(scores, tolerance)
    if not found.keeps(tolerance):
        return Compilation(
            layer,
            None,
            f"a footprint that leaves out at most {tolerance:g} of each head's attention exceeds half the "
            f"{grid[0]} x {grid[1]} grid; the best within it, {found.footprint}, leaves out "
            f"{float(found.missed.max()):.2g}",
        )
    filters, bias = filters_of(layer)
    kernel = torch.einsum("oni,nyx->oiyx", filters, found.weights)
    certificate = Certificate(
        grid=grid,
        footprint=found.footprint,
        tolerance=tolerance,
        missed=found.missed,
        bound=error_bound(found.missed, filters.permute(1, 2, 0)),
    )
    dtype = layer.mixing.weight.dtype
    module = CompiledAttention(layer, found.footprint, grid)
    module.kernel.copy_(kernel.to(dtype))
    module.bias.copy_(bias.to(dtype))
    return Compilation(module, certificate, None)


@torch.no_grad()
def filters_of(layer: MultiheadAttention) -> tuple[Float[Tensor, "c_out n c"], Float[Tensor, "c_out"]]:
    """The matrices W^(h), transposed and in float64, and the bias; of grouped layers the blocks."""
    mixing = layer.mixing.weight.double().unflatten(1, (layer.num_heads, -1))
    bias = layer.mixing.bias.double()
    if layer.value is None:
        return mixing, bias
    value = layer.value.weight.double().unflatten(0, (layer.num_heads, -1))
    if layer.value.bias is not None:
        # The weights of a head sum to one, so that the value's bias passes through unchanged.
        bias = bias + torch.einsum("ond,nd->o", mixing, layer.value.bias.double().unflatten(0, value.shape[:2]))
    return torch.einsum("ond,ndi->oni", mixing, value), bias


class CompiledAttention(nn.Module):
    """One convolution for the interior, the attention itself for the queries at the borders.

    A layer for inference: it computes what the attention does in eval mode, and its parameters do not train.
    """

    kernel: Tensor
    bias: Tensor

    def __init__(self, attention: MultiheadAttention, footprint: Footprint, grid: tuple[int, int]) -> None:
        super().__init__()
        self.attention = copy.deepcopy(attention).requires_grad_(False).eval()
        self.footprint, self.grid = footprint, grid
        mixing = attention.mixing
        self.num_groups = mixing.num_groups if isinstance(mixing, GroupedHeadMixing) else 1
        num_inputs = attention.head_dim if attention.value is None else attention.value.in_features
        shape = (len(mixing.weight), num_inputs // self.num_groups, footprint.num_rows, footprint.num_columns)
        kernel = mixing.weight.new_zeros(shape).to(memory_format=torch.channels_last)
        self.register_buffer("kernel", kernel)
        self.register_buffer("bias", mixing.bias.new_zeros(shape[0]))

    def train(self, mode: bool = True) -> "CompiledAttention":
        """Stays in eval mode: dropout has no place in a compiled layer."""
        return super().train(False)

    def forward(
        self, pixels: Pixels, key: Float[Tensor, "b n y x d"] | None = None, record: bool = False
    ) -> AttentionOutput:
        """As `MultiheadAttention.forward`; the recorded weights are those that the compiled layer applies."""
        height, width = pixels.shape[1:3]
        if height > self.grid[0] or width > self.grid[1]:
            raise ValueError(
                f"the layer was compiled for maps of up to {self.grid[0]} x {self.grid[1]} pixels, got {height} x "
                f"{width}: compile it again for that size"
            )
        if record:
            weights = self.weights(height, width).expand(len(pixels), -1, -1, -1, -1, -1)
            return AttentionOutput(self.attention.with_weights(weights, pixels), weights, key)
        rows, columns = self.footprint.interior(height, width)
        if rows.start == rows.stop or columns.start == columns.stop:
            return self.attention(pixels, key)
        output = pixels.new_empty(len(pixels), height, width, len(self.bias))
        output[:, rows, columns] = self.interior(pixels)
        for (some_rows, some_columns), values in self.border(pixels):
            output[:, some_rows[:, None], some_columns] = values
        return AttentionOutput(output, None, key)

    def interior(self, pixels: Pixels) -> Float[Tensor, "b rows columns c_out"]:
        """The output for the queries whose whole footprint lies on the map: a convolution."""
        rows, columns = self.footprint.keys_of_interior(*pixels.shape[1:3])
        planes = pixels[:, rows, columns].permute(0, 3, 1, 2)
        return F.conv2d(planes, self.kernel, self.bias, groups=self.num_groups).permute(0, 2, 3, 1)

    def border(self, pixels: Pixels) -> list[tuple[tuple[Tensor, Tensor], Tensor]]:
        """The output of all other queries, with their rows and columns: attention.

        First the whole rows above and below the interior, then what is left and right of it.
        """
        height, width = pixels.shape[1:3]
        rows, columns = self.footprint.interior(height, width)
        every_row, every_column = (torch.arange(length, device=pixels.device) for length in (height, width))
        places = (
            (torch.cat([every_row[: rows.start], every_row[rows.stop :]]), every_column),
            (every_row[rows], torch.cat([every_column[: columns.start], every_column[columns.stop :]])),
        )
        return [(place, self.attention(pixels, queries=place).values) for place in places if all(map(len, place))]

    def num_border_pixels(self, height: int, width: int) -> int:
        rows, columns = self.footprint.interior(height, width)
        return height * width - (rows.stop - rows.start) * (columns.stop - columns.start)

    def weights(self, height: int, width: int) -> AttentionWeights:
        """The attention maps of the compiled layer: in the interior cut to the footprint, summing to one."""
        weights = self.attention.weights(height, width)[None]
        rows, columns = self.footprint.interior(height, width)
        cut = torch.zeros_like(weights)
        for row in range(rows.start, rows.stop):
            for column in range(columns.start, columns.stop):
                first_row, first_column = row + self.footprint.first_row, column + self.footprint.first_column
                keys = (
                    slice(first_row, first_row + self.footprint.num_rows),
                    slice(first_column, first_column + self.footprint.num_columns),
                )
                cut[:, :, row, column, keys[0], keys[1]] = weights[:, :, row, column, keys[0], keys[1]]
        within = cut[:, :, rows, columns]
        weights = weights.clone()
        weights[:, :, rows, columns] = within / within.sum(dim=(-2, -1), keepdim=True)
        return weights

    def extra_repr(self) -> str:
        return f"footprint={self.footprint}, grid={self.grid}"
