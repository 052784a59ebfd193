"""A model that knows nothing of headgrid is watched, and stays as it is."""

import copy

import pytest
import torch
import torch.nn.functional as F
from foreign_networks import GRID, IMAGES, WIDTH, Patches, seeded
from torch import nn

from headgrid.analysis import measure_attention, record_attention, record_batches
from headgrid.attention import MultiheadAttentionConfig
from headgrid.theory import convert_convolution


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        return F.scaled_dot_product_attention(self.query(tokens), tokens, tokens) + tokens


class Again(nn.Module):
    """One layer, used three times, as in hierarchical attention."""

    def __init__(self):
        super().__init__()
        self.block = Fused()

    def forward(self, tokens):
        for _ in range(3):
            tokens = self.block(tokens)
        return tokens


@torch.no_grad()
def test_a_layer_that_is_used_again_has_a_name_for_every_pass():
    model = seeded(lambda: Patches(Again()))
    record = record_attention(model, IMAGES)
    assert list(record.layers) == ["layer.block", "layer.block:1", "layer.block:2"]
    tokens, block = model.tokens(IMAGES), model.layer.block
    for layer in record:
        weights = torch.softmax(block.query(tokens) @ tokens.mT * WIDTH**-0.5, dim=-1)
        torch.testing.assert_close(layer.matrix()[:, 0], weights)
        tokens = block(tokens)


class Watchful(nn.Module):
    """Everything about it that a record might change."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.network = Patches(nn.Sequential(nn.Dropout(0.5), Again()), before=1)
        self.calls = []
        self.network.register_forward_hook(lambda *_: self.calls.append("hook"))
        self.register_forward_pre_hook(lambda *_: self.calls.append("before"))

    def forward(self, images):
        return self.network(self.norm(images))


def test_the_model_is_not_changed():
    model = seeded(Watchful)
    model.train()
    model.network.layer.eval()
    state = copy.deepcopy(model.state_dict())
    modes = [module.training for module in model.modules()]
    attributes = [set(vars(module)) for module in model.modules()]
    hooks = [
        len(hooks) for module in model.modules() for hooks in (module._forward_hooks, module._forward_pre_hooks)
    ]
    random = torch.random.get_rng_state()
    record_attention(model, IMAGES)
    assert model.calls == ["before", "hook"]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes
    assert [set(vars(module)) for module in model.modules()] == attributes
    assert hooks == [
        len(hooks) for module in model.modules() for hooks in (module._forward_hooks, module._forward_pre_hooks)
    ]
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())
    assert torch.equal(torch.random.get_rng_state(), random)


def test_the_output_is_that_of_the_model_in_eval_mode_bit_by_bit():
    model = seeded(Watchful)
    record = record_attention(model.train(), IMAGES)
    with torch.no_grad():
        assert torch.equal(record.output, model.eval()(IMAGES))


class Failing(nn.Module):
    def forward(self, tokens):
        raise RuntimeError("of its own")


def test_a_model_that_fails_is_not_changed_either():
    model = seeded(lambda: Patches(nn.Sequential(Fused(), Failing()))).train()
    with pytest.raises(RuntimeError, match="of its own"):
        record_attention(model, IMAGES)
    assert all(module.training for module in model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


class Convolutional(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2), nn.Softmax(-1))


def test_a_model_without_attention():
    with pytest.raises(ValueError, match="no attention of Convolutional can be recorded: it calls neither"):
        record_attention(Convolutional(), IMAGES)


class Kernel(nn.Module):
    """A kernel that hands its weights to nobody."""

    def forward(self, tokens):
        tokens = tokens[:, None]
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(tokens, tokens, tokens)[0][:, 0]


def test_a_kernel_that_hides_its_weights():
    model = seeded(lambda: Patches(Kernel()))
    with pytest.raises(
        ValueError, match=r"layer: it calls _scaled_dot_product_flash.*, a kernel that hides its weights"
    ):
        record_attention(model, IMAGES)
    both = seeded(lambda: Patches(nn.Sequential(Kernel(), Fused())))
    record = record_attention(both, IMAGES)
    assert list(record.layers) == ["layer.1"]
    assert list(record.left_out) == ["layer.0"]
    assert measure_attention(both, [IMAGES]).left_out == record.left_out


@pytest.mark.filterwarnings("ignore")
def test_scripted_modules_cannot_be_seen():
    scripted = torch.jit.trace(seeded(lambda: Patches(Fused())), IMAGES)
    with pytest.raises(ValueError, match="it is a scripted module, whose calls cannot be seen"):
        record_attention(nn.Sequential(scripted), IMAGES)


def test_compiled_modules_are_watched_as_they_were_written():
    model = seeded(lambda: Patches(Fused()))
    expected = record_attention(model, IMAGES)["layer"].weights
    model.layer = torch.compile(model.layer)
    assert torch.equal(record_attention(torch.compile(model), IMAGES)["layer"].weights, expected)


@torch.no_grad()
def test_layers_of_ours_in_a_model_that_is_not():
    """They are asked for what they look at, and what happens inside of them is not seen a second time."""

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = convert_convolution(nn.Conv2d(3, 4, 3, padding=1, stride=2))
            self.pixels = MultiheadAttentionConfig(num_heads=2).build(4, (6, 10))
            self.patches = Patches(Fused())

        def forward(self, images):
            pixels = self.pixels(self.convolution(images).movedim(1, -1)).values
            return pixels.mean(dim=(1, 2, 3))[:, None] + self.patches(images)

    record = record_attention(seeded(Mixed), IMAGES)
    assert list(record.layers) == ["convolution.attention", "pixels", "patches.layer"]
    assert [layer.num_heads for layer in record] == [9, 2, 1]
    assert [layer.placement.pixel_size for layer in record] == [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)]


def test_measured_over_batches_with_a_grid_given():
    model = seeded(lambda: Patches(Fused(), before=1))
    batches = [(IMAGES, torch.zeros(3)), (IMAGES[:1], torch.zeros(1))]
    measures = measure_attention(model, batches, grid=GRID, num_tokens=1)
    assert (measures.num_images, len(measures.heads)) == (4, 1)
    assert 0 < measures.heads[0].token_share < 1
    assert [layer.num_images for record in record_batches(model, batches) for layer in record] == [3, 1]


def test_images_without_a_batch():
    with pytest.raises(ValueError, match=r"expected a batch of images .* got \(3, 12, 20\)"):
        record_attention(Convolutional(), IMAGES[0])
