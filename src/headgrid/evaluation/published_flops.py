"""The FLOPs that the SAN paper prints, under its own convention.

It counts multiply-adds of convolutions and linear layers once; an addition for each bias of a convolution; two
operations per element of a batch norm; one per element of a ReLU; the inputs of poolings; the numbers that a
relation computes; and K^2 per aggregated number. Softmax, gathering a footprint and the last layer's bias are free.
For multiply-adds alone, see `headgrid.evaluation.complexity`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headgrid.attention import PairwiseAttention, PatchConcatenation, PatchwiseAttention, RelativePosition
from headgrid.layers import NormalizedLinear
from headgrid.models import SAN, ResNet
from headgrid.models.resnet import ConvolutionNorm
from headgrid.models.san import SANStage
from headgrid.stacks import SANBlock


def published_flops(model: SAN | ResNet, image_size: tuple[int, int] = (224, 224)) -> int:
    """FLOPs for one image of a network that the paper compares."""
    return san_flops(model, image_size) if isinstance(model, SAN) else resnet_flops(model, image_size)


def san_flops(model: SAN, image_size: tuple[int, int] = (224, 224)) -> int:
    """FLOPs of a SAN for one image."""
    height, width = image_size
    total = _convolution(model.stem, height * width) + _norm_relu(model.config.stem_channels, height * width)
    channels = model.config.stem_channels
    for pooling, stage in zip(model.config.poolings, model.stages, strict=True):
        assert isinstance(stage, SANStage)
        if pooling > 1:
            total += channels * height * width
        height, width = height // pooling, width // pooling
        pixels, channels = height * width, stage.transition.out_features
        total += _convolution(stage.transition, pixels) + _norm_relu(channels, pixels)
        total += sum(_block(block, pixels) for block in stage.stack.blocks if isinstance(block, SANBlock))
    return total + channels * height * width + channels * model.config.num_classes


def resnet_flops(model: ResNet, image_size: tuple[int, int] = (224, 224)) -> int:
    """FLOPs of a residual network for one image; every norm but a shortcut's belongs to one ReLU."""
    counted: list[int] = []

    def count_norm(module: nn.Module, inputs: Any, output: Tensor) -> None:
        counted.append((2 if module in shortcuts else 3) * output.numel())

    def count_convolution(module: nn.Module, inputs: Any, output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        counted.append(module.weight[0].numel() * output.numel())

    def count_pooling(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        counted.append(inputs[0].numel())

    def count_stages(module: nn.Module, inputs: Any, output: Tensor) -> None:
        counted.append(output.numel())  # the mean over all pixels

    shortcuts = {module for name, module in model.named_modules() if name.endswith("shortcut")}
    hooks = {ConvolutionNorm: count_norm, nn.Conv2d: count_convolution, nn.MaxPool2d: count_pooling}
    handles = [model.stages.register_forward_hook(count_stages)]
    handles += [
        module.register_forward_hook(hooks[type(module)]) for module in model.modules() if type(module) in hooks
    ]
    was_training = model.training
    try:
        image = torch.zeros(1, model.config.num_channels, *image_size, device=next(model.parameters()).device)
        with torch.no_grad():
            model.eval()(image)
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    return sum(counted) + model.classifier.weight.numel()


def _block(block: SANBlock, pixels: int) -> int:
    norms = block.input_norm.num_features + block.attention_norm.num_features
    return _norm_relu(norms, pixels) + _attention(block.attention, pixels) + _convolution(block.widen, pixels)


def _attention(attention: PairwiseAttention | PatchwiseAttention, pixels: int) -> int:
    total = sum(
        _convolution(layer, pixels) for layer in (attention.phi, attention.psi, attention.beta) if layer is not None
    )
    num_positions = attention.footprint.num_positions
    relation = attention.gamma.first.linear.in_features
    if isinstance(attention, PairwiseAttention):
        rows = pixels * num_positions
        computed = relation
        if attention.coordinates is not None:
            total += _convolution(attention.coordinates.linear, pixels)
            computed -= 0 if isinstance(attention.position, RelativePosition) else 2
    else:
        rows = pixels
        computed = 0 if isinstance(attention.relation, PatchConcatenation) else relation
    total += computed * rows
    for layer in attention.gamma.layers:
        assert isinstance(layer, NormalizedLinear)
        total += _norm_relu(layer.linear.in_features, rows) + _convolution(layer.linear, rows)
    values = attention.phi if attention.beta is None else attention.beta
    return total + values.out_features * num_positions * pixels


def _convolution(layer: nn.Linear, pixels: int) -> int:
    """What stands as a 1 x 1 convolution in the official code."""
    return pixels * (layer.weight.numel() + (0 if layer.bias is None else layer.out_features))


def _norm_relu(channels: int, pixels: int) -> int:
    return 3 * channels * pixels
