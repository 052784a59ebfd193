"""The attention of a model that knows nothing of headgrid, seen while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headgrid.analysis.attention_record import AttentionRecord
from headgrid.analysis.foreign.attention_watch import AttentionWatch
from headgrid.analysis.foreign.own_layers import own_layers_recorded
from headgrid.analysis.foreign.running_module import RunningModule
from headgrid.analysis.foreign.token_grid import TokenGrid
from headgrid.analysis.recording import Recording
from headgrid.axes import Images


def record_foreign(
    model: nn.Module, images: Images, grid: tuple[int, int] | None = None, num_tokens: int | None = None
) -> AttentionRecord:
    """Calls ``model(images)`` and watches. The record may be empty; ``left_out`` says why."""
    image_size = (images.shape[2], images.shape[3])
    recording, running = Recording(len(images), image_size), RunningModule(model)
    tokens = TokenGrid(len(images), image_size, grid, num_tokens)

    def attended(weights: Tensor) -> None:
        recording.add(running.name, lambda name: tokens.place(name, weights))

    def hidden(kernel: str) -> None:
        recording.leave_out(running.name, f"it calls {kernel}, a kernel that hides its weights")

    watch = AttentionWatch(attended, tokens.see, hidden)
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            recording.leave_out(name or type(model).__name__, "it is a scripted module, whose calls cannot be seen")
    with running.followed(), own_layers_recorded(model, running, watch, recording), _uncompiled(), watch:
        output = model(images)
    return recording.finish(output)


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Modules that went through torch.compile run as they were written: only so can they be watched."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
