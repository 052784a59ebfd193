"""Head mixing in which channels of different groups never meet, as in a grouped convolution."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class GroupedHeadMixing(nn.Module):
    """``sum_h head_h W^(h) + b_out`` with block-diagonal W^(h): a block for each group of channels.

    Only the blocks are stored: ``weight[o]`` holds, for output channel o, what each head and each channel of its
    group contribute, in the order (head, channel).
    """

    def __init__(self, num_groups: int, num_heads: int, head_dim: int, dim: int) -> None:
        super().__init__()
        if num_groups < 1 or head_dim % num_groups or dim % num_groups:
            raise ValueError(
                f"{num_groups} groups must divide the {head_dim} channels of a head and the {dim} output channels"
            )
        self.num_groups, self.num_heads = num_groups, num_heads
        fan_in = num_heads * head_dim // num_groups
        self.weight = nn.Parameter(torch.empty(dim, fan_in).uniform_(-(fan_in**-0.5), fan_in**-0.5))
        self.bias = nn.Parameter(torch.empty(dim).uniform_(-(fan_in**-0.5), fan_in**-0.5))

    def forward(self, input: Float[Tensor, "b h w n d"]) -> Float[Tensor, "b h w c"]:
        blocks = self.weight.unflatten(0, (self.num_groups, -1)).unflatten(2, (self.num_heads, -1))
        grouped = input.unflatten(-1, (self.num_groups, -1))
        return torch.einsum("bhwngi,goni->bhwgo", grouped, blocks).flatten(-2) + self.bias

    @property
    def head_matrices(self) -> Float[Tensor, "n d c"]:
        """W^(h) of each head with its zeros, as in the paper: a pixel stands to its left."""
        blocks = self.weight.unflatten(0, (self.num_groups, -1)).unflatten(2, (self.num_heads, -1))
        placed = torch.einsum("goni,gf->ngifo", blocks, torch.eye(self.num_groups).to(blocks))
        return placed.flatten(3).flatten(1, 2)
