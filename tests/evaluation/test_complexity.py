"""Costs against formulas worked out by hand, on images that are not square."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from headgrid.attention import DropoutPerImage, MultiheadAttentionConfig, ProjectedValues
from headgrid.evaluation.complexity import model_cost, unused_parameters
from headgrid.models import FullyAttentionalConfig, ResNetConfig
from headgrid.scores import ContentConfig, GeneralizedQuadraticConfig, QuadraticConfig, QueryPositionConfig
from headgrid.stacks import PaperBlockConfig, ReportBlockConfig

IMAGE_SIZE = (12, 20)
HEIGHT, WIDTH = 6, 10
PIXELS = HEIGHT * WIDTH
DIM, LAYERS, HEADS, HIDDEN, CLASSES, CHANNELS = 8, 2, 4, 12, 7, 2


def config(scores: tuple, **attention) -> FullyAttentionalConfig:
    return FullyAttentionalConfig(
        dim=DIM,
        num_layers=LAYERS,
        attention=MultiheadAttentionConfig(
            num_heads=HEADS, scores=scores, dropout=DropoutPerImage(0.1), **attention
        ),
        block=PaperBlockConfig(hidden_dim=HIDDEN),
        image_size=IMAGE_SIZE,
        num_channels=CHANNELS,
        num_classes=CLASSES,
    )


EMBEDDING = PIXELS * 4 * CHANNELS * DIM
MIXING = PIXELS * HEADS * DIM * DIM
PROJECTION = PIXELS * DIM * DIM
FEED_FORWARD = 2 * PIXELS * DIM * HIDDEN
CLASSIFIER = DIM * CLASSES
LINEAR = EMBEDDING + LAYERS * (MIXING + PROJECTION + FEED_FORWARD) + CLASSIFIER
PROJECTED = PIXELS * DIM * HEADS * DIM
"""The query, the key or the value projection of all heads."""
APPLIED = LAYERS * HEADS * PIXELS * PIXELS * DIM
"""Explicit maps applied to values; also the dot products of all queries and keys."""
POSITIONS = LAYERS * HEADS * PIXELS * (HEIGHT + WIDTH) * (DIM // 2)
"""Half of every query meets every row's embedding, the other half every column's."""


def test_separable_scores_cost_nothing_but_their_maps_and_run_without_these():
    cost = model_cost(config((QuadraticConfig(),)).build(), IMAGE_SIZE, CHANNELS)
    assert (cost.linear_macs, cost.attention_macs, cost.macs) == (LINEAR, APPLIED, LINEAR + APPLIED)
    assert cost.executed_macs == LINEAR + LAYERS * HEADS * PIXELS * (HEIGHT + WIDTH) * DIM


def test_shared_scores_run_as_they_are_published():
    cost = model_cost(config((GeneralizedQuadraticConfig(),)).build(), IMAGE_SIZE, CHANNELS)
    assert (cost.linear_macs, cost.attention_macs) == (LINEAR, APPLIED)
    assert cost.executed_macs == cost.macs


def test_content_counts_projections_as_linear_and_dot_products_as_attention():
    cost = model_cost(config((QueryPositionConfig(), ContentConfig())).build(), IMAGE_SIZE, CHANNELS)
    assert cost.linear_macs == LINEAR + LAYERS * 2 * PROJECTED
    assert cost.attention_macs == 2 * APPLIED + POSITIONS


def test_the_reports_block_and_projected_values():
    reports = replace(
        config((QueryPositionConfig(), ContentConfig()), values=ProjectedValues(), query_key_bias=False),
        block=ReportBlockConfig(hidden_dim=HIDDEN),
    )
    cost = model_cost(reports.build(), IMAGE_SIZE, CHANNELS)
    assert cost.linear_macs == LINEAR + LAYERS * (3 * PROJECTED - PROJECTION)
    assert cost.attention_macs == 2 * APPLIED + POSITIONS


@pytest.mark.parametrize("scores", [(QuadraticConfig(),), (QueryPositionConfig(), ContentConfig())])
def test_the_fused_kernel_of_the_cpu_is_counted_as_its_parts_are(scores: tuple):
    model = config(scores).build()
    with torch.device("meta"):  # here scaled dot-product attention falls into two matrix products
        twin = config(scores).build()
    assert model_cost(model, IMAGE_SIZE, CHANNELS) == model_cost(twin, IMAGE_SIZE, CHANNELS)


def test_content_executes_at_least_its_dot_products_and_maps():
    cost = model_cost(config((ContentConfig(),)).build(), IMAGE_SIZE, CHANNELS)
    assert cost.executed_macs >= cost.linear_macs + 2 * APPLIED


def test_convolutions():
    model = ResNetConfig(blocks_per_stage=(1, 2), width=4, num_channels=CHANNELS, num_classes=CLASSES).build()
    by_hand = 0

    def count(module: nn.Conv2d, inputs: tuple, output: torch.Tensor) -> None:
        nonlocal by_hand
        by_hand += output[0].numel() * module.in_channels * module.kernel_size[0] * module.kernel_size[1]

    handles = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, nn.Conv2d)]
    model.eval()(torch.zeros(1, CHANNELS, *IMAGE_SIZE))
    for handle in handles:
        handle.remove()
    cost = model_cost(model, IMAGE_SIZE, CHANNELS)
    assert cost.linear_macs == cost.macs == cost.executed_macs == by_hand + 8 * CLASSES
    assert cost.attention_macs == 0


class Wasteful(nn.Module):
    """Applies one layer twice, and another never."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(3, 3, bias=False)
        self.never = nn.Linear(5, 7)
        self.frozen = nn.Linear(3, 2, bias=False).requires_grad_(False)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pooled = self.norm(images).mean(dim=(2, 3))
        return self.frozen(self.shared(self.shared(pooled)))


def test_parameters_that_nothing_reaches_are_found_and_layers_count_as_often_as_they_run():
    model = Wasteful()
    cost = model_cost(model, IMAGE_SIZE)
    assert set(unused_parameters(model, torch.zeros(1, 3, *IMAGE_SIZE))) == {"never.weight", "never.bias"}
    assert cost.num_unused_parameters == 5 * 7 + 7
    assert cost.num_parameters == 9 + 42 + 6 + 6
    assert cost.linear_macs == cost.macs == 2 * 9 + 6


def test_counting_leaves_no_trace():
    model = Wasteful().train()
    model.frozen.eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model_cost(model, IMAGE_SIZE)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert [module.training for module in (model, model.shared, model.frozen)] == [True, True, False]
    assert not model.frozen.weight.requires_grad
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
