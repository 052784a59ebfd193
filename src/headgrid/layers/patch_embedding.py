"""From an image to tokens: each patch of pixels becomes one."""

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Images
from headgrid.layers.pixel_concatenation import PixelConcatenation


class PatchEmbedding(nn.Module):
    """A linear layer on the pixels of each patch, row by row: a convolution whose stride is its kernel's size."""

    def __init__(self, patch_size: int, num_channels: int, dim: int) -> None:
        super().__init__()
        self.concatenation = PixelConcatenation(patch_size)
        self.linear = nn.Linear(num_channels * patch_size**2, dim)

    def forward(self, images: Images) -> Float[Tensor, "b t dim"]:
        return self.linear(self.concatenation(images).flatten(1, 2))
