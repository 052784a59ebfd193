"""`--data`: the name of a data set, or a folder of images."""

from dataclasses import replace
from pathlib import Path

from headgrid.data import Cifar10, Cifar100, Embedded, ImageFolder
from headgrid.experiments import DataConfig
from headgrid.experiments.kinds import suggestion

DATA = {"cifar10": Cifar10, "cifar100": Cifar100, "embedded": Embedded}


def choose_data(
    name: str | None, data_dir: Path | None, current: DataConfig, image_size: tuple[int, int]
) -> DataConfig:
    """The data of this name, which are the current ones without a name, read from ``data_dir``.

    Images of a folder are brought to ``image_size``.
    """
    data = current if name is None else _named(name, current, image_size)
    if data_dir is None:
        return data
    if not isinstance(data, Cifar10 | Cifar100):
        raise ValueError(
            "--data-dir says where the CIFAR files are; a folder of images is named with --data itself"
        )
    return replace(data, directory=data_dir)


def _named(name: str, current: DataConfig, image_size: tuple[int, int]) -> DataConfig:
    if name in DATA:
        # An experiment may have chosen something about its data that should stay.
        return current if type(current) is DATA[name] else DATA[name]()
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ValueError(f"--data {name}: there is no such folder and no such data set: {suggestion(name, DATA)}")
    return ImageFolder(folder, image_size=image_size)
