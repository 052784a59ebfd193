"""Images turned and turned over, exactly: pixels change places and none is interpolated.

SAN's robustness table turns test images clockwise by 90, 180 and 270 degrees and flips them upside-down.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headgrid.axes import Images


@dataclass(frozen=True)
class Rotation:
    """A turn clockwise; one or three quarters of it swap rows and columns."""

    quarter_turns: int

    def __post_init__(self) -> None:
        if self.quarter_turns not in (1, 2, 3):
            raise ValueError(f"an image is turned by 1, 2 or 3 quarters, not by {self.quarter_turns}")

    @property
    def name(self) -> str:
        return f"clockwise {90 * self.quarter_turns}"

    def apply(self, images: Images) -> Float[Tensor, "b c h_turned w_turned"]:
        return torch.rot90(images, -self.quarter_turns, (2, 3))  # torch turns the other way round


@dataclass(frozen=True)
class UpsideDown:
    """A flip that exchanges top and bottom; left stays left."""

    @property
    def name(self) -> str:
        return "upside-down"

    def apply(self, images: Images) -> Images:
        return images.flip(2)


ROTATIONS = (Rotation(1), Rotation(2), Rotation(3), UpsideDown())
"""Those of the SAN paper, in its order."""
