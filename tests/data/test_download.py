"""Fetching a published folder from a server on this machine, with everything that goes wrong on the way."""

import hashlib
import io
import os
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headgrid.data import progress as progress_module
from headgrid.data.archive import unpack_folder
from headgrid.data.augmentation import NoAugmentation
from headgrid.data.cifar_files import load_cifar
from headgrid.data.cifar_releases import CIFAR_10
from headgrid.data.download import RemoteFolder, download, fetch_folder
from headgrid.data.progress import progress

CONTENT = os.urandom(100_000)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.requests = []
        self.breaks_after = []
        """Bytes after which the next connections break."""
        self.knows_ranges = True
        self.status = 200
        self.says_length = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/folder.tar.gz"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.requests.append(wanted)
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        start = 0
        if wanted and self.server.knows_ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.server.content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(self.server.content) - 1}/*")
        else:
            self.send_response(200)
        rest = self.server.content[start:]
        if self.server.says_length:
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.server.breaks_after.pop(0)] if self.server.breaks_after else rest)

    def log_message(self, *_):
        pass


@contextmanager
def serve(content):
    server = Server(content)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server():
    with serve(CONTENT) as server:
        yield server


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def archive(files):
    """A .tar.gz of name -> content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def test_whole_file(server, tmp_path):
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == [None]
    assert os.listdir(tmp_path) == ["file"]
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert len(server.requests) == 1  # what is there and right is not fetched again


def test_continues_what_an_earlier_process_left(server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT[:30_000])
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == ["bytes=30000-"]


def test_a_connection_that_breaks_is_taken_up_again(server, tmp_path):
    server.breaks_after = [10_000, 20_000, 1]
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == [None, "bytes=10000-", "bytes=30000-", "bytes=30001-"]


def test_a_connection_that_brings_nothing_is_given_up_and_keeps_the_part(server, tmp_path):
    server.breaks_after = [10_000, 0]
    with pytest.raises(ValueError, match=r"does not arrive .*broke after 10000 of 100000 bytes"):
        download(server.url, tmp_path / "file", md5(CONTENT))
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:10_000]
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_connection_that_breaks_for_ever_is_given_up(server, tmp_path):
    server.breaks_after = [100] * 50
    with pytest.raises(ValueError, match="does not arrive"):
        download(server.url, tmp_path / "file", md5(CONTENT))
    assert len(server.requests) == 5


def test_a_server_without_ranges_sends_everything_again(server, tmp_path):
    server.knows_ranges = False
    (tmp_path / "file.part").write_bytes(b"something else")
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_complete_part_is_checked_and_taken(server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == ["bytes=100000-"]


def test_a_wrong_checksum_throws_the_file_away(server, tmp_path):
    (tmp_path / "file.part").write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match=f"MD5 checksum [0-9a-f]{{32}} instead of {md5(CONTENT)}"):
        download(server.url, tmp_path / "file", md5(CONTENT))
    assert os.listdir(tmp_path) == []
    download(server.url, tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_no_such_file_on_the_server(server, tmp_path):
    server.status = 404
    with pytest.raises(ValueError, match=r"does not arrive .*404"):
        download(server.url, tmp_path / "file", md5(CONTENT))
    assert len(server.requests) == 1


def test_an_unknown_length_is_refused(server, tmp_path):
    server.says_length = False
    with pytest.raises(ValueError, match="the server does not say how many bytes it sends"):
        download(server.url, tmp_path / "file", md5(CONTENT))


def test_fetches_a_folder(tmp_path):
    content = archive({"made/a.bin": b"A" * 5000, "made/b.txt": b"B"})
    with serve(content) as server:
        remote = RemoteFolder(server.url, md5(content), "made")
        fetch_folder(remote, tmp_path / "new" / "data")
        assert sorted(os.listdir(tmp_path / "new" / "data")) == [".made.lock", "made"]
        assert (tmp_path / "new" / "data" / "made" / "a.bin").read_bytes() == b"A" * 5000
        fetch_folder(remote, tmp_path / "new" / "data")
        assert len(server.requests) == 1


def test_leftovers_of_a_killed_process_do_no_harm(tmp_path):
    content = archive({"made/a.bin": b"A"})
    (tmp_path / ".made.lock").touch()
    (tmp_path / ".made.unpacked").mkdir()
    (tmp_path / ".made.unpacked" / "half.bin").touch()
    with serve(content) as server:
        fetch_folder(RemoteFolder(server.url, md5(content), "made"), tmp_path)
    assert os.listdir(tmp_path / "made") == ["a.bin"]


def test_many_processes_fetch_once(tmp_path):
    content = archive({"made/a.bin": os.urandom(300_000)})
    with serve(content) as server:
        remote = RemoteFolder(server.url, md5(content), "made")
        threads = [threading.Thread(target=fetch_folder, args=(remote, tmp_path)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 1
    assert os.listdir(tmp_path / "made") == ["a.bin"]


def test_cifar_is_fetched_where_it_is_looked_for_first(tmp_path):
    records = bytes([1] + [0] * 3072)
    names = CIFAR_10.layouts[0]
    content = archive(
        {f"cifar-10-batches-bin/{name}": records * 10 for name in (*names.train_files, *names.test_files)}
    )
    with serve(content) as server:
        remote = RemoteFolder(server.url, md5(content), "cifar-10-batches-bin")
        (tmp_path / "data").mkdir()
        release = replace(CIFAR_10, num_train=50, num_test=10, remote=remote)
        dataset = load_cifar(release, "small", tmp_path / "data", 0, NoAugmentation(), 0)
    assert dataset.num_images == {"train": 50, "validation": 0, "test": 10}
    assert (tmp_path / "data" / "cifar-10-batches-bin" / "test_batch.bin").exists()


def test_an_archive_has_no_say_in_where_files_go(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name in (
            "made/good",
            "made/../../evil",
            "/absolute",
            "../evil",
            "made/sub/evil",
            "other/evil",
            "made/..",
        ):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"data"))
        link = tarfile.TarInfo("made/link")
        link.type, link.linkname = tarfile.SYMTYPE, "../../outside"
        tar.addfile(link)
        hard_link = tarfile.TarInfo("made/hard")
        hard_link.type, hard_link.linkname = tarfile.LNKTYPE, "../../outside"
        tar.addfile(hard_link)
    (tmp_path / "inner").mkdir()
    (tmp_path / "evil.tar.gz").write_bytes(stream.getvalue())
    unpack_folder(tmp_path / "evil.tar.gz", "made", tmp_path / "inner" / "made")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["evil.tar.gz", "good", "inner", "made"]


@pytest.mark.parametrize(
    "content", [b"no archive", archive({"other/a": b"A"})[:40], b""], ids=["text", "truncated", "empty"]
)
def test_a_damaged_archive_is_named(tmp_path, content):
    (tmp_path / "bad.tar.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.tar\.gz cannot be unpacked"):
        unpack_folder(tmp_path / "bad.tar.gz", "made", tmp_path / "made")


def test_an_archive_without_the_folder_is_named(tmp_path):
    (tmp_path / "bad.tar.gz").write_bytes(archive({"other/a": b"A"}))
    with pytest.raises(ValueError, match=r"bad\.tar\.gz holds no folder made"):
        unpack_folder(tmp_path / "bad.tar.gz", "made", tmp_path / "made")


def test_progress_prints_a_line_now_and_then_with_the_time_left(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    with progress("fetching", total=1000, completed=400) as advance:
        for _ in range(10):
            now[0] += 2.0
            advance(20)
    captured = capsys.readouterr()
    assert captured.out == ""  # standard output belongs to results
    assert captured.err.splitlines() == [
        "fetching: 46%, 54 s left",
        "fetching: 52%, 48 s left",
        "fetching: 58%, 42 s left",
    ]
