"""The words by which files and command lines choose among kinds: `QuadraticConfig` is `kind: quadratic`."""

import difflib
import re
import types
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Annotated, Any, Union, get_args, get_origin

_ONE_WORD = {"ResNet": "Resnet", "AdamW": "Adamw", "ViT": "Vit"}


def kind_name(kind: type) -> str:
    """`GeneralizedQuadraticConfig` -> `generalized-quadratic`."""
    name = kind.__name__.removesuffix("Config")
    for word, lower in _ONE_WORD.items():
        name = name.replace(word, lower)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def choices(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; a type that is no union is its only member."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def kinds(annotation: Any) -> dict[str, type]:
    """The dataclasses among which a field chooses, by name; empty for a field of another sort."""
    return {kind_name(member): member for member in choices(annotation) if is_dataclass(member)}  # type: ignore[misc]


def is_choice(annotation: Any) -> bool:
    """Whether a field chooses among several dataclasses, so that a file has to name the kind."""
    return len(kinds(annotation)) > 1


def suggestion(word: str, known: Iterable[str]) -> str:
    """What somebody who wrote `word` may have meant, as the end of an error message."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of {', '.join(known)}" if known else "nothing can stand here"
