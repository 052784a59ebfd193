import pytest
import torch

from headgrid.training import choose_device, set_num_threads
from headgrid.training.device import synchronize


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch):
    def pretend(num_gpus: int, mps: bool) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: num_gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: num_gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


def test_auto_prefers_cuda_to_mps_to_cpu(hardware):
    hardware(2, mps=True)
    assert choose_device() == torch.device("cuda", 0)
    assert choose_device(local_rank=1) == torch.device("cuda", 1)
    hardware(0, mps=True)
    assert choose_device("auto") == torch.device("mps")
    hardware(0, mps=False)
    assert choose_device("auto") == torch.device("cpu")


def test_a_device_can_be_named(hardware):
    hardware(2, mps=True)
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("mps") == torch.device("mps")
    assert choose_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["gpu", "cuda:one", "meta", "", "cpu:x", "auto:1"])
def test_unknown_devices_are_refused(name: str):
    with pytest.raises(ValueError, match=r"there is no device.*auto, cpu, cuda, mps"):
        choose_device(name)


def test_absent_devices_are_refused(hardware):
    hardware(0, mps=False)
    with pytest.raises(ValueError, match=r"cuda was asked for, but torch .* sees 0 CUDA devices"):
        choose_device("cuda")
    with pytest.raises(ValueError, match="finds no Apple GPU"):
        choose_device("mps")
    hardware(2, mps=False)
    with pytest.raises(ValueError, match=r"cuda:2 was asked for, but torch .* sees 2"):
        choose_device("cuda:2")
    with pytest.raises(ValueError, match="sees 2"):
        choose_device("cuda", local_rank=2)


def test_threads():
    before = torch.get_num_threads()
    try:
        set_num_threads(2)
        assert torch.get_num_threads() == 2
        set_num_threads(None)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    with pytest.raises(ValueError, match="number of threads must be at least 1"):
        set_num_threads(0)


def test_the_cpu_is_always_done():
    synchronize(torch.device("cpu"))
