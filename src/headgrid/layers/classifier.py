"""From pixels to classes: the mean over all pixels, then one linear layer."""

from torch import nn

from headgrid.axes import Logits, Pixels


class MeanPoolClassifier(nn.Module):
    """Average pooling of the last layer's pixels, then Linear to the classes (section 4.1)."""

    def __init__(self, dim: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, num_classes)

    def forward(self, pixels: Pixels) -> Logits:
        return self.linear(pixels.mean(dim=(1, 2)))
