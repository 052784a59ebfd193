"""A published folder, fetched as an archive: continued where it broke off, checked, then moved into place."""

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from headgrid.data.archive import unpack_folder
from headgrid.data.progress import progress

NUM_ATTEMPTS = 5
SECONDS_WITHOUT_ANSWER = 30.0
CHUNK_SIZE = 1 << 18


@dataclass(frozen=True)
class RemoteFolder:
    url: str
    """Where the .tar.gz is."""
    md5: str
    """Its published checksum."""
    folder: str
    """The folder in it."""


def fetch_folder(remote: RemoteFolder, parent: Path) -> None:
    """Puts the folder into `parent`. Where several processes ask, one of them fetches and the others wait."""
    parent.mkdir(parents=True, exist_ok=True)
    with FileLock(parent / f".{remote.folder}.lock"):  # the system frees it when its process dies
        if (parent / remote.folder).is_dir():
            return
        archive = parent / remote.url.rsplit("/", 1)[-1]
        download(remote.url, archive, remote.md5)
        unpacked = parent / f".{remote.folder}.unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)  # of a process that was killed
        try:
            unpack_folder(archive, remote.folder, unpacked)
            os.replace(unpacked, parent / remote.folder)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        archive.unlink()


def download(url: str, file: Path, md5: str) -> None:
    """Writes `file`. What came before a connection broke stays in `file`.part, and the next call continues it."""
    if file.exists() and _md5(file) == md5:
        return
    part = file.with_name(file.name + ".part")
    for attempt in range(1, NUM_ATTEMPTS + 1):
        num_bytes_before = _size(part)
        try:
            _append_rest(url, part)
            break
        except (OSError, http.client.HTTPException) as error:
            # A broken connection is tried again as long as something comes.
            if attempt == NUM_ATTEMPTS or _size(part) == num_bytes_before:
                raise ValueError(f"{url} does not arrive ({error or type(error).__name__})") from error
    if (found := _md5(part)) != md5:
        part.unlink()
        raise ValueError(f"{url} arrived with the MD5 checksum {found} instead of {md5} and was thrown away")
    os.replace(part, file)


def _append_rest(url: str, part: Path) -> None:
    start = _size(part)
    headers = {"User-Agent": "headgrid", **({"Range": f"bytes={start}-"} if start else {})}
    try:
        request = urllib.request.Request(url, headers=headers)
        response = urllib.request.urlopen(request, timeout=SECONDS_WITHOUT_ANSWER)
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left to ask for; the checksum decides
        raise
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # a server that knows no ranges sends everything
        if (num_bytes_left := response.length) is None:
            raise ConnectionError("the server does not say how many bytes it sends")
        total = start + num_bytes_left
        title = f"fetching {url.rsplit('/', 1)[-1]} ({total / 1e6:.0f} MB)"
        with part.open("ab" if start else "wb") as stream, progress(title, total, start) as advance:
            while chunk := response.read(CHUNK_SIZE):
                stream.write(chunk)
                advance(len(chunk))
    if _size(part) < total:
        raise ConnectionError(f"the connection broke after {_size(part)} of {total} bytes")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _md5(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
