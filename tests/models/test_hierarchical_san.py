"""HA-SAN against its formulas, in both forms, and what the published form leaves idle."""

import copy

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.evaluation.complexity import unused_parameters
from headgrid.models import AsPublished, Corrected, HierarchicalSANConfig
from headgrid.ops import Footprint
from headgrid.stacks import Hierarchical, KeptKey, OfAllPasses, OfEachPass, SharedWeights

KINDS = pytest.mark.parametrize("attention", [PairwiseAttentionConfig, PatchwiseAttentionConfig])
FORMS = pytest.mark.parametrize("form", [AsPublished(), Corrected()], ids=["as published", "corrected"])
DIM, PASSES, SIZE = 32, 3, (5, 7)


def _config(attention, form, **options):
    attention = attention(footprint=Footprint(3), bias=False)
    sizes = {"channels": DIM, "num_passes": PASSES, "image_size": SIZE, **options}
    statistics = OfAllPasses() if isinstance(form, AsPublished) else OfEachPass()
    stack = Hierarchical(SharedWeights(statistics), KeptKey())
    return HierarchicalSANConfig(attention=attention, form=form, stack=stack, **sizes)


def _model(attention, form):
    torch.manual_seed(0)
    model = _config(attention, form).build().double()
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if ("norm" in name or "statistics" in name) and tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return model


def _use_statistics(model, bottleneck, place, number):
    """Copies those of a later pass into the norms of the bottleneck, which the network itself never does."""
    if number and len(model.stack.statistics[place]):
        for name, buffer in bottleneck.named_buffers():
            buffer.copy_(model.stack.statistics[place][number - 1].get_buffer(name.replace(".", "__")))


@KINDS
@FORMS
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
def test_equals_the_formulas(attention, form, training):
    """Channels first, as the report has it; of ours only the attention itself, which has tests of its own."""
    model = _model(attention, form).train(training)
    images = torch.randn(2, 3, *SIZE, dtype=torch.float64)
    actual = copy.deepcopy(model)(images)

    def normalized(maps, norm):
        if training:
            mean, variance = maps.mean((0, 2, 3)), maps.var((0, 2, 3), unbiased=False)
        else:
            mean, variance = norm.running_mean, norm.running_var
        maps = (maps - mean[:, None, None]) / (variance + norm.eps).sqrt()[:, None, None]
        return (maps * norm.weight[:, None, None] + norm.bias[:, None, None]).relu()

    def convolved(maps, linear):
        return F.conv2d(maps, linear.weight[:, :, None, None], linear.bias)

    maps, key = normalized(convolved(images, model.stem), model.stem_norm), None
    for number in range(PASSES):
        maps = convolved(maps, model.transitions[number])
        for place, bottleneck in enumerate(model.stack.shared):
            _use_statistics(model, bottleneck, place, number)
            seen = maps if isinstance(form, AsPublished) else normalized(maps, bottleneck.input_norm)
            attended = bottleneck.attention(seen.movedim(1, -1), key, record=True)
            key = attended.key if key is None else key
            inner = normalized(attended.values.movedim(-1, 1), bottleneck.attention_norm)
            maps = maps + convolved(inner, bottleneck.widen)
        maps = normalized(maps, model.norms[number])
    expected = model.classifier.linear(maps.mean((2, 3)))
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-11)


@KINDS
def test_what_the_published_form_leaves_idle(attention):
    with torch.device("meta"):
        idle = unused_parameters(_config(attention, AsPublished()).build(), torch.zeros(1, 3, *SIZE))
        assert not unused_parameters(_config(attention, Corrected()).build(), torch.zeros(1, 3, *SIZE))
    norms = {f"stack.shared.{block}.input_norm.{part}" for block in (0, 1) for part in ("weight", "bias")}
    assert set(idle) == norms | {"stack.shared.1.attention.psi.weight"}


@pytest.mark.parametrize(
    ("attention", "form", "num_parameters"),
    [
        (PairwiseAttentionConfig, AsPublished(), 352_750),
        (PairwiseAttentionConfig, Corrected(), 348_654),
        (PatchwiseAttentionConfig, AsPublished(), 356_282),
        (PatchwiseAttentionConfig, Corrected(), 352_186),
    ],
)
def test_the_network_of_the_report(attention, form, num_parameters):
    with torch.device("meta"):
        model = _config(attention, form, channels=256, num_passes=4, image_size=(32, 32)).build()
        idle = unused_parameters(model, torch.zeros(1, 3, 32, 32))
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters
    assert sum(parameter.numel() for parameter in idle.values()) == (5_120 if form == AsPublished() else 0)


def test_sizes_that_are_none():
    with pytest.raises(ValueError, match="num_passes must be at least 1, got 0"):
        HierarchicalSANConfig(num_passes=0)
