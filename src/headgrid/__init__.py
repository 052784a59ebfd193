"""headgrid trains, inspects and converts vision self-attention seen as convolution.

    import headgrid

    model = headgrid.create("quadratic", size="laptop")
    logits, attention = model(images, record=True)
    model = headgrid.load("runs/quadratic-laptop-seed0")

Importing the package alone costs nothing: what stands behind these names is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgrid.experiments import create, load

__all__ = ["create", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headgrid import experiments

    return getattr(experiments, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
