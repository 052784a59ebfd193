"""What is measured of each head and each layer: typed rows, ready for a table, JSON or CSV.

`measure_attention` makes them. All of them speak of weights between pixels: attention to class tokens is reported
apart (``token_share``), and the rest of each query's weights is made to sum to one.
"""

from dataclasses import dataclass

Pair = tuple[float, float]


@dataclass(frozen=True)
class HeadMeasures:
    """One head: where it looks, how widely, and how much like an element of a convolution kernel.

    Shifts are ``key - query`` as (rows, columns) in pixels of the layer's map.
    """

    layer: str
    """Name of the layer."""
    head: int
    """Number of the head in its layer."""
    num_images: int
    """Images that the measures are means over."""
    peak_shift: tuple[int, int]
    """The shift that gets the most attention: the head's best candidate for f(h) of Lemma 1."""
    peak_mass: float
    """Mean weight on that shift, over the queries whose shifted pixel exists. 1 exactly if Lemma 1's condition
    (equation 10) holds."""
    mean_shift: Pair
    """Mean of the distribution over shifts, the fitted centre. Borders pull it towards zero."""
    covariance: tuple[Pair, Pair]
    """Covariance of the distribution over shifts around that mean."""
    exact_center: Pair | None
    """The centre as a parameter of the model, for quadratic heads."""
    exact_inverse_covariance: tuple[Pair, Pair] | None
    """The inverse covariance as a parameter of the model, for quadratic heads; it may be singular."""
    spread: float
    """Root of the mean squared distance from the mean shift, in pixels of the map."""
    entropy: float
    """Mean entropy of a query's weights, in nats; ``exp(entropy)`` is the number of pixels it looks at."""
    mean_distance: float
    """Mean attention distance in pixels of the map (ConViT's non-locality)."""
    mean_distance_in_image: float
    """Mean attention distance in pixels of the image."""
    non_locality: float
    """Mean attention distance in relation to that of uniform attention: 0 looks at itself, 1 looks everywhere."""
    content_variance: float | None
    """Variance of the weights between images, at equal query and shift, as a share of their mean square: 0 for a
    head that does not look at the image, at most 1 - 1 / images. None from one image alone."""
    translation_invariance: float
    """1 if the mean map of a query depends on the shift alone, up to its sum where the border cuts it; less by the
    mean distance from that, in total variation, otherwise."""
    token_share: float
    """Share of a query pixel's attention that goes to class tokens and registers; 0 without such tokens."""
    negative_share: float = 0.0
    """Share of negative weights in the absolute ones, in patchwise attention, which has no softmax. All other
    measures are of absolute weights there, made to sum to one."""


@dataclass(frozen=True)
class KernelCover:
    """The best assignment of different heads to the shifts of a K x K kernel."""

    kernel_size: int
    """K."""
    heads: tuple[int, ...]
    """The head of each shift, in the kernel's row-major order."""
    shifts: tuple[tuple[int, int], ...]
    """The shifts (rows, columns)."""
    masses: tuple[float, ...]
    """How much of its attention each head puts on its shift; all 1 for a convolution."""

    @property
    def mean_mass(self) -> float:
        return sum(self.masses) / len(self.masses)


@dataclass(frozen=True)
class KernelShape:
    """The kernel of a layer that does what a convolution does: its heads have these shifts, one each."""

    size: tuple[int, int]
    """Rows and columns."""
    dilation: tuple[int, int]
    """Distance between neighbouring shifts, along rows and columns; 1 where there is only one."""
    middle: tuple[int, int]
    """The shift of the kernel's middle element (for even sizes, the one above and left of the middle)."""


@dataclass(frozen=True)
class LayerMeasures:
    """One layer: its heads, the kernel that they cover together, and how alike they are."""

    layer: str
    """Name of the layer."""
    grid: tuple[int, int]
    """Rows and columns of the key pixels."""
    pixel_size: Pair
    """Rows and columns of the image that one of them stands for."""
    heads: tuple[HeadMeasures, ...]
    """Its heads."""
    cover: KernelCover
    """The best assignment for the largest kernel that the layer has heads enough for."""
    covered_kernel_size: int
    """The largest K such that every shift of a K x K kernel has a head of its own with at least 1 - tolerance of
    its attention there; 0 if there is none."""
    convolution: KernelShape | None
    """The kernel, of any size and dilation, if *all* heads have a shift of their own with at least 1 - tolerance of
    their attention there, and the shifts are those of a kernel. None otherwise."""
    similarity: tuple[tuple[float, ...], ...]
    """Cosine between the maps of any two heads, over all images, queries and keys: 1 on the diagonal."""
    redundant: tuple[tuple[int, ...], ...]
    """Groups of heads that look at the same, by a similarity above the threshold."""
    sentence: str
    """The layer in words."""


@dataclass(frozen=True)
class AttentionMeasures:
    """All layers of a model, measured on a set of images."""

    num_images: int
    image_size: tuple[int, int]
    layers: tuple[LayerMeasures, ...]
    left_out: dict[str, str]
    """Layers that could not be measured, with the reason."""

    @property
    def heads(self) -> tuple[HeadMeasures, ...]:
        """The rows of the table: every head of every layer."""
        return tuple(head for layer in self.layers for head in layer.heads)
