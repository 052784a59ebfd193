import pytest
import torch
import torch.nn.functional as F

from headgrid.ops import normalized_linear, row_moments

EPSILON = 1e-5


def _operands(num_rows=37, channels=5, outputs=3):
    torch.manual_seed(0)
    rows = 3 * torch.randn(num_rows, channels) + torch.randn(channels)
    shapes = (channels,), (channels,), (outputs, channels), (outputs,)
    parts = [rows, *(torch.randn(shape) for shape in shapes)]
    return [part.double().requires_grad_() for part in parts]


def _three_layers(rows, scale, shift, weight, bias, running=None):
    mean, variance = running or (None, None)
    normalized = F.batch_norm(rows, mean, variance, scale, shift, training=running is None, eps=EPSILON)
    return F.linear(F.relu(normalized), weight, bias)


@pytest.mark.parametrize("elements", [1, 20, 2**20])
@pytest.mark.parametrize("training", [True, False])
def test_agrees_with_the_three_layers(training, elements, monkeypatch):
    monkeypatch.setattr("headgrid.ops.tiles.CACHED_ELEMENTS", elements)
    operands = _operands()
    rows, scale, shift, weight, bias = operands
    running = None if training else (torch.randn(5).double(), torch.rand(5).double() + 0.1)
    mean, variance = row_moments(rows) if running is None else running
    fast = normalized_linear(rows, mean, variance, EPSILON, scale, shift, weight, bias, training)
    slow = _three_layers(*operands, running)
    torch.testing.assert_close(fast, slow)
    seen = torch.randn_like(slow)
    torch.testing.assert_close(
        torch.autograd.grad((fast * seen).sum(), operands), torch.autograd.grad((slow * seen).sum(), operands)
    )


def test_without_a_bias():
    rows, scale, shift, weight, _ = _operands()
    fast = normalized_linear(rows, *row_moments(rows), EPSILON, scale, shift, weight, None, True)
    torch.testing.assert_close(fast, _three_layers(rows, scale, shift, weight, None))


def test_moments_are_exact_far_from_zero(monkeypatch):
    monkeypatch.setattr("headgrid.ops.tiles.CACHED_ELEMENTS", 64)
    rows = torch.randn(1001, 4) * torch.tensor([1.0, 1e-2, 10, 1]) + torch.tensor([1e3, 10, -1e4, 0])
    mean, variance = row_moments(rows)
    torch.testing.assert_close(mean, rows.double().mean(0).float())
    torch.testing.assert_close(variance, rows.double().var(0, correction=0).float(), rtol=1e-4, atol=0)


def test_half_precision_products():
    rows, scale, shift, weight, bias = (operand.detach().float() for operand in _operands())
    exact = normalized_linear(rows, *row_moments(rows), EPSILON, scale, shift, weight, bias, True)
    half_rows, half_weight = rows.bfloat16().requires_grad_(), weight.bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        moments = row_moments(half_rows)
        half = normalized_linear(half_rows, *moments, EPSILON, scale, shift, half_weight, bias.bfloat16(), True)
        gradients = torch.autograd.grad(half.float().square().sum(), (half_rows, half_weight))
    assert moments[0].dtype == torch.float32
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=3e-2, atol=1e-1)
    assert all(gradient.dtype == torch.bfloat16 for gradient in gradients)


def test_it_is_a_proper_operator_of_torch():
    rows, scale, shift, weight, bias = _operands(7)
    mean, deviation = (part.detach() for part in (scale, shift.square()))
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    arguments = (rows, mean, deviation, scale, shift, weight, bias, False)
    torch.library.opcheck(torch.ops.headgrid.normalized_linear.default, arguments, test_utils=checks)
    torch.library.opcheck(torch.ops.headgrid.row_moments.default, (rows.detach(),), test_utils=checks)
