"""Which module of a model is running: the name under which attention is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


class RunningModule:
    """The innermost module whose ``forward`` is being executed."""

    def __init__(self, model: nn.Module) -> None:
        self._model_kind = type(model).__name__
        # Scripted modules run outside of Python, where no hook is called.
        self._names = {
            module: ".".join(part for part in name.split(".") if part != "_orig_mod")
            for name, module in model.named_modules()
            if not isinstance(module, torch.jit.ScriptModule)
        }
        self._stack: list[nn.Module] = []

    @property
    def name(self) -> str:
        """Its path in the model; of the model itself, its kind."""
        return self.name_of(self._stack[-1]) if self._stack else self._model_kind

    def name_of(self, module: nn.Module) -> str:
        return self._names[module] or self._model_kind

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follows the calls of all modules, by hooks that are gone afterwards."""

        def enter(module: nn.Module, _inputs: object) -> None:
            self._stack.append(module)

        def leave(_module: nn.Module, _inputs: object, _output: object) -> None:
            self._stack.pop()

        handles = []
        try:
            for module in self._names:
                handles.append(module.register_forward_pre_hook(enter))
                handles.append(module.register_forward_hook(leave, always_call=True))
            yield
        finally:
            for handle in handles:
                handle.remove()
