"""The attention of a model that knows nothing of headgrid, seen while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headgrid.analysis.attention_record import AttentionRecord
from headgrid.analysis.foreign.attention_watch import AttentionWatch
from headgrid.analysis.foreign.images_and_heads import may_be_heads_first, told_apart
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
    unsure: list[str] = []

    def attended(layer: str, weights: Tensor) -> None:
        name = recording.add(layer, lambda name: tokens.place(name, weights))
        if may_be_heads_first(weights, len(images)):
            unsure.append(name)

    watch = AttentionWatch(running, tokens, attended, recording.leave_out)
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            recording.leave_out(name or type(model).__name__, "it is a scripted module, whose calls cannot be seen")
    with running.followed(), own_layers_recorded(model, running, watch, recording), _uncompiled(), watch:
        output = model(images)
    watch.finish()
    unsure = [name for name in unsure if name in recording.layers]
    if unsure:
        alone = record_foreign(model, images[:1], grid, num_tokens)
        recording.layers |= {name: told_apart(recording.layers[name], alone) for name in unsure}
    if watch.left_fast_path and torch.backends.mha.get_fastpath_enabled():
        output = model(images)  # as it is when nobody watches
    return recording.finish(output)


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Modules that went through torch.compile run as they were written: only so can they be watched."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
