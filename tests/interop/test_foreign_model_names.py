"""Names of foreign models: SOURCE:NAME, weights, options; and mistakes in them."""

import pytest

from headgrid.interop.foreign_model import (
    ModelName,
    PublishedWeights,
    RandomWeights,
    WeightsFile,
    is_foreign_name,
    open_foreign_model,
    read_model_name,
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("timm:resnet18", ModelName("timm", "resnet18")),
        ("timm:vit_small_patch8_224.dino", ModelName("timm", "vit_small_patch8_224.dino", PublishedWeights())),
        ("torchvision:vit_b_16,weights=random", ModelName("torchvision", "vit_b_16", RandomWeights())),
        ("module:my.models.make", ModelName("module", "my.models.make")),
        ("hf:a/folder:with a colon", ModelName("hf", "a/folder:with a colon")),
        (
            "timm:vit_tiny_patch16_224,img_size=(64,96),num_classes=6,global_pool=avg,class_token=False",
            ModelName(
                "timm",
                "vit_tiny_patch16_224",
                options={"img_size": (64, 96), "num_classes": 6, "global_pool": "avg", "class_token": False},
            ),
        ),
    ],
)
def test_names(word, expected):
    assert is_foreign_name(word)
    assert read_model_name(word) == expected


def test_a_file_of_weights():
    weights = read_model_name("timm:resnet18,weights=folder/scenes.safetensors").weights
    assert isinstance(weights, WeightsFile)
    assert weights.path.parts == ("folder", "scenes.safetensors")


@pytest.mark.parametrize(
    "word", ["runs/quadratic", "./timm:resnet18", "timm", "keras:resnet", "C:model.safetensors"]
)
def test_what_is_no_foreign_name(word):
    assert not is_foreign_name(word)
    with pytest.raises(ValueError, match="names no foreign model: expected one of timm:"):
        read_model_name(word)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("timm:", "lacks a name after timm:"),
        ("timm:resnet18,num_classes=5,num_classes=6", "gives num_classes twice"),
        ("timm:resnet18,weights=scenes.pth", "weights should be published, random, or a file that ends in"),
        ("timm:resnet18,pretrained=True", "leave pretrained out; weights are chosen with weights="),
        ("timm:resnet18,checkpoint_path=a.pth", "leave checkpoint_path out"),
    ],
)
def test_mistakes(word, message):
    with pytest.raises(ValueError, match=message):
        read_model_name(word)


@pytest.mark.parametrize(
    ("word", "package", "extra"),
    [
        ("timm:resnet18", "timm", "timm"),
        ("torchvision:resnet18", "torchvision", "timm"),
        ("hf:FOLDER", "transformers", "hf"),
    ],
)
def test_without_the_package_the_extra_is_named(word, package, extra, monkeypatch, tmp_path):
    import importlib.util

    find_spec = importlib.util.find_spec

    def found(name, *rest):
        return None if name == package else find_spec(name, *rest)

    for module in ("timm_models", "torchvision_import", "transformers_folder"):
        monkeypatch.setattr(f"headgrid.interop.foreign_model.{module}.find_spec", found)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=rf"pip install 'headgrid\[{extra}\]'"):
        open_foreign_model(word.replace("FOLDER", str(tmp_path)))
