"""The folder of one training run.

    experiment.yaml      what is trained, as the caller wrote it
    initial.safetensors  the weights that the training began with, where they were not random
    environment.json     versions, commit and hardware of the first start
    metrics.jsonl        one row per epoch; machine-dependent values only under `seconds` and `images_per_second`
    centers.jsonl        what `describe` tells of the model, before training and after every epoch (head centers)
    events.jsonl         starts, resumes, interruptions, the end
    checkpoints/         last, best and every k-th epoch
    result.json          the end of a finished run

A row is written before the checkpoint that contains its epoch, and the checkpoint decides what has happened: on
resume newer rows are removed, and the same rows come again.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from headgrid.training.checkpoint import (
    CHECKPOINTS,
    Checkpoint,
    load_checkpoint,
    remove_lost_states,
    save_checkpoint,
)
from headgrid.training.files import (
    Row,
    append_row,
    commit,
    keep_rows,
    read_json,
    read_rows,
    remove_leftovers,
    temporary_name,
    write_json,
    write_text,
)
from headgrid.training.lock import locked

INITIAL_WEIGHTS = "initial.safetensors"


class RunFolder:
    """Paths and contents of a run folder, to be written by one training and read by everybody."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.experiment_file = path / "experiment.yaml"
        self.environment_file = path / "environment.json"
        self.metrics_file = path / "metrics.jsonl"
        self.centers_file = path / "centers.jsonl"
        self.events_file = path / "events.jsonl"
        self.result_file = path / "result.json"
        self.initial_weights_file = path / INITIAL_WEIGHTS
        self.checkpoints = path / CHECKPOINTS

    def metrics(self) -> list[Row]:
        return read_rows(self.metrics_file)

    def centers(self) -> list[Row]:
        return read_rows(self.centers_file)

    def events(self) -> list[Row]:
        return read_rows(self.events_file)

    def experiment(self) -> str:
        if not self.experiment_file.exists():
            raise ValueError(f"{self.path} is no run folder: it has no {self.experiment_file.name}")
        return self.experiment_file.read_text(encoding="utf-8")

    def result(self) -> dict[str, Any] | None:
        """What a finished run reached; none for an unfinished one."""
        return read_json(self.result_file) if self.result_file.exists() else None

    @contextmanager
    def opened(self, experiment: str, resume: bool) -> Iterator[Checkpoint | None]:
        """Hold the folder for a training of this experiment, and give the checkpoint to go on from, if any."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise ValueError(f"{self.path} is a file: a run needs a folder") from error
        if not self._is_new():
            if not resume:
                raise ValueError(
                    f"the run folder {self.path} is not empty: resume the run in it, or choose another folder"
                )
            self.experiment()
        with locked(self.path):
            yield self._prepare(experiment)

    def _is_new(self) -> bool:
        """Whether nothing stands here but leftovers (hidden files) of a process killed at once."""
        return all(path.name.startswith(".") for path in self.path.iterdir())

    def _prepare(self, experiment: str) -> Checkpoint | None:
        if self._is_new():
            write_text(self.experiment_file, experiment)
        _check_same(self.experiment(), experiment, self.path)
        remove_leftovers(self.path)
        remove_leftovers(self.checkpoints)
        remove_lost_states(self.checkpoints)
        keep_rows(self.events_file, lambda row: True)
        if self.result_file.exists():
            return None
        checkpoint = load_checkpoint(self.checkpoints, "last")
        epoch = -1 if checkpoint is None else checkpoint.state["epoch"]
        for path in (self.metrics_file, self.centers_file):
            keep_rows(path, lambda row: row["epoch"] <= epoch)
        return checkpoint

    def add_event(self, event: str, **details: Any) -> None:
        time = datetime.now(UTC).isoformat(timespec="seconds")
        append_row(self.events_file, {"event": event, "time": time, **details})

    def keep_initial_weights(self, file: Path) -> None:
        """Keep a copy of this file, which may be the copy itself."""
        if not (self.initial_weights_file.exists() and file.samefile(self.initial_weights_file)):
            shutil.copyfile(file, temporary_name(self.initial_weights_file))
            commit(self.initial_weights_file)

    def write_environment(self, environment: dict[str, Any]) -> None:
        write_json(self.environment_file, environment)

    def add_metrics(self, row: Row) -> None:
        append_row(self.metrics_file, row)

    def add_centers(self, row: Row) -> None:
        append_row(self.centers_file, row)

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        save_checkpoint(self.checkpoints, name, checkpoint)

    def write_result(self, result: dict[str, Any]) -> None:
        write_json(self.result_file, result)


def _check_same(stored: str, given: str, path: Path) -> None:
    if stored == given:
        return
    try:
        difference = first_difference(yaml.safe_load(stored), yaml.safe_load(given))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}/experiment.yaml is damaged: {' '.join(str(error).split())}") from error
    if difference is not None:
        where, old, new = difference
        raise ValueError(
            f"{path} holds another experiment: {where} is {old!r} there and {new!r} now; "
            "resume with the stored experiment, or choose another folder"
        )


_MISSING = "(absent)"


def first_difference(stored: Any, given: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """The first place, in the order of the file, in which two resolved YAML documents differ."""
    if isinstance(stored, dict) and isinstance(given, dict):
        for key in [*stored, *(key for key in given if key not in stored)]:
            place = f"{path}.{key}" if path else str(key)
            found = first_difference(stored.get(key, _MISSING), given.get(key, _MISSING), place)
            if found is not None:
                return found
        return None
    if isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
        for index, (old, new) in enumerate(zip(stored, given, strict=True)):
            found = first_difference(old, new, f"{path}[{index}]")
            if found is not None:
                return found
        return None
    return None if stored == given else (path or "the whole document", stored, given)
