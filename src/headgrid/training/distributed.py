"""Several processes that train one model (DistributedDataParallel), started by torchrun.

Every process sees its slice of each batch. Two kinds of messages pass between them: gradients, through the backend
of the device (NCCL on GPUs, gloo on CPUs), and a few numbers per step that keep all of them agreed on when to stop
and when to save, always through gloo, so that no GPU has to wait for them. Only the main process writes files.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

Result = TypeVar("Result")


@dataclass(frozen=True)
class Processes:
    """This process among those that train together. Alone, every method is a no-op."""

    rank: int = 0
    num_processes: int = 1
    local_rank: int = 0
    """Number of the process on its machine, which is the number of its GPU."""
    control: dist.ProcessGroup | None = None
    """The group for numbers and messages."""

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def sum(self, values: list[int]) -> list[int]:
        """The sums over all processes."""
        if self.num_processes == 1:
            return values
        total = torch.tensor(values, dtype=torch.int64)
        dist.all_reduce(total, group=self.control)
        return total.tolist()

    def add_up(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.num_processes == 1:
            return
        for tensor in tensors:
            total = tensor.cpu()
            dist.all_reduce(total, group=self.control)
            tensor.copy_(total)

    def gather(self, values: Tensor) -> Tensor:
        """The vectors of all processes, one row for each."""
        rows = torch.zeros(self.num_processes, len(values), dtype=values.dtype)
        rows[self.rank] = values.cpu()
        self.add_up([rows])
        return rows

    def on_main(self, function: Callable[[], Result]) -> Result:
        """Call a function in the main process; all processes get its result, or all raise its error."""
        if self.num_processes == 1:
            return function()
        message: list = [None, None]
        if self.is_main:
            try:
                message[0] = function()
            except Exception as error:
                message[1] = error
        dist.broadcast_object_list(message, src=0, group=self.control)
        if message[1] is not None:
            raise message[1]
        return message[0]

    def wrap(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model whose backward pass averages the gradients of all processes."""
        if self.num_processes == 1:
            return model
        # A static graph lets parameters stay unused (their gradient stays None, as in one process) and modules be
        # applied several times, without a search for them in every step.
        ids = [device.index] if device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=ids, static_graph=True)

    def share_buffers(self, model: nn.Module) -> None:
        """Give every process the stored statistics of the main one, as training does before each step."""
        if self.num_processes > 1:
            for buffer in model.buffers():
                dist.broadcast(buffer, src=0)


def processes_from_environment() -> Processes:
    """What torchrun says about this process; alone when it says nothing."""
    try:
        return Processes(
            rank=int(os.environ.get("RANK", "0")),
            num_processes=int(os.environ.get("WORLD_SIZE", "1")),
            local_rank=int(os.environ.get("LOCAL_RANK", "0")),
        )
    except ValueError as error:
        raise ValueError(
            f"RANK, WORLD_SIZE and LOCAL_RANK must be numbers as torchrun sets them: {error}"
        ) from error


@contextmanager
def connected(processes: Processes, device: torch.device) -> Iterator[Processes]:
    """Join the other processes for a while, and leave them in order."""
    if processes.num_processes == 1:
        yield processes
        return
    if device.type == "mps":
        raise ValueError("several processes train on CPUs or CUDA devices: use --device cpu, or one process on mps")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        control = dist.new_group(backend="gloo")
        assert isinstance(control, dist.ProcessGroup)
        yield replace(processes, control=control)
    finally:
        dist.destroy_process_group()
