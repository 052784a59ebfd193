"""Where a model is trained."""

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto", local_rank: int = 0) -> torch.device:
    """The device of this name; `auto` takes CUDA before MPS before the CPU.

    `cuda` means the GPU with the number of the process on this machine (the first one without torchrun); `cuda:1`
    names a GPU.
    """
    if name == "auto":
        on_gpu = "cuda" if torch.cuda.is_available() else "mps"
        name = on_gpu if on_gpu == "cuda" or torch.backends.mps.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in DEVICES[1:] or (number and not number.isdigit()):
        raise ValueError(f"there is no device {name!r}: choose one of {', '.join(DEVICES)} or a GPU such as cuda:1")
    if kind == "cuda":
        index = int(number) if number else local_rank
        available = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if index >= available:
            raise ValueError(
                f"{name} was asked for, but torch {torch.__version__} sees {available} CUDA devices: "
                "use --device cpu, or install a CUDA build of torch"
            )
        return torch.device("cuda", index)
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"mps was asked for, but torch {torch.__version__} finds no Apple GPU: use --device cpu")
    return torch.device(kind)


MOST_THREADS = 1024
"""More than any machine has a use for; with 100,000 torch ends the program without a word."""


def set_num_threads(num_threads: int | None) -> None:
    """Let torch compute with this many threads; none leaves its own choice."""
    if num_threads is None:
        return
    if not 1 <= num_threads <= MOST_THREADS:
        raise ValueError(
            f"the number of threads must be at least 1 and at most {MOST_THREADS}, but is {num_threads}"
        )
    torch.set_num_threads(num_threads)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done its work, so that clocks tell the truth."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
