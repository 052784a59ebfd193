"""A part of the training images is put aside for choosing models, each class in proportion."""

import torch
from jaxtyping import Int64
from torch import Tensor

from headgrid.data.random_stream import Purpose, random_stream


def validation_split(
    labels: Int64[Tensor, "i"], num_validation: int, seed: int
) -> tuple[Int64[Tensor, "t"], Int64[Tensor, "v"]]:
    """Indices of the training and of the validation images, both ascending, together all.

    Every class gives the share of its images that the whole set gives, rounded so that the sum is exact; at
    least one image of it stays.
    """
    counts = torch.bincount(labels).tolist()
    num_spare = len(labels) - sum(count > 0 for count in counts)
    if not 0 <= num_validation <= num_spare:
        raise ValueError(
            f"num_validation is {num_validation}, but of {len(labels)} training images at least 0 and at most "
            f"{num_spare} can be put aside so that every class keeps one"
        )
    order = torch.randperm(len(labels), generator=random_stream(seed, Purpose.SPLIT))
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    for label, quota in enumerate(_quotas(counts, num_validation)):
        chosen[order[labels[order] == label][:quota]] = True
    return (~chosen).nonzero().flatten(), chosen.nonzero().flatten()


def _quotas(counts: list[int], total: int) -> list[int]:
    """`total` shared in proportion to `counts`: whole parts first, then by the largest remainder."""
    num_images = sum(counts)
    quotas = [min(count * total // num_images, max(count - 1, 0)) for count in counts]
    for _ in range(total - sum(quotas)):
        open_classes = [label for label, count in enumerate(counts) if quotas[label] < count - 1]
        # Compared in whole numbers, so that no rounding of a platform decides.
        neediest = max(open_classes, key=lambda label: (counts[label] * total - quotas[label] * num_images, -label))
        quotas[neediest] += 1
    return quotas
