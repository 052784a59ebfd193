import subprocess
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import (
    CliqueProduct,
    Concatenation,
    DotProduct,
    HadamardProduct,
    NoPosition,
    PairwiseAttentionConfig,
    PatchwiseAttentionConfig,
    StarProduct,
)
from headgrid.evaluation.complexity import model_cost, unused_parameters
from headgrid.models import SAN, SANConfig, report_san
from headgrid.ops import Footprint
from headgrid.stacks import SANBlockConfig

PAIRWISE, PATCHWISE = PairwiseAttentionConfig(sharing=2), PatchwiseAttentionConfig(sharing=2)
ATTENTIONS = {
    "pairwise": PAIRWISE,
    "patchwise": PATCHWISE,
    "pairwise-hadamard": replace(PAIRWISE, relation=HadamardProduct(), position=NoPosition()),
    "pairwise-dot": replace(PAIRWISE, relation=DotProduct()),
    "pairwise-concatenation": replace(PAIRWISE, relation=Concatenation()),
    "patchwise-star": replace(PATCHWISE, relation=StarProduct()),
    "patchwise-clique": replace(PATCHWISE, relation=CliqueProduct()),
}


def _config(attention=PAIRWISE) -> SANConfig:
    return SANConfig(
        attention,
        blocks_per_stage=(1, 2),
        channels=(8, 16),
        footprints=(3, 5),
        poolings=(2, 2),
        stem_channels=6,
        block=SANBlockConfig(4, 2),
        image_size=(20, 28),
        num_classes=5,
    )


def _model(attention=PAIRWISE, training=False) -> SAN:
    torch.manual_seed(0)
    model = _config(attention).build().double().train(training)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if "norm" in name and tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return model


def _images(height=20, width=28) -> torch.Tensor:
    return torch.randn(2, 3, height, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("attention", "num_parameters"),
    [(PairwiseAttentionConfig(), 3_737_056), (PatchwiseAttentionConfig(), 3_851_142)],
)
def test_the_network_of_the_report(attention, num_parameters):
    with torch.device("meta"):
        model = report_san(attention).build()
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters
    assert model.config.grids == ((16, 16), (8, 8), (4, 4), (2, 2))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS.keys())
def test_the_fast_path_computes_what_the_recorded_one_does(attention, training):
    results = []
    for record in (False, True):
        model, images = _model(attention, training), _images().requires_grad_()
        logits = model(images, record=True)[0] if record else model(images)
        gradients = torch.autograd.grad(
            F.cross_entropy(logits, torch.tensor([1, 3])), [images, *model.parameters()]
        )
        results.append((logits, gradients, model.state_dict()))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("attention", [PAIRWISE, PATCHWISE])
def test_what_a_layer_records_stands_under_the_name_of_its_module(attention):
    model = _model(attention)
    logits, outputs = model(_images(), record=True)
    assert logits.shape == (2, 5)
    assert list(outputs) == [
        "stages.0.stack.blocks.0.attention",
        "stages.1.stack.blocks.0.attention",
        "stages.1.stack.blocks.1.attention",
    ]
    for name, output in outputs.items():
        layer, stage = model.get_submodule(name), int(name.split(".")[1])
        (height, width), side = model.config.grids[stage], model.config.footprints[stage]
        assert output.weights.shape == (2, layer.num_groups, height, width, side**2)
        assert output.key.shape[:3] == (2, height, width)
        assert output.footprint == Footprint(side)
        if attention is PAIRWISE:
            torch.testing.assert_close(output.weights.sum(-1), torch.ones_like(output.weights[..., 0]))


@pytest.mark.parametrize("attention", [PAIRWISE, PATCHWISE])
@pytest.mark.parametrize("size", [(32, 32), (33, 50), (224, 96)])
def test_san10_takes_images_of_any_size(attention, size):
    """Down to one pixel in the last stage, where a footprint of 7 x 7 mirrors it 48 times."""
    config = SANConfig(
        attention, channels=(8, 16, 16, 16, 16), stem_channels=4, block=SANBlockConfig(4, 2), num_classes=3
    )
    model = config.build().eval()
    assert model(torch.randn(1, 3, *size)).isfinite().all()


def test_images_that_are_pooled_away_are_refused():
    with pytest.raises(ValueError, match="a map of 1 x 14 pixels cannot be pooled in cells of 2 x 2"):
        _model()(_images(3, 28))


@pytest.mark.parametrize("attention", [PAIRWISE, PATCHWISE])
def test_evaluation_is_a_pure_function_of_the_images(attention):
    model, images = _model(attention), _images()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        together = model(images)
        alone = torch.cat([model(image[None]) for image in images])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(model.state_dict(), before)


def test_weights_travel_as_a_state_dict():
    model, other = _model(), _config().build().double().eval()
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other(_images()), model(_images()))


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS.keys())
def test_no_parameter_is_unused(attention):
    assert unused_parameters(_model(attention), _images()) == {}


@pytest.mark.parametrize("attention", [PAIRWISE, PATCHWISE])
def test_costs_are_counted_on_both_paths(attention):
    with torch.device("meta"):
        model = SANConfig(replace(attention, sharing=8)).build()
    cost = model_cost(model, (224, 224))
    published = {PAIRWISE: 2.044e9, PATCHWISE: 1.791e9}[attention]
    assert cost.macs == pytest.approx(published, rel=1e-3)
    assert cost.executed_macs == pytest.approx(cost.macs, rel=0.02)


def test_blocks_work_on_a_key_that_they_are_given():
    block = SANBlockConfig(4, 2).build(PAIRWISE, 8, own_key=False).double()
    pixels = torch.randn(2, 5, 7, 8, dtype=torch.float64)
    with pytest.raises(ValueError, match="without a key of its own"):
        block(pixels)
    output, attended = block(pixels, torch.randn(2, 5, 7, 2, dtype=torch.float64))
    assert output.shape == pixels.shape
    assert attended.values.shape == (2, 5, 7, 4)


def test_bfloat16_trains():
    model = _model(training=True).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(_images().float()), torch.tensor([1, 3]))
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("attention", [PairwiseAttentionConfig(), PatchwiseAttentionConfig()])
def test_training_never_stores_what_it_can_compute_again(attention, monkeypatch):
    """Of K^2 copies, only alpha and what enters gamma's second layer are kept."""
    monkeypatch.setattr("headgrid.ops.tiles.CACHED_ELEMENTS", 2**14)  # small maps, small tiles
    layer, pixels = attention.build(128, 8, 32), torch.randn(2, 20, 24, 128, requires_grad=True)
    peaks = []
    for record in (False, True):
        with torch.profiler.profile(profile_memory=True) as profile:
            layer(pixels, record=record).values.sum().backward()
        allocations = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
        held = largest = 0
        for event in sorted(allocations, key=lambda event: event.start_ns()):
            held += event.nbytes()
            largest = max(largest, held)
        peaks.append(largest)
    assert 0 < peaks[0] < peaks[1] / 3


@pytest.mark.slow
def test_san10_trains_on_images_of_imagenet_within_eight_gigabytes():
    program = """
import resource, torch
from headgrid.models import SANConfig
model = SANConfig().build()
loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 3, 224, 224)), torch.arange(16))
loss.backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 8 * 2**20  # kilobytes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Pairwise", "Patchwise"])
def test_it_compiles_without_a_break(kind):
    """In a process of its own, for the shape checks of the tests and the compiler do not go together.

    Graphs are captured and differentiated for real; C++ for what stands between our operators is not generated.
    """
    program = f"""
import torch
from headgrid.attention import {kind}AttentionConfig
from headgrid.models import SANConfig
from headgrid.stacks import SANBlockConfig
torch.manual_seed(0)
attention = {kind}AttentionConfig(sharing=2)
model = SANConfig(attention, (1, 1), (8, 16), (3, 5), (2, 2), 6, SANBlockConfig(4, 2), num_classes=5).build()
images = torch.randn(2, 3, 20, 28)
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
for mode in (True, False):
    model.train(mode)
    results = []
    for function in (model, compiled):
        model.zero_grad()
        logits = function(images)
        logits.square().sum().backward()
        results.append([logits.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for plain, fused in zip(*results):
        scale = max(1e-3, plain.abs().max().item())
        assert (plain - fused).abs().max() < 1e-3 * scale, (plain - fused).abs().max() / scale
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"footprints": (3,)}, "same number of entries for each stage, at least one, got blocks_per_stage 2"),
        ({"channels": (8, 0)}, "every entry of channels must be at least 1"),
        ({"block": SANBlockConfig(3, 2)}, "a block of 8 channels cannot have a relation_reduction of 3"),
        ({"attention": replace(PAIRWISE, footprint=Footprint(stride=2))}, "its stride must be 1, got 2"),
    ],
)
def test_a_network_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(_config(), **wrong).build()
