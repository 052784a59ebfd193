"""Unpacking the archive of a stranger without giving it any say in where files go."""

import shutil
import tarfile
from pathlib import Path, PurePosixPath

from headgrid.data.progress import progress


def unpack_folder(archive: Path, folder: str, destination: Path) -> None:
    """Copies the plain files that stand directly in `folder` of the archive to the new folder `destination`.

    Links, devices, absolute names, names with ".." and whatever stands elsewhere are left out. (The filter
    "data" of tarfile does as much, but the first releases of Python 3.11 lack it.)
    """
    destination.mkdir()
    title = f"unpacking {archive.name}"
    try:
        with (
            archive.open("rb") as compressed,
            tarfile.open(fileobj=compressed, mode="r|*") as tar,
            progress(title, archive.stat().st_size) as advance,
        ):
            position = 0
            for member in tar:
                path = PurePosixPath(member.name)
                stream = tar.extractfile(member) if member.isreg() else None
                if stream is not None and path.parts == (folder, path.name) and path.name != "..":
                    with (destination / path.name).open("wb") as copy:
                        shutil.copyfileobj(stream, copy)
                advance(compressed.tell() - position)
                position = compressed.tell()
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{archive} cannot be unpacked ({error})") from error
    if not any(destination.iterdir()):
        raise ValueError(f"{archive} holds no folder {folder}")
