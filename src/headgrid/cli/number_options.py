"""Numbers on the command line, and what is said about a word that is none."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = ConstructorRegistry()
"""How options are read whose values are numbers: `with NUMBERS:` around the parser."""

NAMES: dict[type, str] = {int: "a whole number", float: "a number"}
NONE = "None"


@NUMBERS.primitive_rule
def number_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """For int, float, and either of them or None."""
    members = set(get_args(info.type)) if get_origin(info.type) in (Union, UnionType) else {info.type}
    optional = NoneType in members
    kinds = members - {NoneType}
    if len(kinds) != 1 or not kinds <= NAMES.keys():
        return None
    (kind,) = kinds
    expected = f"expected {NAMES[kind]}{f' or {NONE}' if optional else ''}"

    def read(words: list[str]) -> Any:
        if optional and words[0].lower() == NONE.lower():
            return None
        try:
            return kind(words[0])
        except ValueError:
            raise ValueError(f"{expected}, got {words[0]!r}") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=read,
        is_instance=lambda value: (optional and value is None) or _is(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def _is(value: Any, kind: type) -> bool:
    """A whole number is a number too; True is none."""
    return isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
