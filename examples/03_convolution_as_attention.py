"""Theorem 1: a convolution as attention heads that compute the same, borders, stride and all."""

import torch

from headgrid.theory.convert_convolution import convert_convolution

convolution = torch.nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1)
attention = convert_convolution(convolution)

images = torch.randn(2, 16, 20, 28)
expected, converted = convolution(images), attention(images)
error = (converted - expected).abs().max() / expected.abs().max()
print(f"largest difference, relative to the largest output: {error:.1e}")

# One head for each of the nine kernel elements; its centre is the shift that the element reads.
print("centres of the heads (row, column):")
print(attention.attention.score.terms[0].centers.int().tolist())
