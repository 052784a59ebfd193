"""Models of timm, torchvision and transformers by name: what is known of them, mistakes. Nothing is downloaded."""

import json
from importlib.util import find_spec

import pytest
import torch
from safetensors.torch import save_file

from headgrid.interop.foreign_model import open_foreign_model
from headgrid.interop.foreign_model.torchvision_import import import_torchvision

if find_spec("torchvision"):
    import_torchvision()
timm = pytest.importorskip("timm")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.foreign


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "empty"))

    def refuse(*_args, **_kwargs):
        raise OSError("no network in tests")

    monkeypatch.setattr("torch.hub.urlopen", refuse)


def test_timm_with_random_weights_the_same_every_time():
    word = "timm:vit_tiny_patch16_224,weights=random,depth=1,img_size=(32,48),num_classes=6"
    model = open_foreign_model(word)
    assert model.image_size == (32, 48)
    assert model.normalization.mean == (0.5, 0.5, 0.5)
    assert model.crop_fraction == 0.9
    assert not model.module.training
    images = torch.randn(2, 3, 32, 48)
    assert model.module(images).shape == (2, 6)
    assert torch.equal(model.module(images), open_foreign_model(word).module(images))


def test_timm_with_weights_of_a_file(tmp_path):
    options = "depth=1,num_classes=6"
    original = timm.create_model("vit_tiny_patch16_224", depth=1, num_classes=6)
    save_file(original.state_dict(), tmp_path / "vit.safetensors")
    file = tmp_path / "vit.safetensors"
    loaded = open_foreign_model(f"timm:vit_tiny_patch16_224,{options},weights={file}").module
    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in original.state_dict().items())
    with pytest.raises(ValueError, match="give the model the options it was trained with"):
        open_foreign_model(f"timm:vit_tiny_patch16_224,depth=1,weights={file}")


def test_torchvision():
    model = open_foreign_model("torchvision:resnet18,weights=random,num_classes=6")
    assert (model.image_size, model.crop_fraction) == ((224, 224), 224 / 256)
    assert model.normalization.std == (0.229, 0.224, 0.225)
    assert model.module(torch.randn(1, 3, 64, 96)).shape == (1, 6)


def test_transformers(tmp_path):
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32, num_labels=4
    )
    original = transformers.ViTForImageClassification(config).eval()
    original.save_pretrained(tmp_path)
    model = open_foreign_model(f"hf:{tmp_path}")
    images = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(model.module(images), original(images).logits)
    assert (model.image_size, model.normalization) == ((32, 32), None)
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.1] * 3, "image_std": [0.2] * 3})
    )
    assert open_foreign_model(f"hf:{tmp_path}").normalization.mean == (0.1, 0.1, 0.1)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"do_normalize": False}))
    assert open_foreign_model(f"hf:{tmp_path}").normalization.std == (1.0, 1.0, 1.0)
    assert open_foreign_model(f"hf:{tmp_path},weights=random").module(images).shape == (2, 4)


def test_a_backbone_of_transformers_is_no_classifier(tmp_path):
    config = transformers.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="lacks the weights classifier"):
        open_foreign_model(f"hf:{tmp_path}")


def test_a_folder_without_safetensors(tmp_path):
    transformers.ViTConfig().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"cannot be opened: the folder has no \.safetensors file"):
        open_foreign_model(f"hf:{tmp_path}")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "timm:vit_tny_patch16_224",
            "timm has no model 'vit_tny_patch16_224': did you mean 'vit_tiny_patch16_224'",
        ),
        ("timm:vit_tiny_patch16_224.dinos", "timm has no weights"),
        ("timm:vit_tiny_patch16_224,weights=random,dept=3", "cannot be made"),
        ("timm:vit_tiny_patch16_224,num_classes=6", "are for num_classes=21843|are for num_classes=1000"),
        ("timm:vit_tiny_patch16_224", "not in the cache and cannot be downloaded"),
        ("torchvision:vit_b_61", "torchvision has no classifier 'vit_b_61': did you mean"),
        ("torchvision:resnet18", "not in the cache and cannot be downloaded"),
        ("torchvision:resnet18,weights=random,width=3", "cannot be made"),
        ("hf:nowhere", "nowhere is no folder that transformers saved a model into"),
        ("hf:nowhere,weights=a.safetensors", "the folder has its weights beside its config"),
    ],
)
def test_mistakes(word, message):
    with pytest.raises(ValueError, match=message):
        open_foreign_model(word)
