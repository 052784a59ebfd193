"""The matrices W^(h) of equation 11: what each head's result contributes to the output."""

from jaxtyping import Float
from torch import Tensor, nn


class HeadMixing(nn.Linear):
    """Concatenates the heads and mixes them: ``sum_h head_h W^(h) + b_out``.

    Applied to raw pixels that the heads have averaged, W^(h) is value and output matrix of head h in one.
    """

    def __init__(self, num_heads: int, head_dim: int, dim: int) -> None:
        super().__init__(num_heads * head_dim, dim)
        self.num_heads = num_heads

    def reset_parameters(self) -> None:
        """As PyTorch draws a Linear; without heads there is the bias alone, and nothing to tell its scale."""
        if self.in_features:
            super().reset_parameters()
        else:
            nn.init.zeros_(self.bias)

    def forward(self, input: Float[Tensor, "*positions n d"]) -> Float[Tensor, "*positions c"]:
        return super().forward(input.flatten(-2))

    @property
    def head_matrices(self) -> Float[Tensor, "n d c"]:
        """W^(h) of each head, as in the paper: a pixel stands to its left."""
        return self.weight.unflatten(1, (self.num_heads, -1)).permute(1, 2, 0)
