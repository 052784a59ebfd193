"""Where the pixels of an image stand in a sequence of tokens."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class TokenLayout:
    """Class tokens first, then the patches of the image row by row."""

    grid: tuple[int, int]
    """Rows and columns of patches."""
    num_class_tokens: int = 0
    """Number of tokens before the patches."""

    @property
    def num_tokens(self) -> int:
        return self.num_class_tokens + self.grid[0] * self.grid[1]

    def on_grid(self, of_tokens: Float[Tensor, "*batch t"]) -> Float[Tensor, "*batch h w"]:
        """The numbers of the patches, in their rows and columns; those of class tokens are left out."""
        return of_tokens[..., self.num_class_tokens :].unflatten(-1, self.grid)
