"""The binary layout of CIFAR: records of label bytes, then 3 x 32 x 32 pixel bytes, and nothing else."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from headgrid.data.tensor_dataset import LabelledImages

NUM_PIXEL_BYTES = 3 * 32 * 32
"""Channel by channel, row by row."""


@dataclass(frozen=True)
class BinaryLayout:
    folder: str
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    num_label_bytes: int
    """The last of them is the class."""

    def read(self, file: Path, num_images: int) -> LabelledImages:
        record_size = self.num_label_bytes + NUM_PIXEL_BYTES
        # Every release has a fixed number of records. A file with fewer or more is no smaller data set, but a
        # damaged copy, and training on it would give a wrong number silently.
        if file.stat().st_size != num_images * record_size:
            raise ValueError(
                f"{file} has {file.stat().st_size} bytes, but {num_images} records of {record_size} bytes make "
                f"{num_images * record_size}; it is damaged or incomplete, fetch it again"
            )
        records = torch.from_numpy(np.fromfile(file, dtype=np.uint8)).view(num_images, record_size)
        images = records[:, self.num_label_bytes :].reshape(num_images, 3, 32, 32)
        return LabelledImages(images, records[:, self.num_label_bytes - 1].long())
