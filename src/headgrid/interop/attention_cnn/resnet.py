"""The original's residual networks, with the stem for small images, as our `ResNet`.

They agree on the images that the original was made for, 32 x 32 pixels. It pools the last map in windows of 4 x 4
and fails, or overlooks the border, where that map has another size; ours takes the mean of the whole map.
"""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from headgrid.interop.foreign_weights import carry_over, shape_of, without_storage
from headgrid.models import BasicBlockConfig, BottleneckConfig, ResNet, ResNetConfig

RESNETS = {
    "resnet10": ResNetConfig((1, 1, 1, 1), block=BasicBlockConfig()),
    "resnet18": ResNetConfig((2, 2, 2, 2), block=BasicBlockConfig()),
    "resnet34": ResNetConfig((3, 4, 6, 3), block=BasicBlockConfig()),
    "resnet50": ResNetConfig((3, 4, 6, 3), block=BottleneckConfig()),
    "resnet101": ResNetConfig((3, 4, 23, 3), block=BottleneckConfig()),
    "resnet152": ResNetConfig((3, 8, 36, 3), block=BottleneckConfig()),
}
"""The original's names, and what they stand for."""

ORDER = {"first": 1, "second": 2, "narrow": 1, "spatial": 2, "widen": 3}
"""Which of its block's convolutions each of ours is."""


def translate_resnet(entries: Mapping[str, Tensor], name: str) -> ResNet:
    """Our model with the weights of the original's network ``name``, in eval mode."""
    num_classes, _ = shape_of(entries, "linear.weight", "classes", "channels")
    model = without_storage(replace(RESNETS[name], num_classes=num_classes).build)
    return carry_over(model, entries, {ours: _original_name(ours) for ours in model.state_dict()})


def _original_name(ours: str) -> str:
    match ours.split("."):
        case ["classifier", entry]:
            return f"linear.{entry}"
        case ["stem", _, part, entry]:
            return f"{_kind(part)}1.{entry}"
        case ["stages", stage, block, "shortcut", part, entry]:
            position = ("convolution", "norm").index(part)
            return f"layer{int(stage) + 1}.{block}.shortcut.{position}.{entry}"
        case ["stages", stage, block, convolution, part, entry]:
            return f"layer{int(stage) + 1}.{block}.{_kind(part)}{ORDER[convolution]}.{entry}"
    raise AssertionError(f"no name for {ours}")


def _kind(part: str) -> str:
    return {"convolution": "conv", "norm": "bn"}[part]
