"""The footprint R(i) of local attention: the square of pixels around a query pixel that it attends to.

Keys outside of the map are mirrored at its border, or zero. The official SAN refuses maps on which a footprint
reaches beyond the mirror image; here the mirror image is mirrored again, as often as it takes (what
``numpy.pad(mode="reflect")`` does), so that maps may shrink down to a single pixel.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headgrid.geometry import kernel_shifts

KeyMaps = Float[Tensor, "b y x c"]
"""Maps of key pixels; the queries (h, w) among them are fewer where the stride is larger than 1."""


@dataclass(frozen=True)
class ReflectionPadding:
    """Pixels outside of the map are mirrored at its border; the border itself is not repeated."""


@dataclass(frozen=True)
class ZeroPadding:
    """Keys and values outside of the map are zero; they take part in the softmax all the same."""


@dataclass(frozen=True)
class Footprint:
    """The square of pixels around a query pixel that it attends to."""

    size: int = 7
    """Rows and columns of the square; an odd number."""
    stride: int = 1
    """Distance between query pixels: with 2, every other row and column attends."""
    dilation: int = 1
    """Distance in pixels between neighbouring positions of the footprint."""
    padding: ReflectionPadding | ZeroPadding = field(default_factory=ReflectionPadding)
    """What stands outside of the map."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.size % 2 == 0:
            raise ValueError(f"the size of a footprint must be odd, so that it has a centre, got {self.size}")
        if self.stride < 1 or self.dilation < 1:
            raise ValueError(
                f"stride and dilation of a footprint must be at least 1, got {self.stride} and {self.dilation}"
            )

    @property
    def num_positions(self) -> int:
        """Number of pixels of the footprint."""
        return self.size**2

    @property
    def reach(self) -> int:
        """How many pixels the footprint extends from its centre."""
        return self.dilation * (self.size // 2)

    @property
    def span(self) -> int:
        """How many pixels the footprint covers along an axis, gaps included."""
        return 2 * self.reach + 1

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Size, stride and dilation: all that counts once a map is padded."""
        return self.size, self.stride, self.dilation

    def query_grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the query pixels on a map."""
        return (height - 1) // self.stride + 1, (width - 1) // self.stride + 1

    def shifts(self, device: torch.device | None = None) -> Int[Tensor, "k 2"]:
        """The shift (rows, columns) ``key - query`` of each position, row by row."""
        return kernel_shifts((self.size, self.size), (self.dilation, self.dilation), device)


def at_queries(maps: KeyMaps, footprint: Footprint) -> Float[Tensor, "b h w c"]:
    """The pixels that attend: all of them at stride 1."""
    return maps[:, :: footprint.stride, :: footprint.stride]


def pad(maps: KeyMaps, footprint: Footprint) -> Float[Tensor, "b h_padded w_padded c"]:
    """The map with what every footprint reaches beyond its border."""
    reach = footprint.reach
    if isinstance(footprint.padding, ZeroPadding):
        return F.pad(maps, (0, 0, reach, reach, reach, reach))
    height, width = maps.shape[1:3]
    rows = _mirrored(height, reach, maps.device)
    columns = _mirrored(width, reach, maps.device)
    pixels = (rows[:, None] * width + columns).flatten()
    return maps.flatten(1, 2).index_select(1, pixels).unflatten(1, (len(rows), len(columns)))


def neighbours(maps: KeyMaps, footprint: Footprint) -> Float[Tensor, "k b h w c"]:
    """The footprint of every query pixel written out: K^2 copies of the map. Slow, obvious, differentiable."""
    span, stride, dilation = footprint.span, footprint.stride, footprint.dilation
    unfolded = pad(maps, footprint).unfold(1, span, stride).unfold(2, span, stride)[..., ::dilation, ::dilation]
    return unfolded.permute(4, 5, 0, 1, 2, 3).flatten(0, 1)


def windows(padded: Tensor, footprint: Footprint) -> Tensor:
    """The footprints of a padded map ``(..., h_padded, w_padded, c)`` without a copy.

    Axes (footprint row, footprint column, ..., h, w, c): entry (i, j) is a view of the padded map, shifted. Views
    overlap, so write into one of them at a time.
    """
    *outer, height, width, channels = padded.shape
    *outer_strides, row, column, channel = padded.stride()
    stride, dilation = footprint.stride, footprint.dilation
    queries = ((height - footprint.span) // stride + 1, (width - footprint.span) // stride + 1)
    return padded.as_strided(
        (footprint.size, footprint.size, *outer, *queries, channels),
        (dilation * row, dilation * column, *outer_strides, stride * row, stride * column, channel),
    )


def shifted(padded: Tensor, footprint: Footprint) -> list[Tensor]:
    """For each position of the footprint a view ``(..., h, w, c)`` of the padded map, row by row."""
    return [view for row in windows(padded, footprint) for view in row]


def incidence(length: int, footprint: Footprint, device: torch.device | None = None) -> Int[Tensor, "i h y"]:
    """Along one axis: 1 where position i of the footprint of query h reads key y, after mirroring, else 0."""
    (queries, _), reach = footprint.query_grid(length, 1), footprint.reach
    centers = footprint.stride * torch.arange(queries, device=device)
    keys = torch.arange(-reach, reach + 1, footprint.dilation, device=device)[:, None] + centers
    inside = (keys >= 0) & (keys < length)
    read = _mirrored(length, reach, device)[keys + reach]
    one_hot = F.one_hot(read, length)
    return one_hot * inside[..., None] if isinstance(footprint.padding, ZeroPadding) else one_hot


def dense_weights(
    weights: Float[Tensor, "b n h w k"], footprint: Footprint, keys: tuple[int, int]
) -> Float[Tensor, "b n h w y x"]:
    """The weights of footprints as maps over all key pixels; mirrored keys count for the pixel they mirror."""
    rows, columns = (incidence(length, footprint, weights.device).to(weights) for length in keys)
    square = weights.unflatten(-1, (footprint.size, footprint.size))
    return torch.einsum("bnhwij,ihy,jwx->bnhwyx", square, rows, columns)


def _mirrored(length: int, reach: int, device: torch.device | None) -> Int[Tensor, "positions"]:
    """Which pixel stands at each position from ``-reach`` to ``length - 1 + reach`` along an axis."""
    period = max(1, 2 * (length - 1))
    position = torch.arange(-reach, length + reach, device=device) % period
    return torch.minimum(position, period - position)
