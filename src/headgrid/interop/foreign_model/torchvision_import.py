"""torchvision beside any torch: its import fails where its compiled operators were built for another one."""

import re
import sys
from importlib.util import find_spec
from typing import Any

import torch

OPERATORS = ("nms", "qnms")
"""Those that torchvision describes when it is imported, whether or not it could load them."""

_MISSING = re.compile(rf"operator torchvision::({'|'.join(OPERATORS)}) does not exist")

_DECLARED: list[torch.library.Library] = []
"""A declaration holds as long as its library lives."""


def import_torchvision() -> Any:
    """The package torchvision. Its classifiers need none of these operators, only their declaration."""
    if find_spec("torchvision") is None:
        raise ValueError("this model needs torchvision: pip install 'headgrid[timm]'")
    try:
        import torchvision  # pyright: ignore[reportMissingImports]
    except RuntimeError as error:
        if not _MISSING.search(str(error)):
            raise
        _declare()
        import torchvision  # pyright: ignore[reportMissingImports]
    import torchvision.models  # pyright: ignore[reportMissingImports]

    return torchvision


def _declare() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in OPERATORS:
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _DECLARED.append(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what is left of the failed import
