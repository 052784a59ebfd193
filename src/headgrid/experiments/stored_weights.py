"""Weights of an earlier model that a training begins with, in the place of random ones."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headgrid.training.run_folder import INITIAL_WEIGHTS


@dataclass(frozen=True)
class StoredWeights:
    """A file of weights, and its checksum: other weights under the same name are refused.

    A run keeps a copy of the file in its folder, so that it can be resumed and repeated when the file is gone.
    """

    file: Path
    """The file that the weights came from."""
    sha256: str
    """SHA-256 of the file."""

    @staticmethod
    def of(file: Path) -> "StoredWeights":
        return StoredWeights(file, checksum(file))

    def find(self, folders: Iterable[Path]) -> Path:
        """Where the weights are now: the copy in one of these run folders, or the file itself."""
        places = [*(folder / INITIAL_WEIGHTS for folder in folders), self.file]
        found = [place for place in places if place.is_file()]
        for place in found:
            if checksum(place) == self.sha256:
                return place
        if found:
            raise ValueError(
                f"{found[-1]} holds other weights than those that the experiment begins with: its SHA-256 is not "
                f"{self.sha256}; restore the file, or begin with what it holds now by --from"
            )
        raise ValueError(
            f"the weights that the experiment begins with are gone: {' and '.join(map(str, places))} do not exist"
            if len(places) > 1
            else f"the weights that the experiment begins with are gone: {self.file} does not exist"
        )


def checksum(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
