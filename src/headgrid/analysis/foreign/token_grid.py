"""Which tokens of a sequence stand where in the image, told by their number.

The patches of an image are a map that a convolution (or a pooling) put out, or a cut into squares. A sequence of as
many tokens, or of a few more, is that map row by row, with class, distillation and register tokens before it. Where
a model is seen to put tokens behind the patches, they come apart too.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from headgrid.analysis.attention_record import LayerAttention, Placement, layer_of_matrix
from headgrid.analysis.foreign.images_and_heads import images_first
from headgrid.analysis.foreign.joined_tokens import JoinedTokens
from headgrid.analysis.recording import NoMapError
from headgrid.geometry import TokenLayout

MOST_TOKENS = 16
"""More tokens beside the patches are not guessed: say how many there are."""
Size = tuple[int, int]


@dataclass
class TokenGrid:
    """The maps that a model has made of the images so far."""

    num_images: int
    image_size: Size
    grid: Size | None = None
    """Rows and columns of patches, where the user says them."""
    num_tokens: int | None = None
    """Number of tokens that are no patches, where the user says it."""
    joined: JoinedTokens = field(default_factory=JoinedTokens)
    """How sequences of tokens were put together."""
    _pixel_sizes: dict[Size, tuple[float, float]] = field(default_factory=dict)
    """Of each size of a map that was seen, how much of the image a pixel of it stands for."""

    def see(self, before: Tensor, after: Tensor, stride: Size | None) -> None:
        """Notes a convolution or a pooling, of the image or of another map."""
        if before.dim() != 4 or after.dim() != 4 or len(after) != self.num_images:
            return
        old, new = (before.shape[2], before.shape[3]), (after.shape[2], after.shape[3])
        unit = (1.0, 1.0) if old == self.image_size else self._pixel_sizes.get(old)
        if unit is None:
            unit, old, stride = (1.0, 1.0), self.image_size, None
        step = (old[0] / new[0], old[1] / new[1]) if stride is None else stride
        self._pixel_sizes.setdefault(new, (unit[0] * step[0], unit[1] * step[1]))

    def place(self, name: str, weights: Tensor) -> LayerAttention:
        """The weights between tokens as maps; `NoMapError` if they are something else."""
        matrix = images_first(weights, self.num_images)
        if matrix.shape[2] != matrix.shape[3]:
            raise NoMapError(
                f"{matrix.shape[2]} queries look at {matrix.shape[3]} keys: pooling by attention, attention across "
                f"sequences, or keys of a coarser map"
            )
        layout = self.layout(matrix.shape[3])
        height, width = layout.grid
        whole = (self.image_size[0] / height, self.image_size[1] / width)
        placement = Placement(
            layout.grid, tuple(range(height)), tuple(range(width)), self._pixel_sizes.get(layout.grid, whole)
        )
        behind = self.joined.behind(matrix.shape[3], layout.num_class_tokens)
        matrix = matrix.roll((behind, behind), (2, 3)) if behind else matrix
        return layer_of_matrix(name, matrix, placement, layout.num_class_tokens)

    def layout(self, length: int) -> TokenLayout:
        """Where the tokens of a sequence stand. An error asks if there is more than one answer."""
        found = [
            TokenLayout(grid, length - math.prod(grid))
            for grid in self._candidates()
            if self._plausible(length, math.prod(grid))
        ]
        if len(found) > 1:
            raise ValueError(
                f"a sequence of {length} tokens may be {_either(found)}: say the grid (rows and columns) of the "
                f"patches, or the number of the other tokens"
            )
        if not found:
            raise NoMapError(self._why_none(length))
        return found[0]

    def _candidates(self) -> list[Size]:
        if self.grid is not None:
            return [self.grid]
        smaller = [size for size in self._pixel_sizes if size != self.image_size]
        if smaller:
            return list(self._pixel_sizes)
        # No map was seen: the image was cut into square patches by reshaping.
        height, width = self.image_size
        common = math.gcd(height, width)
        return [(height // patch, width // patch) for patch in range(1, common + 1) if common % patch == 0]

    def _plausible(self, length: int, num_patches: int) -> bool:
        extra = length - num_patches
        if self.num_tokens is not None:
            return extra == self.num_tokens
        return 0 <= extra < num_patches and (extra <= MOST_TOKENS or self.grid is not None)

    def _why_none(self, length: int) -> str:
        if self.grid is not None:
            expected = f"a grid of {_text(self.grid)} patches"
            if self.num_tokens is not None:
                expected += f" and {self.num_tokens} others"
            return f"its {length} tokens are not {expected}"
        seen = ", ".join(_text(size) for size in self._candidates())
        beside = "a few" if self.num_tokens is None else self.num_tokens
        return (
            f"its {length} tokens are none of the maps that the model makes of the image ({seen}), also not with "
            f"{beside} other tokens: say the grid (rows and columns) if they are patches"
        )


def _text(size: Size) -> str:
    return f"{size[0]} x {size[1]}"


def _either(layouts: list[TokenLayout]) -> str:
    return " or ".join(f"{_text(layout.grid)} patches and {layout.num_class_tokens} others" for layout in layouts)
