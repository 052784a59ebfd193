"""What every head of a model looks at, as numbers and words: `measure_attention(model, batches)`.

Streams over the batches: statistics of a batch are taken and its maps let go before the next batch runs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headgrid.analysis.attention_record import AttentionRecord
from headgrid.analysis.centers import HeadCenters, centers_of_layer
from headgrid.analysis.content_dependence import content_variances
from headgrid.analysis.kernel_cover import best_cover, covered_kernel_size, largest_kernel
from headgrid.analysis.kernel_shape import kernel_shape
from headgrid.analysis.layer_statistics import LayerStatistics
from headgrid.analysis.locality import covariances, mean_distances, mean_shifts, non_localities, spreads
from headgrid.analysis.measures import AttentionMeasures, HeadMeasures, LayerMeasures, Pair
from headgrid.analysis.record_attention import record_batches
from headgrid.analysis.recording import in_words
from headgrid.analysis.redundancy import redundant_groups, similarities
from headgrid.analysis.sentences import sentence
from headgrid.analysis.shift_distribution import ShiftDistribution, shift_distribution
from headgrid.analysis.translation_invariance import translation_invariances

MOST_WEIGHTS = 2**27
"""A layer with more weights than these for one image is left out: the float64 mean of its maps would take a GiB."""


@dataclass(frozen=True)
class Thresholds:
    """Where "covers" and "the same" begin."""

    tolerance: float = 0.1
    """The share of its attention that a head may put elsewhere and still count for a shift of a kernel."""
    similarity: float = 0.9
    """The cosine above which two heads look at the same."""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"the tolerance is a share from 0 to below 1, got {self.tolerance:g}")
        if not 0 < self.similarity <= 1:
            raise ValueError(f"the similarity is a cosine above 0 and up to 1, got {self.similarity:g}")


def measure_attention(
    model: nn.Module,
    batches: Iterable[Tensor | tuple[Tensor, Any]],
    thresholds: Thresholds | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    grid: tuple[int, int] | None = None,
    num_tokens: int | None = None,
) -> AttentionMeasures:
    """Measures a model on batches of images, with or without labels.

    ``progress`` is called with the number of images after every batch. ``grid`` and ``num_tokens`` help where the
    tokens of a foreign model cannot be told from their number alone, as in `record_attention`.
    """

    def centers_of(layer: str) -> HeadCenters | None:
        module, _, _ = layer.partition(":")  # what follows counts the passes through a module
        try:
            return centers_of_layer(model.get_submodule(module))
        except AttributeError:  # attention that is a function, and no module
            return None

    records = record_batches(model, batches, grid=grid, num_tokens=num_tokens)
    return measure_records(records, centers_of, thresholds, progress)


def measure_records(
    records: Iterable[AttentionRecord],
    centers_of: Callable[[str], HeadCenters | None] = lambda layer: None,
    thresholds: Thresholds | None = None,
    progress: Callable[[int], None] | None = None,
) -> AttentionMeasures:
    """Measures records of the same model, one batch each; ``centers_of`` knows the exact centres of a layer."""
    thresholds = Thresholds() if thresholds is None else thresholds
    statistics: dict[str, LayerStatistics] = {}
    left_out: dict[str, str] = {}
    num_images, image_size = 0, None
    for record in records:
        if image_size not in (None, record.image_size):
            raise ValueError(
                f"images of one size can be measured together, got {image_size} and {record.image_size}"
            )
        image_size = record.image_size
        num_images_now = _add(statistics, left_out, record)
        del record  # so that its maps are gone before the next ones are made
        num_images += num_images_now
        if progress is not None:
            progress(num_images_now)
    if image_size is None or num_images == 0:
        raise ValueError("there are no images to measure on: expected at least one batch")
    measured = [of_layer for name, of_layer in statistics.items() if name not in left_out]
    if not measured:
        raise ValueError(f"no layer could be measured: {'; '.join(in_words(left_out))}")
    layers = tuple(_measure_layer(of_layer, centers_of(of_layer.name), thresholds) for of_layer in measured)
    return AttentionMeasures(num_images, image_size, layers, left_out)


def _add(statistics: dict[str, LayerStatistics], left_out: dict[str, str], record: AttentionRecord) -> int:
    """Takes in a batch; a layer that is left out of one batch is left out of all. Returns the number of images."""
    left_out.update(record.left_out)
    num_images = 0
    for layer in record:
        num_images = layer.num_images
        num_weights = layer.weights[0].numel()
        if num_weights > MOST_WEIGHTS:
            left_out[layer.name] = f"its map of one image has {num_weights:,} weights: measure it on smaller images"
        if layer.name in left_out:
            statistics.pop(layer.name, None)
            continue
        if layer.name not in statistics:
            statistics[layer.name] = LayerStatistics(layer)
        statistics[layer.name].add(layer)
    return num_images


def _measure_layer(
    statistics: LayerStatistics, centers: HeadCenters | None, thresholds: Thresholds
) -> LayerMeasures:
    distribution = shift_distribution(statistics.mean_map, statistics.placement)
    heads = _measure_heads(statistics, distribution, centers)
    cover = best_cover(distribution, largest_kernel(distribution))
    covered = covered_kernel_size(distribution, thresholds.tolerance)
    convolution = kernel_shape(heads, thresholds.tolerance)
    similarity = tuple(map(tuple, similarities(statistics.products).tolist()))
    redundant = redundant_groups(similarity, thresholds.similarity)
    return LayerMeasures(
        layer=statistics.name,
        grid=statistics.placement.keys,
        pixel_size=statistics.placement.pixel_size,
        heads=heads,
        cover=cover,
        covered_kernel_size=covered,
        convolution=convolution,
        similarity=similarity,
        redundant=redundant,
        sentence=sentence(heads, cover, covered, convolution, redundant, thresholds.tolerance),
    )


def _measure_heads(
    statistics: LayerStatistics, distribution: ShiftDistribution, centers: HeadCenters | None
) -> tuple[HeadMeasures, ...]:
    placement = statistics.placement
    content = content_variances(statistics)
    invariances = translation_invariances(statistics.mean_map, placement, distribution)
    means, covariance = mean_shifts(distribution), covariances(distribution)
    distances = mean_distances(distribution)
    distances_in_image = mean_distances(distribution, placement.pixel_size)
    relative_distances, root_mean_squares = non_localities(distribution), spreads(distribution)
    return tuple(
        HeadMeasures(
            layer=statistics.name,
            head=head,
            num_images=statistics.num_images,
            peak_shift=peak,
            peak_mass=float(distribution.mass(peak)[head]),
            mean_shift=_pair(means[head]),
            covariance=_matrix(covariance[head]),
            exact_center=None if centers is None else _pair(centers.centers[head]),
            exact_inverse_covariance=None if centers is None else _matrix(centers.inverse_covariances[head]),
            spread=float(root_mean_squares[head]),
            entropy=float(statistics.entropy[head]),
            mean_distance=float(distances[head]),
            mean_distance_in_image=float(distances_in_image[head]),
            non_locality=float(relative_distances[head]),
            content_variance=None if content is None else float(content[head]),
            translation_invariance=float(invariances[head]),
            token_share=float(statistics.token_share[head]),
            negative_share=float(statistics.negative_share[head]),
        )
        for head, peak in enumerate(distribution.peak_shifts())
    )


def _pair(numbers: Tensor) -> Pair:
    first, second = numbers.tolist()
    return first, second


def _matrix(numbers: Tensor) -> tuple[Pair, Pair]:
    return _pair(numbers[0]), _pair(numbers[1])
