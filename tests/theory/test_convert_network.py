"""Whole networks: what is converted, what is not and why, and that the outputs stay."""

import json
import sys

import pytest
import torch
from torch import nn

from headgrid.models import ResNetConfig
from headgrid.theory import ConvertedConvolution, convert_network


class Torchvision(nn.Module):
    """The layers and habits of torchvision's networks: a large strided stem, a bottleneck, depth-wise blocks."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU6(), nn.Conv2d(8, 12, 1))
        self.downsample = nn.Conv2d(8, 12, 1, stride=2)
        self.conv2 = nn.Conv2d(12, 12, 3, stride=2, padding=1)
        self.fc = nn.Linear(12, 5)

    def forward(self, images):
        x = self.maxpool(self.bn1(self.conv1(images)).relu())
        x = self.conv2(self.depthwise(x)) + self.downsample(x)
        return self.fc(torch.flatten(x.mean(dim=(2, 3)), 1).view(len(images), -1))


def _randomized(model):
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model


def test_converts_every_convolution_of_a_copy():
    model = _randomized(Torchvision()).eval()
    images = torch.randn(2, 3, 40, 36)
    expected = model(images)
    converted = convert_network(model, images)
    torch.testing.assert_close(converted.model(images), expected, rtol=0, atol=1e-5)
    assert not any(isinstance(module, nn.Conv2d) for module in converted.model.modules())
    assert isinstance(model.conv1, nn.Conv2d)
    report = converted.report
    assert [layer.names for layer in report.layers] == [
        ("conv1",),
        ("depthwise.0",),
        ("depthwise.2",),
        ("downsample",),
        ("conv2",),
    ]
    assert [layer.num_heads for layer in report.layers] == [49, 9, 1, 1, 9]
    assert report.kept == ()
    for layer in report.layers:
        assert layer.error <= 1e-5 * layer.scale
        assert layer.relative_error == layer.error / layer.scale
    first = report.layers[0]
    assert (first.num_parameters_before, first.num_parameters_after) == (8 * 3 * 49, 8 * 3 * 49 + 8 + 3 * 49)
    # Per output pixel of the 20 x 18 map: the kernel. Attention: 49 heads on 3 channels, then the same mixing.
    assert first.macs_before == 20 * 18 * 8 * 3 * 49
    along_columns_then_rows = 46 * 18 * 42 + 20 * 46 * 18
    along_rows_then_columns = 20 * 46 * 42 + 20 * 18 * 42
    applied = first.macs_after - first.macs_before
    assert applied in (49 * 3 * along_columns_then_rows, 49 * 3 * along_rows_then_columns)
    total = sum(parameter.numel() for parameter in model.parameters())
    added = sum(layer.num_parameters_after - layer.num_parameters_before for layer in report.layers)
    assert (report.num_parameters_before, report.num_parameters_after) == (total, total + added)
    verification = report.verification
    assert verification.num_images == 2
    assert verification.error == pytest.approx(
        float((converted.model(images) - expected).detach().abs().max()), abs=1e-7
    )
    assert verification.scale == pytest.approx(float(expected.detach().abs().max()))
    assert verification.seconds_after > 0
    assert len(report.table().rows) == 5
    assert "5 convolutions are attention now, 0 are not" in report.sentences()[0]


def test_in_place_and_without_images():
    model = Torchvision()
    converted = convert_network(model, in_place=True)
    assert converted.model is model
    assert isinstance(model.conv1, ConvertedConvolution)
    assert model.training
    assert model.conv1.attention.training
    assert converted.report.verification is None
    assert all(layer.error is None for layer in converted.report.layers)
    assert len(converted.report.table().rows) == 5


def test_modes_and_statistics_are_left_alone():
    model = _randomized(Torchvision()).train()
    model.bn1.eval()
    mean = model.bn1.running_mean.clone()
    converted = convert_network(model, torch.randn(2, 3, 40, 36)).model
    for network in (model, converted):
        assert network.training
        assert not network.bn1.training
        assert torch.equal(network.bn1.running_mean, mean)


def test_a_module_in_several_places_stays_shared():
    shared = nn.Conv2d(4, 4, 3, padding=1)
    model = nn.Sequential(shared, nn.ReLU(), nn.Sequential(shared), shared).double()
    images = torch.randn(2, 4, 6, 7, dtype=torch.float64)
    converted = convert_network(model, images)
    network = converted.model
    assert network[0] is network[2][0]
    assert network[0] is network[3]
    assert [layer.names for layer in converted.report.layers] == [("0", "2.0", "3")]
    torch.testing.assert_close(network(images), model(images))
    assert converted.report.layers[0].macs_before == 3 * 6 * 7 * 4 * 4 * 9


def test_what_is_not_converted_is_named_with_the_reason():
    class Own(nn.Conv2d):
        def forward(self, input):
            return super().forward(input.relu())

    tied, twin, hooked = nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 1)
    twin.weight = tied.weight
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    model = nn.Sequential(
        nn.ConvTranspose2d(2, 4, 3),
        Own(4, 4, 1),
        tied,
        twin,
        hooked,
        nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 1)),
        nn.Conv2d(4, 4, 1),
    )
    images = torch.randn(1, 2, 8, 8)
    converted = convert_network(model, images)
    reasons = {layer.names[0]: layer.reason for layer in converted.report.kept}
    assert set(reasons) == {"0", "1", "2", "3", "4", "5"}
    assert "transposed" in reasons["0"]
    assert "Own has a forward of its own" in reasons["1"]
    assert "another module uses the same parameter" in reasons["2"] == reasons["3"]
    assert "hooks" in reasons["4"]
    assert "parametrization" in reasons["5"]
    assert [layer.names for layer in converted.report.layers] == [("6",)]
    torch.testing.assert_close(converted.model(images), model(images))
    assert sum("kept: " in str(cell) for cell in converted.report.table().columns[-1].cells) == 6


def test_a_model_that_is_a_convolution():
    conv = nn.Conv1d(2, 3, 3)
    converted = convert_network(conv, torch.randn(2, 2, 9))
    assert isinstance(converted.model, ConvertedConvolution)
    assert converted.report.layers[0].names == ("",)


def test_outputs_may_be_nested():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 2, 3)

        def forward(self, images):
            return {"maps": (self.conv(images), images), "name": "two"}

    report = convert_network(Two(), torch.randn(1, 2, 5, 6)).report
    assert report.verification.error < 1e-5


@pytest.mark.parametrize("size", [(32, 32), (21, 27)])
def test_our_residual_network(size):
    torch.manual_seed(0)
    model = ResNetConfig(blocks_per_stage=(1, 1), width=8).build().eval()
    images = torch.randn(2, 3, *size)
    converted = convert_network(model, images)
    torch.testing.assert_close(converted.model(images), model(images), rtol=0, atol=1e-5)
    assert converted.report.kept == ()


def test_gradients_of_a_converted_network_agree():
    model = _randomized(Torchvision()).double().eval()
    converted = convert_network(model).model
    images = torch.randn(2, 3, 40, 36, dtype=torch.float64, requires_grad=True)
    direction = torch.randn(2, 5, dtype=torch.float64)
    old = torch.autograd.grad(model(images), [images, model.fc.weight], direction)
    new = torch.autograd.grad(converted(images), [images, converted.fc.weight], direction)
    torch.testing.assert_close(new, old, rtol=1e-10, atol=1e-12)


def test_the_reference_resnet_18_keeps_its_logits(reference_dir):
    from safetensors import safe_open

    from headgrid.interop.attention_cnn import translate_resnet18

    sys.path.insert(0, str(reference_dir))
    try:
        from fill import filled, filled_input
    finally:
        sys.path.remove(str(reference_dir))
    with safe_open(reference_dir / "attention_cnn_resnet18.safetensors", "pt") as file:
        case, logits = json.loads(file.metadata()["case"]), file.get_tensor("logits")
    state = {name: filled(name, shape, case["scales"]) for name, shape in case["state"].items()}
    images = filled_input(case["input_seed"], case["input_shape"])
    converted = convert_network(translate_resnet18(state).eval(), in_place=True)
    assert len(converted.report.layers) == 20
    assert not any(isinstance(module, nn.Conv2d) for module in converted.model.modules())
    with torch.no_grad():
        torch.testing.assert_close(converted.model(images), logits, rtol=0, atol=1e-5)
