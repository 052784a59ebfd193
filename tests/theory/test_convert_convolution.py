"""A converted convolution against torch's own: any kernel, stride, dilation, padding, groups, size and dtype."""

import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from headgrid.attention import MultiheadAttention
from headgrid.scores.position import QuadraticScore
from headgrid.theory import convert_convolution

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
"""PyTorch says so of its own convolution."""

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


@st.composite
def convolutions(draw, dtypes=(torch.float64, torch.float32)):
    """A convolution with random filters, and an input that it accepts."""
    num_axes = draw(st.sampled_from([1, 2, 2, 2]))
    per_axis = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(num_axes))  # noqa: E731
    kernel_size, dilation = per_axis(1, 5), per_axis(1, 3)
    reach = [step * (size - 1) for step, size in zip(dilation, kernel_size, strict=True)]
    mode = draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"]))
    padding = draw(st.sampled_from(["numbers", "numbers", "same", "valid"]))
    stride = (1,) * num_axes if padding == "same" else per_axis(1, 3)
    sides = per_axis(0, 4) if padding == "numbers" else reach if padding == "same" else (0,) * num_axes
    # Reflection and wrapping need more pixels than they add; the kernel has to fit.
    size = [
        max(draw(st.integers(1, 9)), far + 1 - (2 * side if padding == "numbers" else 0), side + 1)
        for far, side in zip(reach, sides, strict=True)
    ]
    groups = draw(st.integers(1, 3))
    inputs, outputs = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**31))
    torch.manual_seed(seed)
    conv = (nn.Conv1d if num_axes == 1 else nn.Conv2d)(
        inputs,
        outputs,
        kernel_size,  # type: ignore[arg-type]
        stride=stride,  # type: ignore[arg-type]
        padding=sides if padding == "numbers" else padding,  # type: ignore[arg-type]
        dilation=dilation,  # type: ignore[arg-type]
        groups=groups,
        bias=draw(st.booleans()),
        padding_mode=mode,
    ).to(draw(st.sampled_from(dtypes)))
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    images = torch.randn(*batch, inputs, *size) * 10.0 ** draw(st.integers(-3, 3))
    return conv, images.to(conv.weight.dtype)


def _scale(conv, images):
    """The size of the terms that are summed: what rounding is relative to, whatever cancels in the sum."""
    with torch.no_grad():
        bias = None if conv.bias is None else conv.bias.abs()
        return float(conv._conv_forward(images.abs(), conv.weight.abs(), bias).abs().max())


def _check_values_and_gradients(conv, images):
    converted = convert_convolution(conv)
    tolerance = TOLERANCE[conv.weight.dtype]
    first, second = images.clone().requires_grad_(), images.clone().requires_grad_()
    expected, output = conv(first), converted(second)
    assert output.shape == expected.shape
    assert output.dtype == expected.dtype
    assert output.is_contiguous()
    assert (output - expected).abs().max() <= tolerance * _scale(conv, images)

    direction = torch.randn_like(expected)
    parameters = [conv.weight] if conv.bias is None else [conv.weight, conv.bias]
    mixing = converted.attention.mixing
    mixed = [mixing.weight] if conv.bias is None else [mixing.weight, mixing.bias]
    old = torch.autograd.grad(expected, [first, *parameters], direction)
    new = torch.autograd.grad(output, [second, *mixed], direction)
    filters = new[1].unflatten(1, (-1, conv.weight.shape[1])).transpose(1, 2).view_as(conv.weight)
    for was, now in zip(old, (new[0], filters, *new[2:]), strict=True):
        assert (was - now).abs().max() <= 10 * tolerance * was.abs().max().clamp(min=1e-6 * images.abs().max())


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(convolutions())
def test_any_convolution(case):
    _check_values_and_gradients(*case)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(convolutions())
def test_thousands_of_convolutions(case):
    _check_values_and_gradients(*case)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(convolutions(dtypes=(torch.bfloat16, torch.float16)))
def test_half_precision(case):
    conv, images = case
    images = images / images.abs().max().clamp(min=1e-3)
    output = convert_convolution(conv)(images)
    assert output.dtype == images.dtype
    assert (output - conv(images)).abs().max() <= TOLERANCE[images.dtype] * _scale(conv, images)


def test_is_attention_with_maps_and_not_a_convolution():
    torch.manual_seed(0)
    conv = nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2))
    converted = convert_convolution(conv)
    assert isinstance(converted.attention, MultiheadAttention)
    assert [type(term) for term in converted.attention.score.terms] == [QuadraticScore]
    assert not any(isinstance(module, nn.Conv1d | nn.Conv2d) for module in converted.modules())
    weights = converted.weights(7, 9).detach()
    height, width = conv(torch.zeros(1, 4, 7, 9)).shape[2:]
    assert weights.shape == (6, height, width, 7 + 2, 9 + 4)
    torch.testing.assert_close(weights.sum(dim=(-2, -1)), torch.ones(6, height, width))
    for head, (row, column) in enumerate([(i, j) for i in range(3) for j in range(2)]):
        for h in range(height):
            for w in range(width):
                assert weights[head, h, w, 2 * h + row, w + 2 * column] == pytest.approx(1, abs=1e-6)


def test_maps_of_a_sequence():
    weights = convert_convolution(nn.Conv1d(2, 3, 3, stride=2, padding=1)).weights(8)
    assert weights.shape == (3, 1, 4, 1, 10)
    assert torch.equal(weights[:, 0, :, 0].argmax(-1), torch.tensor([[0, 2, 4, 6], [1, 3, 5, 7], [2, 4, 6, 8]]))
    with pytest.raises(ValueError, match="has 1 spatial sizes"):
        convert_convolution(nn.Conv1d(2, 3, 3)).weights(4, 4)


def test_parameters_train_and_leave_the_convolution():
    torch.manual_seed(0)
    conv = nn.Conv2d(3, 4, 3, padding=1)
    converted = convert_convolution(conv, sharpness=1.0)
    images, target = torch.randn(4, 3, 6, 7), torch.randn(4, 4, 6, 7)
    optimizer = torch.optim.SGD(converted.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        loss = (converted(images) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None for parameter in converted.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    score = converted.attention.score.terms[0]
    assert (score.centers - score.centers.detach().round()).abs().max() > 1e-4


def test_grouped_layers_store_only_their_blocks():
    conv = nn.Conv2d(32, 32, 3, groups=32, bias=False)
    converted = convert_convolution(conv)
    assert converted.attention.mixing.weight.numel() == conv.weight.numel()


def test_frozen_and_eval_state_carry_over():
    conv = nn.Conv2d(2, 2, 3).eval().requires_grad_(False)
    converted = convert_convolution(conv)
    assert not converted.attention.training
    assert not any(parameter.requires_grad for parameter in converted.parameters())


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.ConvTranspose2d(2, 2, 3), "ConvTranspose2d into attention: Theorem 1 has no transposed convolutions"),
        (nn.Conv3d(2, 2, 3), "Conv3d into attention: only nn.Conv1d and nn.Conv2d"),
        (nn.Linear(2, 2), "Linear into attention: only nn.Conv1d"),
        (nn.LazyConv2d(2, 3), "it has no weights before its first call"),
        (nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 2, 3)), "computed by a parametrization"),
        (nn.Conv2d(2, 2, 3, dtype=torch.complex64), "complex64"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(module, message):
    with pytest.raises(ValueError, match=message):
        convert_convolution(module)


def test_a_forward_of_its_own_and_hooks_are_refused():
    class Scaled(nn.Conv2d):
        def forward(self, input):
            return 2 * super().forward(input)

    with pytest.raises(ValueError, match="Scaled has a forward of its own"):
        convert_convolution(Scaled(2, 2, 3))
    hooked = nn.Conv2d(2, 2, 3)
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    with pytest.raises(ValueError, match="it has hooks"):
        convert_convolution(hooked)


def test_bad_inputs_get_one_sentence():
    converted = convert_convolution(nn.Conv2d(3, 4, 5, padding=1))
    with pytest.raises(
        ValueError, match=r"takes \(batch, 3, height, width\) or the same without batch, got \(2, 4, 9, 9\)"
    ):
        converted(torch.zeros(2, 4, 9, 9))
    with pytest.raises(
        ValueError, match="the kernel reaches over 5 pixels and the padded input has only 4 along its height"
    ):
        converted(torch.zeros(2, 3, 2, 9))


def test_where_a_convolution_reads_zeros_nothing_leaks():
    """Every output pixel of this layer reads padding; its neighbours must not show, however faintly."""
    conv = nn.Conv2d(3, 4, 1, stride=9, padding=1, bias=False)
    images = 1e6 * torch.randn(1, 3, 8, 8)
    assert conv(images).abs().max() == 0
    assert convert_convolution(conv)(images).abs().max() == 0


def test_a_bright_pixel_does_not_leak():
    """A pixel 1e6 times brighter stays where the kernel reads it."""
    conv = nn.Conv2d(1, 1, 3, padding=1).double()
    images = torch.rand(1, 1, 12, 12, dtype=torch.float64)
    images[0, 0, 2, 2] = 1e6
    difference = (convert_convolution(conv)(images) - conv(images)).abs()
    assert difference[0, 0, 6:, 6:].max() < 1e-14


def test_a_large_map_stays_within_two_gigabytes():
    """A 3 x 3 convolution on 224 x 224 pixels, in a process of its own that may not have more memory."""
    program = """
import resource, torch
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
torch.set_num_threads(1)
from headgrid.theory.convert_convolution import convert_convolution
conv = torch.nn.Conv2d(64, 64, 3, padding=1)
images = torch.randn(1, 64, 224, 224)
with torch.no_grad():
    output, expected = convert_convolution(conv)(images), conv(images)
assert (output - expected).abs().max() <= 1e-5 * expected.abs().max()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2 * 2**20
