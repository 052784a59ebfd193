"""A layer in words: what its heads cover, how far they look, whether they look at the image, who repeats whom."""

from collections.abc import Sequence

from headgrid.analysis.measures import HeadMeasures, KernelCover, KernelShape

NO_CONTENT = 1e-6
"""Up to this content variance, which rounding may leave, a head is said not to look at the image."""

ALL = 0.9995
"""From this share on, which three digits would call 100 %, it is "all"."""


def sentence(
    heads: Sequence[HeadMeasures],
    cover: KernelCover,
    covered_kernel_size: int,
    convolution: KernelShape | None,
    redundant: Sequence[Sequence[int]],
    tolerance: float,
) -> str:
    """One sentence about a layer."""
    clauses = (
        _kernel(heads, cover, covered_kernel_size, convolution, tolerance),
        _reach(heads),
        _content(heads),
        _tokens(heads),
        _signs(heads),
        _redundancy(redundant),
    )
    text = "; ".join(clause for clause in clauses if clause)
    return f"{text[0].upper()}{text[1:]}."


def _kernel(
    heads: Sequence[HeadMeasures],
    cover: KernelCover,
    covered: int,
    convolution: KernelShape | None,
    tolerance: float,
) -> str:
    size = cover.kernel_size
    if convolution is not None and len(heads) > 1:
        least = min(head.peak_mass for head in heads)
        share = "all" if least > ALL else f"at least {percent(least)}"
        return f"like a {_shape(convolution)}: every shift has a head of its own, with {share} of its attention"
    if covered > 1:
        larger = ", but no larger one" if covered < size else ""
        return f"its heads cover a {covered} x {covered} kernel within {percent(tolerance)}{larger}"
    if size == 1:
        head = "its head puts" if len(heads) == 1 else f"head {cover.heads[0]} puts"
        return f"{head} {percent(cover.masses[0])} of its attention on the query itself"
    return (
        f"no {size} x {size} convolution: assigned to its shifts as well as possible, heads put "
        f"{percent(cover.mean_mass)} of their attention there"
    )


def _shape(kernel: KernelShape) -> str:
    rows, columns = kernel.dilation
    dilation = "" if kernel.dilation == (1, 1) else f" with dilation {rows}" + (f" x {columns}" * (rows != columns))
    place = "" if kernel.middle == (0, 0) else " around the shift {:+d} {:+d}".format(*kernel.middle)
    return f"{kernel.size[0]} x {kernel.size[1]} convolution{dilation}{place}"


def _reach(heads: Sequence[HeadMeasures]) -> str:
    distances = [head.mean_distance for head in heads]
    mean = f"{sum(distances) / len(distances):.1f} pixels of the map"
    if len(heads) == 1:
        return f"it looks {mean} far"
    nearest, farthest = distances.index(min(distances)), distances.index(max(distances))
    return (
        f"they look {mean} far, from {distances[nearest]:.1f} (head {nearest}) to {distances[farthest]:.1f} "
        f"(head {farthest})"
    )


def _content(heads: Sequence[HeadMeasures]) -> str:
    variances = [head.content_variance for head in heads if head.content_variance is not None]
    if not variances:
        return ""
    largest = max(variances)
    if largest <= NO_CONTENT:
        return "no head looks at the image" if len(heads) > 1 else "it does not look at the image"
    if len(heads) == 1:
        return f"it looks at the image: {percent(largest)} of its map is content"
    looking = sum(variance > NO_CONTENT for variance in variances)
    count = "all" if looking == len(heads) else f"{looking} of {len(heads)}"
    most = f"head {variances.index(largest)} most: {percent(largest)} of its map is content"
    return f"{count} heads look at the image, {most}"


def _tokens(heads: Sequence[HeadMeasures]) -> str:
    share = sum(head.token_share for head in heads) / len(heads)
    return f"pixels give {percent(share)} of their attention to class tokens and registers" if share > 0 else ""


def _signs(heads: Sequence[HeadMeasures]) -> str:
    share = sum(head.negative_share for head in heads) / len(heads)
    return f"{percent(share)} of the weights are negative, and absolute values were measured" if share > 0 else ""


def _redundancy(groups: Sequence[Sequence[int]]) -> str:
    if not groups:
        return ""
    names = [", ".join(map(str, group[:-1])) + f" and {group[-1]}" for group in groups]
    return f"heads {'; heads '.join(names)} look at the same"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"
