"""Numbers on the command line, and what is said about a word that is none."""

from typing import Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = ConstructorRegistry()
"""How options are read whose values are numbers: `with NUMBERS:` around the parser."""

NONE = "None"


def _reader(kind: type, name: str, optional: bool) -> PrimitiveConstructorSpec[Any]:
    expected = f"expected {name}{f' or {NONE}' if optional else ''}"

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


READERS: dict[Any, PrimitiveConstructorSpec[Any]] = {
    int: _reader(int, "a whole number", optional=False),
    int | None: _reader(int, "a whole number", optional=True),
    float: _reader(float, "a number", optional=False),
    float | None: _reader(float, "a number", optional=True),
}


@NUMBERS.primitive_rule
def number_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """For the types above; tyro has rules for all others."""
    return READERS.get(info.type)
