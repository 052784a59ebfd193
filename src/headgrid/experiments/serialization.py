"""Experiments and models as YAML that people can read and write, and back without loss.

Where a field chooses among kinds, the mapping says which with `kind`. Every field is written out, in the order of
its class; on reading, fields that are absent have their defaults, and keys that nobody knows are refused.
"""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from cattrs.errors import BaseValidationError

from headgrid.experiments.converter import explain, make_converter
from headgrid.experiments.experiment import Experiment, FileConfig

Value = TypeVar("Value")

_converter = make_converter()


def experiment_to_yaml(experiment: Experiment) -> str:
    return _write(experiment, Experiment)


def experiment_from_yaml(text: str, source: str = "the experiment") -> Experiment:
    return _read(text, Experiment, source)


def read_experiment(path: Path) -> Experiment:
    """The experiment of a YAML file."""
    return experiment_from_yaml(path.read_text(encoding="utf-8"), str(path))


def model_to_yaml(model: FileConfig) -> str:
    return _write(model, FileConfig)


def model_from_yaml(text: str, source: str = "the model") -> FileConfig:
    return _read(text, FileConfig, source)


def to_plain(value: Any, kind: Any) -> Any:
    """Mappings, lists, numbers and words, ready for YAML or JSON."""
    return _converter.unstructure(value, kind)


def _write(value: Any, kind: Any) -> str:
    plain = to_plain(value, kind)
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _read(text: str, kind: Any, source: str) -> Any:
    try:
        plain = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{source} is no YAML: {_in_one_line(error)}") from error
    if not isinstance(plain, dict):
        raise ValueError(f"{source} holds no mapping of names to values, but {type(plain).__name__}")
    try:
        return _converter.structure(plain, kind)
    except (BaseValidationError, ValueError) as error:
        raise ValueError(f"{source}: {explain(error)}") from error


def _in_one_line(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    return f"{error.problem} in line {error.problem_mark.line + 1}"


class _Dumper(yaml.SafeDumper):
    """Short lists and mappings stand on one line; nothing is abbreviated by an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _one_line_if_short(dumper: _Dumper, value: Any) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_flat(value))


def _is_flat(value: Any) -> bool:
    return not any(isinstance(entry, (dict, list, tuple)) for entry in value)


_Dumper.add_representer(list, _one_line_if_short)
_Dumper.add_representer(tuple, _one_line_if_short)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently drop one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands there twice", node.start_mark
                )
        return super().construct_mapping(node, deep)
