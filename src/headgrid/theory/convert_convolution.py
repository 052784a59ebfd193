"""A convolution as attention: `convert_convolution(conv)` is called like ``conv`` and gives what it gives.

Theorem 1 speaks of the pixels whose kernel lies inside of the map. The rest of a convolution is added around it:
the map is padded as the convolution pads it, only the pixels of its stride attend, and those that stand at the
border of the padding do not.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils import parametrize

from headgrid.attention import MultiheadAttention, QueryPixels
from headgrid.theory.theorem_1 import planar, theorem_1

PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


def convert_convolution(convolution: nn.Module, sharpness: float | None = None) -> "ConvertedConvolution":
    """A module whose multi-head attention computes the convolution.

    Every kernel element becomes a quadratic head: its centre is the element's shift, its matrix W^(h) the element's
    filters. With the default ``sharpness`` (`exact_sharpness`) the result agrees to a few roundings, but the
    weights are so sharp that no gradient reaches the centres; a smaller one gives a layer that resembles the
    convolution and whose centres can be trained.
    """
    checked = checked_convolution(convolution)
    return ConvertedConvolution(checked, theorem_1(checked, sharpness=sharpness))


def checked_convolution(module: nn.Module) -> nn.Conv1d | nn.Conv2d:
    """The module itself, or an error that says why it cannot be converted."""
    reason = why_not_convertible(module)
    if reason is not None:
        raise ValueError(f"cannot convert {type(module).__name__} into attention: {reason}")
    assert isinstance(module, nn.Conv1d | nn.Conv2d)
    return module


def why_not_convertible(module: nn.Module) -> str | None:
    """What keeps a module from being converted, in a few words; None if nothing does."""
    if isinstance(module, LazyModuleMixin):
        return "it has no weights before its first call: run the model once"
    if isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d):
        return "Theorem 1 has no transposed convolutions: their stride multiplies the pixels"
    if not isinstance(module, nn.Conv1d | nn.Conv2d):
        return "only nn.Conv1d and nn.Conv2d have a counterpart among the heads on sequences and images"
    if parametrize.is_parametrized(module):
        return "its weight is computed by a parametrization: remove that first (torch.nn.utils.parametrize)"
    kind = nn.Conv1d if isinstance(module, nn.Conv1d) else nn.Conv2d
    if type(module).forward is not kind.forward or type(module)._conv_forward is not kind._conv_forward:
        return f"{type(module).__name__} has a forward of its own"
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    if any(hooks):
        return "it has hooks, which the attention would not run"
    if not module.weight.dtype.is_floating_point:
        return f"its weights are {module.weight.dtype}, and attention weights are real numbers"
    return None


class ConvertedConvolution(nn.Module):
    """Images (b c h w or c h w) or sequences (b c l or c l) in and out, as the convolution has them.

    ``attention`` is the layer that does the work. Its maps are those of the *padded* input, as `weights` gives
    them.
    """

    def __init__(self, convolution: nn.Conv1d | nn.Conv2d, attention: MultiheadAttention) -> None:
        super().__init__()
        self.in_channels, self.out_channels = convolution.in_channels, convolution.out_channels
        self.kernel_size, self.stride = convolution.kernel_size, convolution.stride
        self.padding, self.padding_mode = convolution.padding, convolution.padding_mode
        self.dilation, self.groups = convolution.dilation, convolution.groups
        self.num_axes = len(convolution.kernel_size)
        self.attention = attention

    def forward(self, images: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        channels_axis = images.dim() - self.num_axes - 1
        if channels_axis not in (0, 1) or images.shape[channels_axis] != self.in_channels:
            axes = ("length",) if self.num_axes == 1 else ("height", "width")
            raise ValueError(
                f"the converted convolution takes ({', '.join(('batch', str(self.in_channels), *axes))}) or the "
                f"same without batch, got {tuple(images.shape)}"
            )
        batch = images if channels_axis == 1 else images[None]
        planes = batch if self.num_axes == 2 else batch[:, :, None]
        queries = self.queries(*planes.shape[2:])
        pixels = self._pad(planes).permute(0, 2, 3, 1).contiguous()
        output = self.attention(pixels, queries=queries).values.permute(0, 3, 1, 2).contiguous()
        output = output if self.num_axes == 2 else output[:, :, 0]
        return output if channels_axis == 1 else output[0]

    def weights(self, *size: int) -> Float[Tensor, "n h w y x"]:
        """The attention maps for an input of the given height and width, or of the given length.

        Queries (h, w) are the output's pixels, keys (y, x) the padded input's; a sequence is a grid of one row.
        """
        if len(size) != self.num_axes:
            raise ValueError(f"an input of this layer has {self.num_axes} spatial sizes, got {size}")
        height, width = planar(size, 1)
        (top, bottom), (left, right) = self.padding_sides()
        return self.attention.weights(height + top + bottom, width + left + right, self.queries(height, width))

    def padding_sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Pixels that are added (above, below), (left, right)."""
        if self.padding == "same":
            # Where the number is odd the additional pixel stands below and to the right.
            reach = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size, strict=True)]
            sides = [(far // 2, far - far // 2) for far in reach]
        elif self.padding == "valid":
            sides = [(0, 0)] * self.num_axes
        else:
            sides = [(int(number), int(number)) for number in self.padding]
        rows, columns = sides if self.num_axes == 2 else ((0, 0), *sides)
        return rows, columns

    def queries(self, height: int, width: int) -> QueryPixels:
        """The pixels of the padded map that attend: one for each output pixel, where the kernel's centre lies."""
        selections = []
        sizes, steps, strides = planar(self.kernel_size, 1), planar(self.dilation, 1), planar(self.stride, 1)
        for axis, (length, sides) in enumerate(zip((height, width), self.padding_sides(), strict=True)):
            reach = steps[axis] * (sizes[axis] - 1)
            num_positions = length + sum(sides) - reach
            if num_positions < 1:
                raise ValueError(
                    f"the kernel reaches over {reach + 1} pixels and the padded input has only "
                    f"{length + sum(sides)} along its {('height', 'width')[axis]}"
                )
            first = steps[axis] * ((sizes[axis] - 1) // 2)
            selections.append(slice(first, first + num_positions, strides[axis]))
        rows, columns = selections
        return rows, columns

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding!r} ({self.padding_mode}), dilation={self.dilation}, groups={self.groups}"
        )

    def _pad(self, planes: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c padded_h padded_w"]:
        (top, bottom), (left, right) = self.padding_sides()
        if self.num_axes == 1 and self.padding_mode != "zeros":
            # A sequence stays one: torch would ask how to reflect its single row.
            return F.pad(planes[:, :, 0], (left, right), mode=PADDING_MODES[self.padding_mode])[:, :, None]
        if top == bottom == left == right == 0:
            return planes
        return F.pad(planes, (left, right, top, bottom), mode=PADDING_MODES[self.padding_mode])
