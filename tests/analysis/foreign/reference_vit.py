"""A vision transformer that somebody else trained on CIFAR-10, as a plain module around its weights."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

WIDTH, NUM_HEADS = 128, 4
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attn = nn.MultiheadAttention(WIDTH, NUM_HEADS, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, tokens):
        inputs = self.norm1(tokens)
        tokens = tokens + self.attn(inputs, inputs, inputs, need_weights=False)[0]
        return tokens + self.mlp(self.norm2(tokens))


class ReferenceViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.pos_embed = nn.Parameter(torch.zeros(1, 65, WIDTH))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, WIDTH, 4, 4)})
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 10)

    def tokens(self, images):
        patches = self.patch_embed["proj"](images).flatten(2).transpose(1, 2)
        return torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1) + self.pos_embed

    def forward(self, images):
        tokens = self.tokens(images)
        for block in self.blocks:
            tokens = block(tokens)
        return self.head(self.norm(tokens)[:, 0])


def reference_vit(reference_dir: Path) -> ReferenceViT:
    model = ReferenceViT()
    model.load_state_dict(load_file(reference_dir / "foreign_vit_cifar10.safetensors"))
    return model.eval()


def first_test_images(cifar_dir: Path, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The first test images of CIFAR-10, normalised as this model wants them, and their labels."""
    file = cifar_dir / "cifar-10-batches-bin" / "test_batch.bin"
    rows = torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8).view(-1, 3073)[:number]
    images = rows[:, 1:].view(-1, 3, 32, 32) / 255
    images = (images - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    return images, rows[:, 0].long()
