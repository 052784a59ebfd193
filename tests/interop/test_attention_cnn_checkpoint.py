"""Reading the original's checkpoint files, and refusing what is none."""

import pickle
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from attention_cnn_original import Original

from headgrid.interop.attention_cnn import CheckpointInfo, import_checkpoint, load_checkpoint, translate
from headgrid.models import FullyAttentional, ResNet, ResNetConfig

ORIGINAL = Original("learned_query")


def write(folder: Path, content: Any, config: Any = None, zipped: bool = True) -> Path:
    """A run folder as the original leaves it; returns the checkpoint."""
    path = folder / "final.checkpoint"
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    with (folder / "config.yaml").open("w") as file:
        yaml.dump(ORIGINAL.config if config is None else config, file, sort_keys=False)
    return path


def content(**changes: Any) -> dict[str, Any]:
    state = OrderedDict(ORIGINAL.random_state())
    return {"epoch": 299, "test_accuracy": 0.875, "model_state_dict": state} | changes


ACCURACIES = [0.875, np.float64(0.875), np.float32(0.875), torch.tensor(0.875)]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("accuracy", ACCURACIES, ids=lambda value: type(value).__name__)
def test_round_trip(tmp_path: Path, accuracy: Any, zipped: bool) -> None:
    path = write(tmp_path, content(test_accuracy=accuracy, epoch=np.int64(299)), zipped=zipped)
    model, info = import_checkpoint(path)
    assert info == CheckpointInfo(epoch=299, test_accuracy=0.875, dataset="Cifar10")
    assert type(info.test_accuracy) is float
    assert type(info.epoch) is int
    images = ORIGINAL.random_images(3, 4)
    assert torch.equal(model(images), translate(ORIGINAL.random_state(), ORIGINAL.config)(images))
    assert isinstance(model, FullyAttentional)
    assert model.config.num_classes == ORIGINAL.num_classes


def test_numpy_1_wrote_its_numbers_under_another_name(tmp_path: Path) -> None:
    path = write(tmp_path, content(test_accuracy=np.float64(0.875)), zipped=False)
    path.write_bytes(path.read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    assert b"numpy.core.multiarray\nscalar" in path.read_bytes()
    assert load_checkpoint(path).info.test_accuracy == 0.875


def test_names_under_data_parallel_become_plain(tmp_path: Path) -> None:
    state = OrderedDict((f"module.{name}", value) for name, value in ORIGINAL.random_state().items())
    loaded = load_checkpoint(write(tmp_path, content(model_state_dict=state)))
    assert loaded.state.keys() == ORIGINAL.shapes().keys()
    assert loaded.config == ORIGINAL.config


def test_a_residual_network(tmp_path: Path) -> None:
    names = {"stem.0.convolution": "conv1", "stem.0.norm": "bn1", "classifier": "linear"}
    for stage in range(4):
        for block in range(2):
            ours, theirs = f"stages.{stage}.{block}", f"layer{stage + 1}.{block}"
            for number, part in enumerate(("first", "second"), start=1):
                names[f"{ours}.{part}.convolution"] = f"{theirs}.conv{number}"
                names[f"{ours}.{part}.norm"] = f"{theirs}.bn{number}"
            names[f"{ours}.shortcut.convolution"] = f"{theirs}.shortcut.0"
            names[f"{ours}.shortcut.norm"] = f"{theirs}.shortcut.1"
    ours = ResNetConfig().build().eval()
    state = OrderedDict()
    for name, value in ours.state_dict().items():
        module, entry = name.rsplit(".", 1)
        state[f"{names[module]}.{entry}"] = value
    path = write(tmp_path, content(model_state_dict=state), config={"model": "resnet18", "dataset": "Cifar10"})
    model, _ = import_checkpoint(path)
    assert isinstance(model, ResNet)
    images = torch.randn(2, 3, 32, 32)
    assert torch.equal(model(images), ours(images))


class Trap:
    """Writes a file when it is unpickled freely."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("zipped", [True, False])
def test_nothing_in_the_file_is_run(tmp_path: Path, zipped: bool) -> None:
    path = write(tmp_path, content(test_accuracy=Trap(tmp_path / "sprung")), zipped=zipped)
    with pytest.raises(ValueError, match="holds more than tensors and numbers") as raised:
        load_checkpoint(path)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "sprung").exists()


def test_a_plain_pickle_of_today_is_refused_quietly(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    path.write_bytes(pickle.dumps({"model_state_dict": Trap(tmp_path / "sprung")}, protocol=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
            load_checkpoint(path)
    assert not (tmp_path / "sprung").exists()


def test_numpy_objects_are_no_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, content(test_accuracy=np.array([Trap(tmp_path / "sprung")], dtype=object)))
    with pytest.raises(ValueError, match="holds more than tensors and numbers"):
        load_checkpoint(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "pickle", "cut old"])
def test_damaged_files(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path, content(), zipped=damage != "cut old")
    whole = path.read_bytes()
    pickled = pickle.dumps({"epoch": 1}, protocol=2)
    damaged = {"text": b"no checkpoint", "empty": b"", "pickle": pickled}.get(damage, whole[: len(whole) // 2])
    path.write_bytes(damaged)
    with pytest.raises(
        ValueError, match=r"final\.checkpoint (cannot be read as a|is no) checkpoint of attention-cnn"
    ):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([1, 2], "expected a dictionary with model_state_dict"),
        ({"epoch": 3}, "expected a dictionary with model_state_dict"),
        ({"model_state_dict": {"a": 1}}, "entry a of the weights is not a tensor but of type int"),
        (content(epoch="last"), "epoch should be a number, not 'last'"),
        (content(test_accuracy=torch.zeros(2)), "test_accuracy should be a number"),
    ],
)
def test_other_contents(tmp_path: Path, written: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_checkpoint(write(tmp_path, written))


def test_the_config_beside_the_checkpoint(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    config = tmp_path / "config.yaml"
    config.write_text("positional_encoding: !!python/object/apply:models.Kind [learned]\n")
    with pytest.raises(ValueError, match=r"config\.yaml cannot be read as YAML of plain values"):
        load_checkpoint(path)
    config.write_text("- 3\n")
    with pytest.raises(ValueError, match=r"config\.yaml holds no names and values"):
        load_checkpoint(path)
    config.unlink()
    with pytest.raises(ValueError, match=r"needs the file config\.yaml of its run in the same folder"):
        load_checkpoint(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "missing.checkpoint")
