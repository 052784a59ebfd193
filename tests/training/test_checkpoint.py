from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from headgrid.training import load_weights
from headgrid.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, to_disk


def checkpoint(step: int, **weights: Tensor) -> Checkpoint:
    state = {"epoch": step // 10, "step": step, "loss": 0.1 + step}
    return Checkpoint(
        weights or {"w": torch.full((2, 3), float(step))}, {"optimizer.m.w": torch.ones(3) * step}, state
    )


def test_comes_back_bit_by_bit_and_can_be_read_by_any_tool(tmp_path: Path):
    weights = {
        "float": torch.randn(3, 5),
        "half": torch.randn(4).bfloat16(),
        "count": torch.tensor(7),
        "mask": torch.tensor([True, False]),
        "empty": torch.zeros(0, 3),
    }
    saved = checkpoint(12, **weights)
    save_checkpoint(tmp_path, "last", saved)
    found = load_checkpoint(tmp_path, "last")
    assert found is not None
    assert found.state == saved.state
    for stored in (found.weights, load_file(tmp_path / "last.safetensors")):
        assert stored.keys() == weights.keys()
        for name, tensor in weights.items():
            assert stored[name].dtype == tensor.dtype
            assert torch.equal(stored[name], tensor)


def test_the_same_weights_make_the_same_file(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_checkpoint(tmp_path / name, "last", checkpoint(12))
    assert (tmp_path / "a/last.safetensors").read_bytes() == (tmp_path / "b/last.safetensors").read_bytes()


def test_a_new_pair_replaces_the_old_one_and_only_it(tmp_path: Path):
    save_checkpoint(tmp_path, "best", checkpoint(10))
    for step in (10, 20, 20, 30):
        save_checkpoint(tmp_path, "last", checkpoint(step))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "best.safetensors",
        "best.step-10.state.safetensors",
        "last.safetensors",
        "last.step-30.state.safetensors",
    ]


def test_copies_share_no_memory_with_the_model():
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer, nn.Conv2d(2, 2, 3).to(memory_format=torch.channels_last))
    copies = to_disk(model.state_dict())
    assert len({tensor.data_ptr() for tensor in copies.values()}) == len(copies)
    assert all(tensor.is_contiguous() for tensor in copies.values())
    assert not {t.data_ptr() for t in copies.values()} & {t.data_ptr() for t in model.state_dict().values()}


def test_nothing_to_load_and_half_a_pair(tmp_path: Path):
    assert load_checkpoint(tmp_path, "last") is None
    save_checkpoint(tmp_path, "last", checkpoint(10))
    (tmp_path / "last.step-10.state.safetensors").unlink()
    with pytest.raises(ValueError, match="has no training state beside it"):
        load_checkpoint(tmp_path, "last")


def test_damaged_files_are_named(tmp_path: Path):
    save_checkpoint(tmp_path, "last", checkpoint(10))
    path = tmp_path / "last.safetensors"
    for content in (b"", b"nonsense", path.read_bytes()[:-5]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"last\.safetensors is no intact safetensors file"):
            load_checkpoint(tmp_path, "last")


def test_weights_of_a_run_or_a_file(tmp_path: Path):
    folder = tmp_path / "checkpoints"
    save_checkpoint(folder, "last", checkpoint(30))
    assert float(load_weights(tmp_path)["w"][0, 0]) == 30
    save_checkpoint(folder, "best", checkpoint(20))
    save_checkpoint(folder, "epoch-0001", checkpoint(10))
    assert float(load_weights(tmp_path)["w"][0, 0]) == 20
    assert float(load_weights(tmp_path, "last")["w"][0, 0]) == 30
    assert float(load_weights(tmp_path, "epoch-0001")["w"][0, 0]) == 10
    assert float(load_weights(folder / "last.safetensors")["w"][0, 0]) == 30
    with pytest.raises(ValueError, match=r"has no checkpoint 'first': it has best, epoch-0001, last$"):
        load_weights(tmp_path, "first")
    with pytest.raises(ValueError, match="does not exist"):
        load_weights(tmp_path / "absent")
    with pytest.raises(ValueError, match="holds no checkpoint"):
        load_weights(folder)
