"""Vector attention one query pixel and one key pixel at a time, from the equations of the paper.

Relations are lists of single vectors, and footprints are walked; only gamma, which is tested by itself, runs as the
module that it is, on all relations of a batch (its batch norms need them together).
"""

import torch
from torch import Tensor

from footprint_loops import keys_of, queries_of
from headgrid.attention import (
    AbsolutePosition,
    CliqueProduct,
    Concatenation,
    DotProduct,
    HadamardProduct,
    NoPosition,
    PairwiseAttention,
    PatchConcatenation,
    PatchwiseAttention,
    StarProduct,
    Subtraction,
    Summation,
)

PAIRWISE = {
    Summation: lambda phi, psi: phi + psi,
    Subtraction: lambda phi, psi: phi - psi,
    Concatenation: lambda phi, psi: torch.cat([phi, psi]),
    HadamardProduct: lambda phi, psi: phi * psi,
    DotProduct: lambda phi, psi: (phi * psi).sum()[None],
}


def pairwise_loop(layer: PairwiseAttention, pixels: Tensor, key: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Output (b, h, w, c) and weights (b, n, h, w, k)."""
    phi, psi, beta = _transformed(layer, pixels, key)
    grid = pixels.shape[1:3]
    relations = []
    for image, (h, w), positions in _footprints(layer, pixels):
        own = phi[image, h, w]
        for key_pixel in positions:
            other = torch.zeros_like(own) if key_pixel is None else psi[image, *key_pixel]
            relation = PAIRWISE[type(layer.relation)](own, other)
            relations.append(torch.cat([relation, *_position(layer, (h, w), key_pixel, grid)]))
    weights = layer.gamma(torch.stack(relations), record=True)
    weights = weights.unflatten(0, (-1, layer.footprint.num_positions)).softmax(dim=1)
    return _summed(layer, pixels, beta, weights)


def patchwise_loop(layer: PatchwiseAttention, pixels: Tensor, key: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Output (b, h, w, c) and weights (b, n, h, w, k)."""
    phi, psi, beta = _transformed(layer, pixels, key)
    relations = []
    for image, (h, w), positions in _footprints(layer, pixels):
        nothing = torch.zeros_like(phi[image, h, w])
        queries = [nothing if at is None else phi[image, *at] for at in positions]
        keys = [nothing if at is None else psi[image, *at] for at in positions]
        own = phi[image, h, w]
        match layer.relation:
            case StarProduct():
                relation = [(own * other).sum()[None] for other in keys]
            case CliqueProduct():
                relation = [(one * other).sum()[None] for one in queries for other in keys]
            case PatchConcatenation():
                # Where phi = psi, the query is the centre of its footprint already.
                relation = [own, *keys] if layer.repeats_query else keys
        relations.append(torch.cat(relation))
    weights = layer.gamma(torch.stack(relations), record=True)
    return _summed(layer, pixels, beta, weights.unflatten(1, (layer.footprint.num_positions, -1)))


def _transformed(layer, pixels, key):
    phi = layer.phi(pixels)
    if key is None:
        key = phi if layer.psi is None else layer.psi(pixels)
    return phi, key, phi if layer.beta is None else layer.beta(pixels)


def _footprints(layer, pixels):
    """For each image and query: the query's pixel, and the keys of its footprint."""
    grid, stride = tuple(pixels.shape[1:3]), layer.footprint.stride
    for image in range(len(pixels)):
        for row, column in queries_of(layer.footprint, grid):
            yield image, (stride * row, stride * column), list(keys_of((row, column), layer.footprint, grid))


def _position(layer, query, key, grid):
    if isinstance(layer.position, NoPosition):
        return
    own, other = (
        torch.zeros(2, dtype=torch.float64) if pixel is None else _encoded(layer, pixel, grid)
        for pixel in (query, key)
    )
    yield other if isinstance(layer.position, AbsolutePosition) else own - other


def _encoded(layer, pixel, grid):
    """Coordinates from -1 to 1 in the order (column, row), through the learned map."""
    row, column = (
        2 * at / (length - 1) - 1 if length > 1 else -1.0 for at, length in zip(pixel, grid, strict=True)
    )
    return layer.coordinates.linear(torch.tensor([column, row], dtype=torch.float64))


def _summed(layer, pixels, beta, weights):
    """Channel c of a footprint's sum takes the weights of group c mod g."""
    outputs = []
    for (image, _, positions), weight in zip(_footprints(layer, pixels), weights, strict=True):
        output = torch.zeros(beta.shape[-1], dtype=beta.dtype)
        for at, groups in zip(positions, weight, strict=True):
            if at is not None:
                output = output + groups.repeat(beta.shape[-1] // len(groups)) * beta[image, *at]
        outputs.append(output)
    queries = layer.footprint.query_grid(*pixels.shape[1:3])
    shape = (len(pixels), *queries)
    return torch.stack(outputs).unflatten(0, shape), weights.unflatten(0, shape).permute(0, 4, 1, 2, 3)
