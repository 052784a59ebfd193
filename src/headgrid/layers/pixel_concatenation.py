"""Invertible down-sampling (section 4.1): the pixels of each small cell become the channels of one."""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Images


class PixelConcatenation(nn.Module):
    """Concatenates cells of ``cell x cell`` pixels; turns channels first into channels last.

    The channels of a cell are ordered (row in the cell, column in the cell, colour), as in the original. That
    is not the order of `torch.nn.PixelUnshuffle`, which puts the colour first.
    """

    def __init__(self, cell: int) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, images: Images) -> Float[Tensor, "b h_cells w_cells c_cell"]:
        height, width = images.shape[2:]
        if height % self.cell or width % self.cell:
            raise ValueError(
                f"images of {height} x {width} pixels cannot be cut into cells of {self.cell} x {self.cell}: "
                f"both sides must be multiples of {self.cell}"
            )
        return rearrange(images, "b c (h i) (w j) -> b h w (i j c)", i=self.cell, j=self.cell)

    def extra_repr(self) -> str:
        return f"cell={self.cell}"
