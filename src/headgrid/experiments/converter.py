"""Between dataclasses and plain mappings, strictly: nothing is guessed, rounded or ignored."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import cattrs
from cattrs.errors import (
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn

from headgrid.experiments.kinds import choices, is_choice, kind_name, kinds, suggestion

KIND = "kind"
"""The key that says which of several dataclasses a mapping describes."""


def make_converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    for kind, read in ((bool, _bool), (int, _int), (float, _float), (str, _str), (Path, _path)):
        converter.register_structure_hook(kind, read)
    converter.register_unstructure_hook(Path, str)

    @converter.register_structure_hook_factory(lambda annotation: get_origin(annotation) is Literal)
    def word(annotation: Any):
        known = get_args(annotation)

        def read(value: Any, _: Any) -> Any:
            if value not in known:
                raise ValueError(f"unknown word {value!r}: {suggestion(str(value), known)}")
            return value

        return read

    @converter.register_structure_hook_factory(lambda annotation: get_origin(annotation) is tuple)
    def sequence(annotation: Any):
        return lambda value, _: _read_tuple(converter, value, get_args(annotation))

    @converter.register_structure_hook_factory(is_dataclass)
    def mapping(kind: type):
        read_mapping = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)

        def read(value: Any, _: Any) -> Any:
            if not isinstance(value, dict):
                names = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
                raise ValueError(f"expected a mapping ({names}), but got {value!r}")
            return read_mapping(value, kind)

        return read

    @converter.register_structure_hook_factory(is_choice)
    def choice(annotation: Any):
        known, optional = kinds(annotation), type(None) in choices(annotation)

        def read(value: Any, _: Any) -> Any:
            if value is None and optional:
                return None
            if not isinstance(value, dict) or KIND not in value:
                raise ValueError(f"expected a mapping with the key {KIND} ({', '.join(known)}), but got {value!r}")
            name = value[KIND]
            if name not in known:
                raise ValueError(f"unknown {KIND} {name!r}: {suggestion(str(name), known)}")
            return converter.structure({key: entry for key, entry in value.items() if key != KIND}, known[name])

        return read

    @converter.register_unstructure_hook_factory(is_choice)
    def write_choice(annotation: Any):
        def write(value: Any) -> Any:
            if value is None:
                return None
            return {KIND: kind_name(type(value)), **converter.unstructure(value, type(value))}

        return write

    return converter


def explain(error: BaseException, path: str = "") -> str:
    """The first thing that was wrong, with its path, in words."""
    match error:
        case ClassValidationError():
            with_notes, others = error.group_exceptions()
            # A key that nobody knows is often the misspelling of one that is missing: it comes first.
            if others:
                return explain(others[0], path)
            inner, note = with_notes[0]
            if isinstance(inner, KeyError):
                return f"the key {_join(path, note.name)} is missing"
            return explain(inner, _join(path, note.name))
        case IterableValidationError():
            inner, note = error.group_exceptions()[0][0]
            return explain(inner, f"{path}[{note.index}]")
        case ForbiddenExtraKeysError():
            key = sorted(str(field) for field in error.extra_fields)[0]
            known = [field.name for field in fields(error.cl)]  # type: ignore[arg-type]
            return f"unknown key {_join(path, key)}: {suggestion(key, known)}"
        case _:
            return f"{path}: {error}" if path else str(error)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _read_tuple(converter: cattrs.Converter, value: Any, members: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, but got {value!r}")
    if members[-1] is Ellipsis:
        members = (members[0],) * len(value)
    if len(value) != len(members):
        raise ValueError(f"expected a list of {len(members)}, but got {value!r}")
    entries = []
    for index, (entry, member) in enumerate(zip(value, members, strict=True)):
        try:
            entries.append(converter.structure(entry, member))
        except Exception as error:
            error.add_note(IterableValidationNote(f"entry {index}", index, member))
            raise IterableValidationError("a list", [error], tuple) from error  # pyright: ignore[reportCallIssue]
    return tuple(entries)


def _bool(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, but got {value!r}")
    return value


def _int(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected a whole number, but got {value!r}")
    return value


def _float(value: Any, _: Any) -> float:
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return float(value)  # YAML takes 1e-4 for a word
    except ValueError:
        pass
    raise ValueError(f"expected a number, but got {value!r}")


def _str(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, but got {value!r}")
    return value


def _path(value: Any, _: Any) -> Path:
    return Path(_str(value, None))
