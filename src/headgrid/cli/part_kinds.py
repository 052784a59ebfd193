"""Choosing another kind of part on the command line: `--training.optimizer.kind adamw`.

A preset's parts keep their kinds when fields are overridden. These options replace a part by another kind with that
kind's defaults; fields of the new part can be set on the same command line. A part that is a list of kinds, as the
terms of a score, takes all of them: `--model.attention.scores.kinds query-position content`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from headgrid.experiments import Experiment, for_data
from headgrid.experiments.kinds import choices, kind_name, kinds, suggestion

PARTS = ("model", "data", "training", "heads")
NONE = "none"


@dataclass(frozen=True)
class Part:
    """A field that chooses among kinds."""

    path: tuple[str, ...]
    """Where it stands: names of fields, and numbers of list entries."""
    annotation: Any
    value: Any

    @property
    def is_list(self) -> bool:
        return get_origin(self.annotation) is tuple

    @property
    def known(self) -> dict[str, type]:
        return kinds(get_args(self.annotation)[0] if self.is_list else self.annotation)

    @property
    def names(self) -> list[str]:
        optional = not self.is_list and type(None) in choices(self.annotation)
        return [*self.known, NONE] if optional else list(self.known)

    @property
    def flag(self) -> str:
        return f"{'.'.join(self.path)}.{'kinds' if self.is_list else 'kind'}".replace("_", "-")

    @property
    def current(self) -> tuple[str, ...]:
        values = self.value if self.is_list else (self.value,)
        return tuple(NONE if value is None else kind_name(type(value)) for value in values)

    def make(self, names: Sequence[str]) -> Any:
        """The part as these kinds, with their defaults; kinds that it has already stay as they are."""
        if not names or (len(names) > 1 and not self.is_list):
            raise ValueError(f"--{self.flag} takes {'at least one name' if self.is_list else 'one name'}")
        made = tuple(self._make_one(name) for name in names)
        return made if self.is_list else made[0]

    def _make_one(self, name: str) -> Any:
        if name not in self.names:
            raise ValueError(f"--{self.flag}: there is no {name!r}: {suggestion(name, self.names)}")
        if name == NONE:
            return None
        if name in self.current:
            return (self.value if self.is_list else (self.value,))[self.current.index(name)]
        try:
            return self.known[name]()
        except TypeError as error:
            raise ValueError(
                f"--{self.flag}: {name} has fields without a default: write the experiment into a file with "
                f"`headgrid show`, change it there, and use --config"
            ) from error


def parts(value: Any, path: tuple[str, ...] = ()) -> Iterator[Part]:
    """Every part of a dataclass that chooses among kinds, outer ones first."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        if not path and field.name not in PARTS:
            continue
        here, annotation, current = (*path, field.name), hints[field.name], getattr(value, field.name)
        part = Part(here, annotation, current)
        if part.known and (len(part.names) > 1 or part.is_list):
            yield part
        if is_dataclass(current):
            yield from parts(current, here)
        elif isinstance(current, tuple):
            for index, entry in enumerate(current):
                if is_dataclass(entry):
                    yield from parts(entry, (*here, str(index)))


def choose_kinds(experiment: Experiment, arguments: Sequence[str]) -> Experiment:
    """The experiment with the kinds that a command line names; options that are none of these are left alone."""
    chosen = dict(_chosen(arguments))
    done: set[str] = set()
    while True:
        # One at a time, from the outside in: a new part brings parts of its own.
        part = next((part for part in parts(experiment) if part.flag in chosen.keys() - done), None)
        if part is None:
            break
        done.add(part.flag)
        experiment = _with(experiment, part.path, part.make(chosen[part.flag]))
    return for_data(experiment, experiment.data) if {"model.kind", "data.kind"} & done else experiment


def kind_options(experiment: Experiment) -> Any:
    """A dataclass whose fields are the options for kinds, so that help and completion know them."""
    annotations, values = {}, {}
    for part in parts(experiment):
        names = Literal[tuple(part.names)]
        name = "__".join((*part.path, "kind"))
        help_text = "Kinds of these parts, in order." if part.is_list else "Kind of this part."
        option = tyro.conf.arg(name=part.flag, help=help_text)
        annotations[name] = Annotated[tuple[names, ...] if part.is_list else names, option]
        values[name] = part.current if part.is_list else part.current[0]
    return dataclass(frozen=True)(type("Kinds", (), {"__annotations__": annotations, "__doc__": "", **values}))


def _chosen(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    words = list(arguments)
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        flag = flag.removeprefix("--").replace("_", "-")
        if not word.startswith("--") or not flag.endswith((".kind", ".kinds")):
            continue
        following = words[index + 1 :]
        end = next((at for at, other in enumerate(following) if other.startswith("-")), len(following))
        values = following[: end if flag.endswith(".kinds") else min(end, 1)]
        yield flag, [value] if equals else values


def _with(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """A copy of nested dataclasses and tuples in which one place holds something else."""
    if not path:
        return new
    if isinstance(value, tuple):
        index = int(path[0])
        return (*value[:index], _with(value[index], path[1:], new), *value[index + 1 :])
    return replace(value, **{path[0]: _with(getattr(value, path[0]), path[1:], new)})
