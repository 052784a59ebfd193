"""`module:path.to.factory`: any function or class that gives an nn.Module, with weights from a file."""

import sys

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from headgrid.interop.foreign_model import open_foreign_model

FACTORIES = """
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, width=4, classes=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, width, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classes = nn.Linear(width, classes)

    def forward(self, images):
        return self.classes(self.layers(images))


class Wrapped:
    def __init__(self, logits):
        self.logits = logits


class Wrapping(Network):
    def forward(self, images):
        return Wrapped(super().forward(images))


def make_number():
    return 7


def make_maps():
    return nn.Conv2d(3, 4, 1)


not_callable = 5
"""


@pytest.fixture(autouse=True)
def _factories(tmp_path, monkeypatch):
    """A package of somebody in the current folder."""
    (tmp_path / "somebodys").mkdir()
    (tmp_path / "somebodys" / "__init__.py").write_text("")
    (tmp_path / "somebodys" / "networks.py").write_text(FACTORIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "somebodys"]:
        del sys.modules[name]


IMAGES = torch.randn(2, 3, 8, 12)


def test_a_class_with_options():
    model = open_foreign_model("module:somebodys.networks.Network,width=5,classes=2")
    assert model.module(IMAGES).shape == (2, 2)
    assert not any(module.training for module in model.module.modules())
    assert model.original.classes.in_features == 5
    assert model.image_size is None
    assert model.normalization is None


def test_random_numbers_of_the_caller_stay_as_they_are_and_the_weights_are_the_same_every_time():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    first, second = (open_foreign_model("module:somebodys.networks.Network").original for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.classes.weight, second.classes.weight)


def test_logits_inside_of_an_object():
    model = open_foreign_model("module:somebodys.networks.Wrapping")
    assert torch.equal(model.module(IMAGES), model.original(IMAGES).logits)


def test_an_output_that_holds_no_logits():
    model = open_foreign_model("module:somebodys.networks.make_maps")
    with pytest.raises(ValueError, match=r"the output of Conv2d is the shape \(2, 4, 8, 12\): expected logits"):
        model.module(IMAGES)


def test_weights_of_a_file(tmp_path):
    model = open_foreign_model("module:somebodys.networks.Network").original
    nn.init.normal_(model.classes.weight)
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    loaded = open_foreign_model("module:somebodys.networks.Network,weights=weights.safetensors")
    assert torch.equal(loaded.module(IMAGES), model(IMAGES))
    # as torch.nn.DataParallel saves it
    save_file({f"module.{name}": value for name, value in model.state_dict().items()}, tmp_path / "dp.safetensors")
    loaded = open_foreign_model("module:somebodys.networks.Network,weights=dp.safetensors")
    assert torch.equal(loaded.module(IMAGES), model(IMAGES))


def test_weights_that_do_not_fit(tmp_path):
    state = open_foreign_model("module:somebodys.networks.Network").original.state_dict()
    word = "module:somebodys.networks.Network,weights=weights.safetensors"

    less = {name: value for name, value in state.items() if name != "classes.bias"}
    for entries, message in (
        (less, "has no entry classes.bias, which"),
        (state | {"more": torch.zeros(1)}, "has an entry more that"),
        (state | {"classes.bias": torch.zeros(4)}, r"entry classes\.bias of .* has the shape \(4,\) where"),
    ):
        save_file(entries, tmp_path / "weights.safetensors")
        with pytest.raises(ValueError, match=message):
            open_foreign_model(word)
    (tmp_path / "weights.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match="is no intact safetensors file"):
        open_foreign_model(word)
    (tmp_path / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match=r"there is no file weights\.safetensors with the weights of"):
        open_foreign_model(word)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("networks", "should say where the factory is, such as module:my_models.make_network"),
        ("somebodys.nets.Network", "there is no Python module somebodys.nets here or on the Python path"),
        ("nobodys.networks.Network", "there is no Python module nobodys.networks"),
        ("somebodys.networks.Netwrk", "has no function or class 'Netwrk': did you mean 'Network'"),
        ("somebodys.networks.not_callable", "has no function or class 'not_callable'"),
        ("somebodys.networks.make_number", "gives an object of type int: expected an nn.Module"),
        ("somebodys.networks.Network,depth=3", "cannot be called with depth=3"),
        ("somebodys.networks.Network,weights=random", "the weights of a factory's model are the factory's"),
    ],
)
def test_mistakes(name, message):
    with pytest.raises(ValueError, match=message):
        open_foreign_model(f"module:{name}")
