"""Attention straight from the equations, in plain Python numbers: a loop over every image, head, query and key.

Each term of a score is written once more from the paper, for one pair of pixels, with delta = key - query.
"""

import math
from itertools import product

import torch
from torch import Tensor, nn

from headgrid.attention import MultiheadAttention
from headgrid.encodings import LearnedRelative, SinusoidalAbsolute
from headgrid.scores.content import AbsoluteContentScore, ContentScore
from headgrid.scores.learned_position import LearnedPositionScore
from headgrid.scores.position import GeneralizedQuadraticScore, QuadraticScore
from headgrid.scores.query_position import QueryPositionScore
from headgrid.scores.transformer_xl import TransformerXLScore

Pixel = tuple[int, int]
Vector = list[float]


def attention_in_loops(layer: MultiheadAttention, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """The output (equations 4, 6 and 11) and the weights of a layer."""
    batch, height, width, _ = pixels.shape
    places = list(product(range(height), range(width)))
    mixing, bias = layer.mixing.weight.tolist(), layer.mixing.bias.tolist()
    outputs, weights = [], []
    for image in pixels.tolist():
        heads = []
        for head in range(layer.num_heads):
            queries, keys, values = _project(layer, image, places, head)
            term_scores = [_score_of(term, head, layer.head_dim) for term in layer.score.terms]
            for query in places:
                exponentials = []
                for key in places:
                    delta = (key[0] - query[0], key[1] - query[1])
                    score = sum(term(delta, queries.get(query), keys.get(key)) for term in term_scores)
                    exponentials.append(math.exp(score))
                probabilities = [exponential / sum(exponentials) for exponential in exponentials]
                weights.append(probabilities)
                heads.append(
                    [
                        sum(p * values[key][channel] for p, key in zip(probabilities, places, strict=True))
                        for channel in range(layer.head_dim)
                    ]
                )
        for query in range(len(places)):
            side_by_side = [
                number for head in range(layer.num_heads) for number in heads[head * len(places) + query]
            ]
            outputs.append([dot(row, side_by_side) + b for row, b in zip(mixing, bias, strict=True)])
    return (
        torch.tensor(outputs, dtype=torch.float64).view(batch, height, width, -1),
        torch.tensor(weights, dtype=torch.float64).view(batch, layer.num_heads, height, width, height, width),
    )


def dot(first: Vector, second: Vector) -> float:
    return math.fsum(x * y for x, y in zip(first, second, strict=True))


def _project(layer: MultiheadAttention, image: list, places: list[Pixel], head: int) -> tuple[dict, dict, dict]:
    """Query, key and value of every pixel, for one head; equation 7 adds positions to the first two."""
    content = {place: image[place[0]][place[1]] for place in places}
    encoded = {
        place: [x + p for x, p in zip(content[place], _position(layer, place, len(content[place])), strict=True)]
        for place in places
    }
    queries, keys = _apply(layer.query, encoded, head, layer), _apply(layer.key, encoded, head, layer)
    values = content if layer.value is None else _apply(layer.value, content, head, layer)
    return queries, keys, values


def _apply(linear: nn.Linear | None, vectors: dict[Pixel, Vector], head: int, layer: MultiheadAttention) -> dict:
    if linear is None:
        return {}
    rows = range(head * layer.head_dim, (head + 1) * layer.head_dim)
    weight = linear.weight.tolist()
    bias = [0.0] * len(weight) if linear.bias is None else linear.bias.tolist()
    return {place: [dot(weight[row], vector) + bias[row] for row in rows] for place, vector in vectors.items()}


def _position(layer: MultiheadAttention, place: Pixel, size: int) -> Vector:
    """P of equation 7."""
    for term in layer.score.terms:
        if isinstance(term, AbsoluteContentScore):
            if isinstance(term.encoding, SinusoidalAbsolute):
                return sinusoids(place[0], size // 2) + sinusoids(place[1], size // 2)
            return term.encoding.table[place].tolist()
    return [0.0] * size


def _score_of(term: nn.Module, head: int, dim: int):
    """The term's score as a function of (delta, query, key)."""
    if isinstance(term, QuadraticScore):  # equation 15 with alpha = spread^2 / 2
        (row, column), spread = term.centers[head].tolist(), term.spreads[head].item()
        return lambda delta, q, k: -(spread**2) / 2 * ((delta[0] - row) ** 2 + (delta[1] - column) ** 2)
    if isinstance(term, GeneralizedQuadraticScore):  # equation 16
        (row, column), ((a, b), (c, d)) = term.centers[head].tolist(), term.spreads[head].tolist()
        inverse = ((a * a + b * b, a * c + b * d), (a * c + b * d, c * c + d * d))  # S S^T

        def generalized(delta, q, k):
            distance = (delta[0] - row, delta[1] - column)
            return -0.5 * sum(distance[i] * inverse[i][j] * distance[j] for i, j in product(range(2), repeat=2))

        return generalized
    if isinstance(term, LearnedPositionScore):  # section 4.3
        vector = term.row_vectors.weight[head].tolist() + term.column_vectors.weight[head].tolist()
        biases = [
            axis.bias[head].item() for axis in (term.row_vectors, term.column_vectors) if axis.bias is not None
        ]
        encoding = _learned(term.encoding)
        return lambda delta, q, k: dot(vector, encoding(delta)) + sum(biases)
    if isinstance(term, QueryPositionScore):
        encoding = _learned(term.encoding)
        return lambda delta, q, k: dot(q, encoding(delta)) / math.sqrt(dim)
    if isinstance(term, TransformerXLScore):  # equation 8
        position_key = term.position_key.weight[head * dim : (head + 1) * dim].tolist()
        u, v = term.u[head].tolist(), term.v[head].tolist()
        if isinstance(term.encoding, LearnedRelative):
            encoding = _learned(term.encoding)
        else:
            half = term.encoding.size // 2
            encoding = lambda delta: sinusoids(delta[0], half) + sinusoids(delta[1], half)  # noqa: E731

        def relative(delta, q, k):
            r = encoding(delta)
            position = [dot(row, r) for row in position_key]
            return (dot(q, k) + dot(q, position) + dot(u, k) + dot(v, position)) / math.sqrt(dim)

        return relative
    assert isinstance(term, ContentScore)  # equation 2
    return lambda delta, q, k: dot(q, k) / math.sqrt(dim)


def _learned(encoding: LearnedRelative):
    """r_delta: an entry of each table, whose middle is shift zero."""
    rows, columns = encoding.row_table.tolist(), encoding.column_table.tolist()
    return lambda delta: rows[len(rows) // 2 + delta[0]] + columns[len(columns) // 2 + delta[1]]


def sinusoids(position: int, size: int) -> Vector:
    angles = [position / 10_000 ** (2 * pair / size) for pair in range(size // 2)]
    return [f(angle) for angle in angles for f in (math.sin, math.cos)]
