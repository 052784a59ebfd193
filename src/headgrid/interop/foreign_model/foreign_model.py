"""What is known of a model that another project made."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headgrid.axes import Images, Logits
from headgrid.data import Normalization


@dataclass(frozen=True)
class ForeignModel:
    """A classifier in eval mode on the CPU, and what its project says about the images it was made for."""

    name: str
    """As it was given, such as timm:resnet18."""
    module: nn.Module
    """Images in, logits out."""
    original: nn.Module
    """The network with its own names of layers; `module` itself, or what `module` takes the logits from."""
    image_size: tuple[int, int] | None = None
    """Rows and columns."""
    crop_fraction: float | None = None
    """How much of the shorter side evaluation sees."""
    normalization: Normalization | None = None


class UnwrappedLogits(nn.Module):
    """A network whose output may hold its logits among other things."""

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        self.original = original
        self.train(original.training)

    def forward(self, images: Images) -> Logits:
        output: Any = self.original(images)
        logits = getattr(output, "logits", output)
        if not isinstance(logits, Tensor) or logits.dim() != 2:
            what = f"the shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
            raise ValueError(
                f"the output of {type(self.original).__name__} is {what}: expected logits of shape "
                f"(images, classes), or an object with such .logits"
            )
        return logits
