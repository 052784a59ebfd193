"""Vision transformers of timm: what ours computes with their weights, against a forward pass by hand."""

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from timm_vit_formulas import logits, random_state

from headgrid.data import Cifar10, Normalization
from headgrid.interop.timm_vit import import_checkpoint, translate
from headgrid.layers import ClassTokenPooling, MeanOfPatches, NormAfterPooling
from headgrid.models import resize_tables

VARIANTS = {
    "class token": {},
    "no class token": {"class_token": False},
    "class token without a position": {"class_position": False},
    "norm after pooling": {"norm": "fc_norm"},
    "norm after pooling, no class token": {"class_token": False, "norm": "fc_norm"},
    "no bias of query, key and value": {"qkv_bias": False},
    "one channel, another patch": {"channels": 1, "patch": 2},
}


def _state(**options):
    torch.manual_seed(0)
    return random_state(**options)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_follows_the_formulas(variant):
    state = _state(**VARIANTS[variant])
    model = translate(state, num_heads=3)
    assert not model.training
    config = model.config
    images = torch.randn(2, config.num_channels, *config.image_size, dtype=torch.float64)
    expected = logits(state, images, num_heads=3)
    torch.testing.assert_close(model(images), expected)
    torch.testing.assert_close(model(images, record=True)[0], expected)


@pytest.mark.parametrize("class_position", [True, False])
@torch.no_grad()
def test_a_table_for_images_that_are_not_square(class_position):
    """Its length tells no sides, so the images do; also where a square has as many patches."""
    for grid in ((2, 6), (1, 4)):
        state = _state(grid=grid, class_position=class_position)
        model = translate(state, num_heads=2, image_size=(4 * grid[0], 4 * grid[1]))
        images = torch.randn(2, 3, 4 * grid[0], 4 * grid[1], dtype=torch.float64)
        torch.testing.assert_close(model(images), logits(state, images, num_heads=2))


@pytest.mark.parametrize("image_size", [(20, 12), (8, 20)])
@pytest.mark.parametrize("class_token", [True, False])
@torch.no_grad()
def test_positions_are_resized_for_other_images(class_token, image_size):
    state = _state(class_token=class_token)
    model = translate(state, num_heads=2, image_size=image_size)
    assert model.config.image_size == image_size
    table = state["pos_embed"][:, int(class_token) :].unflatten(1, (3, 3)).permute(0, 3, 1, 2)
    size = (image_size[0] // 4, image_size[1] // 4)
    resized = F.interpolate(table, size=size, mode="bicubic", antialias=True).permute(0, 2, 3, 1).flatten(1, 2)
    state["pos_embed"] = torch.cat([state["pos_embed"][:, : int(class_token)], resized], dim=1)
    images = torch.randn(2, 3, *image_size, dtype=torch.float64)
    torch.testing.assert_close(model(images), logits(state, images, num_heads=2))


def test_positions_that_could_be_two_things():
    """Sixteen: of a class token and 3 x 5 patches, or of 4 x 4 patches. Ten are a class token and 3 x 3 patches."""
    state = _state(grid=(4, 4), class_position=False)
    with pytest.raises(
        ValueError, match=r"16 positions: .* a class token and of 3 x 5 patches, or of 4 x 4 patches"
    ):
        translate(state, num_heads=2, image_size=(12, 20))
    model = resize_tables(translate(state, num_heads=2), (12, 20))
    assert torch.equal(model.positions.class_tokens, torch.zeros(1, 12, dtype=torch.float64))
    assert torch.equal(
        translate(_state(), num_heads=2, image_size=(8, 20)).positions.class_tokens[0], _state()["pos_embed"][0, 0]
    )


def test_everything_is_read_off_the_weights():
    model = translate(_state(dim=128, depth=3, hidden=50, patch=2, grid=(4, 4), num_classes=7, norm="fc_norm"))
    config = model.config
    assert (config.dim, config.num_layers, config.block.hidden_dim, config.num_classes) == (128, 3, 50, 7)
    assert (config.attention.num_heads, config.image_size, config.stem.patch_size) == (2, (8, 8), 2)
    assert (config.pooling, config.final_norm) == (MeanOfPatches(), NormAfterPooling(1e-6))
    assert translate(_state(dim=64)).config.pooling == ClassTokenPooling()


def test_the_original_is_left_alone():
    state = _state()
    before = {name: value.clone() for name, value in state.items()}
    model = translate(state, num_heads=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(torch.equal(state[name], value) for name, value in before.items())
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keeps_the_floating_point_type(dtype):
    state = {name: value.to(dtype) for name, value in _state().items()}
    model = translate(state, num_heads=2, image_size=(16, 8))
    assert {value.dtype for value in model.state_dict().values()} == {dtype}


ADDED = {
    "dist_token": "distilled DeiT",
    "head_dist.weight": "distilled DeiT",
    "reg_token": "register tokens",
    "norm_pre.weight": "in front of the first block",
    "blocks.1.ls1.gamma": "layer scale",
    "blocks.0.attn.q_norm.weight": "normalised queries",
    "blocks.0.attn.norm.weight": "within the attention",
    "blocks.0.mlp.norm.weight": "within the attention or the feed-forward",
    "blocks.0.mlp.w12.weight": "SwiGLU",
    "blocks.0.mlp.fc1_g.weight": "SwiGLU",
    "blocks.0.attn.q_bias": "relative positions",
    "rel_pos.relative_position_bias_table": "relative positions",
    "attn_pool.q.weight": "pooling by attention",
    "patch_embed.backbone.stem.conv.weight": "several convolutions",
    "pre_logits.fc.weight": "in front of the classifier",
    "surprise": "no place for",
}


@pytest.mark.parametrize("entry", ADDED)
def test_what_is_no_plain_vit_is_refused_by_name(entry):
    with pytest.raises(ValueError, match=rf"entry {entry}.*{ADDED[entry]}"):
        translate(_state() | {entry: torch.zeros(3)}, num_heads=2)


def test_gated_feed_forward_parts_are_refused():
    state = _state()
    for number in range(2):
        state[f"blocks.{number}.mlp.fc1.weight"] = torch.zeros(40, 12)
        state[f"blocks.{number}.mlp.fc1.bias"] = torch.zeros(40)
    with pytest.raises(ValueError, match=r"entry blocks.0.mlp.fc1.weight .* 40 .* 20: gated"):
        translate(state, num_heads=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pos_embed": None}, "no entry pos_embed"),
        ({"head.weight": None}, "no entry head.weight"),
        ({"norm.weight": None}, "neither norm.weight nor fc_norm.weight"),
        ({"fc_norm.weight": torch.zeros(12)}, "norm.weight and fc_norm.weight"),
        ({"blocks.1.attn.qkv.weight": None}, "no entry blocks.1.attn.qkv.weight, query"),
        ({"blocks.1.attn.qkv.weight": torch.zeros(37, 12)}, "entry blocks.1.attn.qkv.weight that .* no place"),
        ({"blocks.3.norm1.weight": torch.zeros(12)}, "without a gap"),
        ({"blocks.1.norm1.weight": torch.zeros(13)}, r"entry blocks.1.norm1.weight .* 13 where the network has 12"),
        ({"patch_embed.proj.weight": torch.zeros(12, 48)}, "12 x 48: expected channels x colours x rows x columns"),
        ({"patch_embed.proj.weight": torch.zeros(12, 3, 4, 2)}, "patches of 4 x 2: they must be square"),
        ({"pos_embed": torch.zeros(1, 8, 12)}, "8 positions, which are no square of patches: give the image_size"),
        ({"pos_embed": torch.zeros(1, 10, 14)}, "entry pos_embed.* has the shape"),
    ],
)
def test_incomplete_and_contradictory_weights(changes, message):
    state = {name: value for name, value in (_state() | changes).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        translate(state, num_heads=2)


def test_the_number_of_heads_is_asked_for_where_it_cannot_be_guessed():
    with pytest.raises(ValueError, match=r"width of 12 is no multiple of 64.*give num_heads"):
        translate(_state())
    with pytest.raises(ValueError, match="12 is not by 5"):
        translate(_state(), num_heads=5)


def test_images_that_no_patches_fill():
    with pytest.raises(ValueError, match=r"18 x 12 must be a positive multiple of patch_size 4"):
        translate(_state(), num_heads=2, image_size=(18, 12))


@pytest.mark.parametrize("wrapper", [None, "model", "state_dict"])
@torch.no_grad()
def test_files(tmp_path, wrapper):
    state = {name: value.float() for name, value in _state().items()}
    images = torch.randn(2, 3, 12, 12)
    expected = translate(state, num_heads=2)(images)
    if wrapper is None:
        save_file(state, tmp_path / "vit.safetensors")
        assert torch.equal(import_checkpoint(tmp_path / "vit.safetensors", num_heads=2)(images), expected)
    torch.save(state if wrapper is None else {wrapper: state, "epoch": 3}, tmp_path / "vit.pth")
    assert torch.equal(import_checkpoint(tmp_path / "vit.pth", num_heads=2)(images), expected)


def test_files_of_other_kinds(tmp_path):
    (tmp_path / "vit.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match="no intact safetensors file"):
        import_checkpoint(tmp_path / "vit.safetensors")
    torch.save([1, 2], tmp_path / "vit.pth")
    with pytest.raises(ValueError, match="no checkpoint of timm"):
        import_checkpoint(tmp_path / "vit.pth")


RENAMED = {
    "attn.in_proj_": "attn.qkv.",
    "attn.out_proj.": "attn.proj.",
    "mlp.0.": "mlp.fc1.",
    "mlp.3.": "mlp.fc2.",
}
"""Names of `nn.MultiheadAttention` and `nn.Sequential` -> timm's."""


@pytest.fixture
def foreign_state(reference_dir):
    state = {}
    for name, value in load_file(reference_dir / "foreign_vit_cifar10.safetensors").items():
        for theirs, timms in RENAMED.items():
            name = name.replace(theirs, timms)
        state[name] = value
    return state


@torch.no_grad()
def test_a_trained_model_that_is_not_ours(foreign_state):
    model = translate(foreign_state, num_heads=4)
    assert (model.config.dim, model.config.num_layers, model.config.image_size) == (128, 4, (32, 32))
    torch.manual_seed(0)
    images = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(model(images), logits(foreign_state, images, 4), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_it_recognises_as_many_images_as_its_author_says(foreign_state, cifar_dir):
    """74.55 % of all test images, with their own normalisation and epsilon; here of a sample."""
    model = translate(foreign_state, num_heads=4)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5
    data = Cifar10(directory=cifar_dir).load()
    data.normalization = Normalization((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    images, labels = next(iter(data.evaluation_batches("test", batch_size=1000, sample=1000)))
    accuracy = (model(images).argmax(1) == labels).double().mean().item()
    assert accuracy == pytest.approx(0.7455, abs=0.03)
