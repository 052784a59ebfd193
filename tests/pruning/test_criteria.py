"""Each criterion against its definition, computed the slow way."""

import math
from itertools import permutations

import pytest
import torch
import torch.nn.functional as F

from headgrid.attention import MultiheadAttentionConfig
from headgrid.models import FullyAttentionalConfig
from headgrid.pruning import (
    Content,
    Degeneracy,
    Entropy,
    Gradient,
    Redundancy,
    gated_heads,
    head_importance,
    prunable_layers,
    prune,
)
from headgrid.pruning.redundancy import similarity_when_removed
from headgrid.scores import GeneralizedQuadraticConfig

from .models import CONFIGS, HIERARCHICAL, random_batches, random_images, random_model


def values_of(model, criterion, batches=None):
    """{(layer, head): value}"""
    batches = random_batches() if batches is None else batches
    return {(each.layer, each.head): each.value for each in criterion.judge(model, prunable_layers(model), batches)}


@pytest.mark.parametrize(
    "name", ["query-position + content", "gated", "vit", "grouped", "shared weights, kept key"]
)
def test_importance_is_the_mean_of_derivatives_by_gates(name):
    """Central differences, one image and one head at a time."""
    model = random_model((CONFIGS | HIERARCHICAL)[name])
    layers, (images, labels) = prunable_layers(model), (random_images(3), torch.tensor([0, 3, 1]))
    found = head_importance(model, layers, zip(images.split(2), labels.split(2), strict=True))
    step = 1e-5

    def loss(image, label, layer, head, gate):
        gates = {each.name: torch.ones(each.num_heads, dtype=torch.float64) for each in layers}
        gates[layer.name][head] = gate
        with torch.no_grad(), gated_heads(layers, gates):
            return float(F.cross_entropy(model(image[None]), label[None]))

    for layer in layers:
        for head in range(layer.num_heads):
            slopes = [
                (loss(*pair, layer, head, 1 + step) - loss(*pair, layer, head, 1 - step)) / (2 * step)
                for pair in zip(images, labels, strict=True)
            ]
            expected = sum(map(abs, slopes)) / 3
            assert float(found[layer.name][head]) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_importance_leaves_the_model_alone():
    model = random_model(CONFIGS["vit"]).train()
    found = head_importance(model, prunable_layers(model), random_batches())
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert all(of_heads.dtype == torch.float64 for of_heads in found.values())
    normalised = values_of(model, Gradient())
    for layer, of_heads in found.items():
        for head, value in enumerate(of_heads.tolist()):
            assert normalised[layer, head] == pytest.approx(value / math.sqrt(float(of_heads.square().sum())))


@pytest.mark.parametrize("name", ["query-position + content", "quadratic", "shared weights, own keys"])
def test_entropy_is_that_of_the_recorded_weights(name):
    model = random_model((CONFIGS | HIERARCHICAL)[name])
    found = values_of(model, Entropy())
    with torch.no_grad():
        _, record = model(random_images(6), record=True)
    for layer in prunable_layers(model):
        weights = [record[name].weights.flatten(4) for name in layer.names_of_passes]
        entropies = [-(each * each.clamp_min(1e-300).log()).sum(-1).mean((0, 2, 3)) for each in weights]
        for head, expected in enumerate(torch.stack(entropies).mean(0) / math.log(4 * 6)):
            assert found[layer.name, head] == pytest.approx(float(expected))


def test_content_is_variance_between_images():
    model = random_model(CONFIGS["query-position + content"])
    found = values_of(model, Content())
    with torch.no_grad():
        _, record = model(random_images(6), record=True)
    for layer in prunable_layers(model):
        weights = record[layer.name].weights
        expected = weights.var(0, correction=0).flatten(1).mean(1) / weights.square().mean(0).flatten(1).mean(1)
        for head, value in enumerate(expected.tolist()):
            assert found[layer.name, head] == pytest.approx(value, rel=1e-6)


def test_position_alone_has_no_content():
    with pytest.raises(ValueError, match="depends on positions alone, so that content cannot tell its heads apart"):
        prune(random_model(CONFIGS["learned"]), Content(), random_batches())
    with pytest.raises(ValueError, match="from two images on: one was given"):
        prune(random_model(CONFIGS["vit"]), Content(), random_batches(1))


def test_of_equal_heads_one_stays():
    model = random_model(CONFIGS["quadratic"])
    with torch.no_grad():
        for parameter in model.stack.blocks[1].attention.score.terms[0].parameters():
            parameter[2] = parameter[0]
            parameter[3] = parameter[0]
    pruning = prune(model, Redundancy(0.999), random_batches())
    assert [len(layer.removed) for layer in pruning.layers] == [0, 2, 0]
    assert 1 not in pruning.layers[1].removed
    gone = [each for each in pruning.judgements if each.is_removed]
    assert all(each.reason == "looks at what another head looks at: similarity 1.000" for each in gone)


@pytest.mark.parametrize("seed", range(20))
def test_going_one_after_the_other(seed):
    """Cut off at any threshold, what is left has no similar pair, and no head went without need."""
    generator = torch.Generator().manual_seed(seed)
    maps = torch.rand(6, 8, generator=generator, dtype=torch.float64)
    maps[3] = maps[1]
    similarity = F.cosine_similarity(maps[:, None], maps[None], dim=-1)
    values = similarity_when_removed(similarity)
    assert sum(value == -1 for value in values) == 1
    for threshold in (0.7, 0.8, 0.9, 0.999):
        left = [head for head, value in enumerate(values) if value < threshold]
        assert all(similarity[a, b] < threshold for a, b in permutations(left, 2))
        order = sorted(range(6), key=lambda head: -values[head])
        for number, head in enumerate(order[: 6 - len(left)]):
            others = [other for other in order[number:] if other != head]
            assert values[head] == max(float(similarity[a, b]) for a, b in permutations([head, *others], 2))


def test_degenerate_heads_go():
    model = random_model(CONFIGS["generalized"])
    with torch.no_grad():
        model.stack.blocks[0].attention.score.terms[0].spreads[2] = 1e-4
        model.stack.blocks[2].attention.score.terms[0].spreads[1] = torch.diag(torch.tensor([1.0, 1e-4]).double())
    pruning = prune(model, Degeneracy())
    assert [layer.removed for layer in pruning.layers] == [(2,), (), (1,)]
    assert [layer.num_after for layer in pruning.layers] == [3, 4, 3]
    assert pruning.model.config.heads_per_layer == (3, 4, 3)
    assert "looks everywhere" in next(each for each in pruning.judgements if each.is_removed).reason
    with pytest.raises(ValueError, match="judge its heads by entropy, content, gradient or redundancy"):
        prune(random_model(CONFIGS["vit"]), Degeneracy())
    with pytest.raises(ValueError, match=r"no head goes by degeneracy \(the nearest is a factor of 1.9e\+27 away"):
        prune(random_model(CONFIGS["generalized"]), Degeneracy(0.0, 1e30))


def test_the_nearest_to_degenerate_go_first():
    """Two would still be far from it; which of the two thresholds is nearer counts, by its factor."""
    model = random_model(CONFIGS["generalized"])
    with torch.no_grad():
        for block in model.stack.blocks:
            block.attention.score.terms[0].spreads[:] = torch.eye(2).double()
        model.stack.blocks[2].attention.score.terms[0].spreads[1] = torch.diag(torch.tensor([1.0, 0.02]).double())
        model.stack.blocks[0].attention.score.terms[0].spreads[3] *= 0.02
        model.stack.blocks[1].attention.score.terms[0].spreads[0] *= 0.5
    judged = {(each.layer[13], each.head): each for each in prune(model, Degeneracy(remove=2)).judgements}
    assert {key for key, each in judged.items() if each.is_removed} == {("0", 3), ("2", 1)}
    assert judged["0", 3].value == pytest.approx(0.02**2 / 1e-5)
    assert judged["2", 1].value == pytest.approx(1e5 / 50**2)
    assert judged["1", 0].value == pytest.approx(0.25 / 1e-5)
    assert judged["1", 1].value == pytest.approx(1 / 1e-5)
    assert judged["2", 1].reason == "is among the nearest to degenerate: eigenvalues 1 and 0.0004"
    three = {(each.layer[13], each.head) for each in prune(model, Degeneracy(keep=9)).judgements if each.is_removed}
    assert three == {("0", 3), ("2", 1), ("1", 0)}
    assert prune(model, Degeneracy(condition_number=1e3)).layers[2].removed == (1,)


def test_the_paper_pruned():
    """Appendix A.1: heads of the shape [2, 4, 1, 2, 6, 0] degenerate, a fifth of the parameters goes."""
    attention = MultiheadAttentionConfig(num_heads=9, scores=(GeneralizedQuadraticConfig(),))
    model = FullyAttentionalConfig(attention=attention).build()
    shape = (2, 4, 1, 2, 6, 0)
    with torch.no_grad():
        for block, number in zip(model.stack.blocks, shape, strict=True):
            block.attention.score.terms[0].spreads[:number] *= 1e-3
    pruning = prune(model, Degeneracy())
    assert tuple(len(layer.removed) for layer in pruning.layers) == shape
    assert sum(parameter.numel() for parameter in model.parameters()) == 12_087_006
    assert sum(parameter.numel() for parameter in pruning.model.parameters()) == 9_686_916


def test_passes_with_their_own_gaussians_must_all_be_degenerate():
    from headgrid.stacks import Hierarchical, OwnWeights

    from .models import attentional

    model = random_model(attentional(GeneralizedQuadraticConfig(), stack=Hierarchical(OwnWeights())))
    with torch.no_grad():
        for number, block in enumerate(model.stack.blocks):
            block.attention.score.terms[0].spreads[1] = 1e-6
            if number:
                block.attention.score.terms[0].spreads[3] = 1e-6
    assert prune(model, Degeneracy()).layers[0].removed == (1,)


def test_how_many_go():
    model = random_model(CONFIGS["query-position + content"])
    batches = random_batches()
    values = values_of(model, Gradient())
    weakest = sorted(values, key=values.__getitem__)

    def removed(criterion):
        pruning = prune(model, criterion, batches)
        return {(layer.name, head) for layer in pruning.layers for head in layer.removed}

    assert removed(Gradient(keep=7)) == set(weakest[:5])
    assert removed(Gradient(fraction=0.5)) == set(weakest[:6])
    assert removed(Gradient(fraction=0.3)) == set(weakest[:3])
    assert removed(Gradient(remove=4)) == set(weakest[:4])
    assert removed(Gradient(threshold=values[weakest[3]])) == set(weakest[:4])
    highest = values_of(model, Entropy())
    assert removed(Entropy(keep=11)) == {max(highest, key=highest.__getitem__)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 3, "fraction": 0.5}, "keep and fraction each say how many heads go: give one of them"),
        ({"keep": 3, "remove": 2}, "remove and keep each say"),
        ({"remove": 0}, "at least one head must go"),
        ({"keep": 0}, "at least one head must stay"),
        ({"fraction": 1.0}, "fraction must be above 0 and below 1"),
        ({"fraction": 0.0}, "fraction must be above 0 and below 1"),
    ],
)
def test_selections_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        Gradient(**options)


def test_mistakes():
    model = random_model(CONFIGS["vit"])
    with pytest.raises(ValueError, match="13 heads cannot stay: the model has 12"):
        prune(model, Entropy(keep=13), random_batches())
    with pytest.raises(ValueError, match="12 heads cannot go: the model has 12, and one at least must stay"):
        prune(model, Entropy(remove=12), random_batches())
    with pytest.raises(ValueError, match=r"no head goes by entropy \(the nearest to the threshold 1 has 0\.\d+\)"):
        prune(model, Entropy(1.0), random_batches())
    with pytest.raises(ValueError, match="judged by entropy on images: none are given"):
        prune(model, Entropy())
    for criterion in (Gradient(), Entropy()):
        with pytest.raises(ValueError, match="there are no images"):
            prune(model, criterion, [])


@pytest.mark.parametrize("criterion", [Entropy(keep=3), Content(keep=3), Gradient(keep=3), Redundancy(keep=3)])
def test_layers_that_have_lost_all_heads_are_passed_over(criterion):
    from headgrid.pruning import remove_heads

    model = remove_heads(random_model(CONFIGS["vit"]), {"stack.blocks.1.attention": range(4)})
    pruning = prune(model, criterion, random_batches())
    assert sum(pruning.model.config.heads_of_layers) == 3
    assert pruning.model.config.heads_of_layers[1] == 0
    assert {each.layer for each in pruning.judgements} == {"stack.blocks.0.attention", "stack.blocks.2.attention"}
