"""The records of our own models, against what their layers hand back and against footprints, pixel by pixel."""

import copy
import math
import weakref

import pytest
import torch
from torch import nn

from contracts.small_models import SMALL_MODELS
from footprint_loops import keys_of, queries_of, random_footprint
from headgrid.analysis.record_attention import record_attention, record_batches
from headgrid.analysis.recorded_layer import layer_of_output
from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.models import FullyAttentionalConfig, ResNetConfig
from headgrid.theory import convert_convolution, convert_network

IMAGES = torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(0))
RECORDABLE = [name for name, small in SMALL_MODELS.items() if not isinstance(small.config, ResNetConfig)]


def built(name: str) -> nn.Module:
    torch.manual_seed(0)
    small = SMALL_MODELS[name]
    return small.config.build()


@pytest.mark.parametrize("name", RECORDABLE)
@torch.no_grad()
def test_every_model_of_ours(name):
    model = built(name)
    logits, outputs = copy.deepcopy(model).eval()(IMAGES, record=True)
    record = record_attention(model, IMAGES)
    assert torch.equal(record.output, logits)
    assert list(record.layers) == list(outputs)
    assert record.image_size == (8, 12)
    assert record.left_out == {}
    assert all(module.training for module in model.modules())
    for layer in record:
        output = outputs[layer.name]
        height, width = layer.placement.queries
        assert layer.weights.shape == (2, layer.num_heads, height, width, *layer.grid)
        assert not layer.weights.requires_grad
        pixel_height, pixel_width = layer.placement.pixel_size
        assert (layer.grid[0] * pixel_height, layer.grid[1] * pixel_width) == (8, 12)
        sums = layer.weights.sum(dim=(-2, -1))
        if layer.tokens is not None:
            sums = sums + layer.tokens.from_pixels.sum(dim=-1)
            assert torch.equal(layer.matrix(), output.weights)
        elif hasattr(output, "dense"):
            assert torch.allclose(sums, output.weights.sum(dim=-1), atol=1e-5)
        else:
            assert torch.equal(layer.weights.flatten(), output.weights.flatten())
        if SMALL_MODELS[name].sums_to_one:
            assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def test_modes_are_restored_also_where_they_differ():
    model = built("quadratic")
    model.eval()
    model.stack.blocks[1].train()
    modes = [module.training for module in model.modules()]
    record_attention(model, IMAGES)
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize("kind", [PairwiseAttentionConfig, PatchwiseAttentionConfig])
@pytest.mark.parametrize("seed", range(6))
@torch.no_grad()
def test_footprints_lie_on_the_grid(kind, seed):
    """Strides, dilations, maps smaller than the footprint: mirrored keys add to the pixel that they mirror."""
    torch.manual_seed(seed)
    footprint, grid = random_footprint(seed)
    attention = kind(footprint=footprint, sharing=4).build(8, 4, 8).eval()
    output = attention(torch.randn(2, *grid, 8), record=True)
    image_size = (4 * grid[0], 2 * grid[1])
    layer = layer_of_output("layer", output, image_size)
    assert layer.placement.pixel_size == (4.0, 2.0)
    assert layer.weights.shape == (2, 2, *layer.placement.queries, *grid)
    expected = torch.zeros_like(layer.weights)
    for row, column in queries_of(footprint, grid):
        assert layer.placement.query_rows[row] == footprint.stride * row
        assert layer.placement.query_columns[column] == footprint.stride * column
        for position, key in enumerate(keys_of((row, column), footprint, grid)):
            if key is not None:
                expected[:, :, row, column, key[0], key[1]] += output.weights[:, :, row, column, position]
    assert torch.allclose(layer.weights, expected, atol=1e-6)


def test_a_converted_network():
    """Each head of each converted convolution sees one pixel, and the weights move pixels as the kernel does."""
    torch.manual_seed(0)
    network = convert_network(ResNetConfig(blocks_per_stage=(1, 1), width=4, image_size=(8, 12)).build()).model
    record = record_attention(network, IMAGES)
    assert len(record) == 6
    assert torch.equal(record.output, network.eval()(IMAGES))
    first = record["stem.0.convolution.attention"]
    assert first.same_for_all_images
    assert (first.grid, first.placement.padding, first.num_heads) == ((10, 14), (1, 1), 9)
    shifts = first.placement.shifts()
    for head in range(9):
        seen = first.weights[0, head] > 0.999
        assert (seen.sum(dim=(-2, -1)) == 1).all()
        assert (shifts[seen] == torch.tensor([head // 3 - 1, head % 3 - 1])).all()
    strided = next(layer for layer in record if layer.name == "stages.1.0.first.convolution.attention")
    assert strided.placement.query_rows == (1, 3, 5, 7)
    assert strided.placement.pixel_size == (1.0, 1.0)
    after = next(layer for layer in record if layer.name == "stages.1.0.second.convolution.attention")
    assert after.placement.pixel_size == (2.0, 2.0)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": (3, 5), "padding": (2, 1), "stride": (2, 1)},
        {"kernel_size": 2, "padding": "same", "dilation": 2},
        {"kernel_size": 3, "padding": 1, "padding_mode": "reflect"},
    ],
)
@torch.no_grad()
def test_a_converted_convolution_is_its_maps(options):
    """sum_h A^h X W^h, with the maps of the record on the padded image, is what the convolution computes."""
    torch.manual_seed(0)
    convolution = nn.Conv2d(3, 4, **options)
    converted = convert_convolution(convolution)
    layer = record_attention(nn.Sequential(converted), IMAGES)["0.attention"]
    (top, bottom), (left, right) = converted.padding_sides()
    mode = "reflect" if options.get("padding_mode") else "constant"
    padded = nn.functional.pad(IMAGES, (left, right, top, bottom), mode=mode)
    kernel = convolution.weight.flatten(2)
    expected = torch.einsum("bnhwyx,bcyx,ocn->bohw", layer.weights, padded, kernel)
    expected = expected + convolution.bias[:, None, None]
    assert torch.allclose(expected, convolution(IMAGES), atol=1e-5)
    assert layer.placement.keys == padded.shape[2:]
    assert layer.placement.padding == (top, left)


def test_sequences_are_no_maps():
    model = nn.Sequential(nn.Flatten(2), convert_convolution(nn.Conv1d(3, 4, 3)))
    with pytest.raises(ValueError, match=r"1\.attention: it runs on sequences"):
        record_attention(model, IMAGES)


def test_a_model_without_attention():
    with pytest.raises(ValueError, match="no attention of ResNet"):
        record_attention(ResNetConfig(blocks_per_stage=(1,), width=4).build(), IMAGES)


def test_maps_that_cannot_fit_are_left_out_with_the_reason():
    with torch.device("meta"):
        model = SMALL_MODELS["san pairwise"].config.build()
        images = torch.empty(2, 3, 600, 600)
    record = record_attention(model, images)
    assert list(record.layers) == ["stages.1.stack.blocks.0.attention"]
    assert "GiB" in record.left_out["stages.0.stack.blocks.0.attention"]


def test_batches_stream():
    """While a batch is recorded, no map of an earlier one is alive."""
    model = FullyAttentionalConfig(dim=8, num_layers=2, image_size=(8, 12)).build()
    alive: list[weakref.ref] = []
    at_start: list[int] = []

    def batches():
        for seed in range(4):
            at_start.append(sum(map_() is not None for map_ in alive))
            images = torch.randn(3, 3, 8, 12, generator=torch.Generator().manual_seed(seed))
            yield (images, torch.zeros(3)) if seed % 2 else images

    total, records = 0.0, record_batches(model, batches())
    while True:
        record = next(records, None)
        if record is None:
            break
        alive.extend(weakref.ref(layer.weights) for layer in record)
        total += sum(float(layer.weights.sum()) for layer in record)
        del record
    assert at_start == [0, 0, 0, 0]
    assert len(alive) == 8
    assert math.isclose(total, 4 * 2 * 3 * 9 * 24, rel_tol=1e-4)
