"""Other places that metrics can be written to. Each needs its package, and asks for it before training begins."""

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from headgrid.training.files import Row, write_text

_PREFIXES = ("training_", "validation_")


@runtime_checkable
class Writer(Protocol):
    """Receives the rows of `metrics.jsonl`, in the main process only."""

    def start(self, folder: Path, experiment: str, step: int) -> None:
        """Begin, or go on after so many steps: later rows of an earlier process come again."""
        ...

    def write(self, row: Row) -> None: ...

    def close(self) -> None: ...


def scalars(row: Row) -> dict[str, float]:
    """The numbers of a row, grouped by where they were measured: `training/loss`, `validation/accuracy`."""
    named = {}
    for key, value in row.items():
        if value is None or key == "step":
            continue
        for prefix in _PREFIXES:
            if key.startswith(prefix):
                key = f"{prefix[:-1]}/{key.removeprefix(prefix)}"
        named[key] = float(value)
    return named


class TensorBoard:
    """Writes event files into `tensorboard/` of the run folder."""

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ValueError(
                "writing for TensorBoard needs its package: pip install 'headgrid[tensorboard]'"
            ) from error
        self._make = SummaryWriter
        self._writer: Any = None

    def start(self, folder: Path, experiment: str, step: int) -> None:
        # Events from this step on that an earlier process has written are hidden by TensorBoard.
        self._writer = self._make(str(folder / "tensorboard"), purge_step=step + 1)
        if step == 0:
            self._writer.add_text("experiment", f"```\n{experiment}\n```")

    def write(self, row: Row) -> None:
        for name, value in scalars(row).items():
            self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class WeightsAndBiases:
    """Sends the metrics to Weights & Biases; a resumed run continues its page there."""

    def __init__(self, project: str = "headgrid") -> None:
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise ValueError(
                "writing to Weights & Biases needs its package: pip install 'headgrid[wandb]'"
            ) from error
        self._wandb: Any = wandb
        self.project = project
        self._run: Any = None

    def start(self, folder: Path, experiment: str, step: int) -> None:
        import yaml

        id_file = folder / "wandb_id.txt"
        if not id_file.exists():
            write_text(id_file, self._wandb.util.generate_id())
        self._run = self._wandb.init(
            project=self.project,
            name=folder.name,
            id=id_file.read_text(),
            resume="allow",
            dir=str(folder),
            config=yaml.safe_load(experiment),
        )

    def write(self, row: Row) -> None:
        self._run.log(scalars(row), step=row["step"])

    def close(self) -> None:
        if self._run is not None:
            self._run.finish()
