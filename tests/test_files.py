"""Files on disk after successful and failed writes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NotRequired, TypedDict

import pytest

from nmt_cli.errors import ModelError, NmtError
from nmt_cli.files import read_record, replacing, replacing_folder, replacing_path

MARKER = "made.json"


def listing(folder: Path) -> dict[str, str]:
    """Return the content of every file below a folder, including hidden ones."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def fill(folder: Path, text: str) -> None:
    with replacing_folder(folder, MARKER) as work:
        (work / MARKER).write_text(text)
        (work / "sub").mkdir()
        (work / "sub" / text).write_text(text)


def test_a_file_is_written_as_utf8_with_lf_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    with replacing(path) as out:
        out.write("ação\n")
        assert not path.exists()
    assert path.read_bytes() == "ação\n".encode()
    assert listing(tmp_path) == {"a/b/c.txt": "ação\n"}


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as out:
        out.write("half")
        out.flush()
        raise ZeroDivisionError
    assert listing(tmp_path) == {"a.txt": "old"}
    with pytest.raises(KeyboardInterrupt), replacing_path(tmp_path / "new.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert listing(tmp_path) == {"a.txt": "old"}


def test_the_temporary_file_keeps_the_name(tmp_path: Path) -> None:
    with replacing_path(tmp_path / "a.weights.h5") as temporary:
        assert temporary.name == "a.weights.h5"
        assert temporary.parent.parent == tmp_path
        assert temporary.parent.stat().st_mode & 0o777 == 0o700
        temporary.touch()


def test_a_folder_replaces_an_older_one_completely(tmp_path: Path) -> None:
    fill(tmp_path / "f", "one")
    fill(tmp_path / "f", "two")
    assert listing(tmp_path) == {"f/made.json": "two", "f/sub/two": "two"}
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("existing", [False, True])
def test_an_exception_leaves_the_old_folder_and_nothing_else(
    tmp_path: Path, existing: bool
) -> None:
    if existing:
        fill(tmp_path / "f", "one")
    before = listing(tmp_path)
    with pytest.raises(ZeroDivisionError), replacing_folder(tmp_path / "f", MARKER) as work:
        (work / MARKER).write_text("half")
        raise ZeroDivisionError
    assert listing(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == existing


def test_the_old_folder_is_restored_if_the_new_one_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "f", "one")
    before, rename = listing(tmp_path), Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == tmp_path / "f" and not self.name.endswith(".old"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(NmtError, match=r"f: cannot be written \(Input/output error\)"):
        fill(tmp_path / "f", "two")
    assert listing(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("mine")
    before = listing(tmp_path)
    for name in ("thesis", "file"):
        with pytest.raises(NmtError) as caught:
            fill(tmp_path / name, "x")
        assert caught.value.message == (
            f"{tmp_path / name}: exists and contains something else (no {MARKER})"
        )
        assert "`output`" in caught.value.hint
    assert listing(tmp_path) == before
    (tmp_path / "empty").mkdir()
    fill(tmp_path / "empty", "x")
    assert (tmp_path / "empty" / MARKER).exists()


def test_unwritable_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(NmtError, match=r"folder: is a folder, not a file; name a file$"):
        replacing(tmp_path / "folder").__enter__()
    for path in (tmp_path / "file" / "a", tmp_path / "file" / "a" / "b"):
        with pytest.raises(NmtError, match="cannot be written") as caught, replacing(path) as out:
            out.write("x")
        assert caught.value.message.startswith(f"{path}: ")
    with pytest.raises(NmtError, match="cannot be written"):
        fill(tmp_path / "file" / "a", "x")
    assert listing(tmp_path) == {"file": "x"}
    assert {entry.name for entry in tmp_path.iterdir()} == {"file", "folder"}


FULL_DISK = """
import resource, sys
from pathlib import Path
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing, replacing_folder
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
here = Path(sys.argv[1])
def text(size):
    with replacing(here / "a.txt") as out:
        out.write("x" * size)
def folder(size):
    with replacing_folder(here / "f", "made.json") as work:
        (work / "made.json").write_text("new")
        (work / "big").write_text("x" * size)
for write in (text, folder):
    try:
        write(5000)
    except NmtError as error:
        print(error)
"""


def test_a_full_disk_keeps_the_old_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    fill(tmp_path / "f", "one")
    before = listing(tmp_path)
    done = subprocess.run(
        [sys.executable, "-B", "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    messages = done.stdout.splitlines()
    assert len(messages) == 2
    for message, name in zip(messages, ("a.txt", "f"), strict=True):
        assert message.startswith(f"{tmp_path / name}: cannot be written (File too large); ")
        assert "free disk space" in message
    assert listing(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "f"}


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        with replacing(tmp_path / "a.txt") as out:
            out.write("x")
        fill(tmp_path / "f", "x")
        assert os.umask(mask) == mask  # unchanged
    finally:
        os.umask(old)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o777 & ~mask


def test_links_are_followed(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    fill(disk / "f", "one")
    (disk / "a.txt").write_text("old")
    (tmp_path / "f").symlink_to(disk / "f")
    (tmp_path / "a.txt").symlink_to(disk / "a.txt")
    fill(tmp_path / "f", "two")
    with replacing(tmp_path / "a.txt") as out:
        out.write("new")
    assert (tmp_path / "f").is_symlink()
    assert (tmp_path / "a.txt").is_symlink()
    assert listing(disk) == {"a.txt": "new", "f/made.json": "two", "f/sub/two": "two"}


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replacing(pipe) as out:
            out.write("through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


class _Record(TypedDict):
    name: str
    sizes: NotRequired[dict[str, int]]


class TestRecord:
    def read(self, path: Path) -> _Record:
        return read_record(path, _Record, 2, "a model", "train it again")

    def test_other_keys_are_ignored(self, tmp_path: Path) -> None:
        path = tmp_path / "model.json"
        path.write_text('{"format": 1, "name": "x", "later": []}')
        assert self.read(path) == {"name": "x"}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "{folder}: not a model (no model.json)"),
            (
                b'{"format": 3}',
                "{folder}: written by a newer nmt (format 3, this one reads up to 2)",
            ),
            (b'{"format": "1"}', "{path}: damaged (no format number)"),
            (b'{"format": 1}', "{path}: damaged (Object missing required field name)"),
            (
                b'{"format": 1, "name": 1}',
                "{path}: damaged (Expected str, got int - at $.name)",
            ),
            (b"[]", "{path}: damaged (Expected object, got array)"),
        ],
    )
    def test_a_clear_error(self, tmp_path: Path, content: bytes | None, message: str) -> None:
        path = tmp_path / "model.json"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelError) as caught:
            self.read(path)
        assert caught.value.message == message.format(folder=tmp_path, path=path)
        assert caught.value.hint in ("train it again", "upgrade nmt")

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"null", b"\xff", b"[" * 100_000, b" " * 5_000_000]
    )
    def test_damage(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "model.json"
        path.write_bytes(content)
        with pytest.raises(ModelError, match="damaged"):
            self.read(path)

    def test_a_pipe_is_not_opened(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "model.json")
        with pytest.raises(ModelError, match="not a file"):
            self.read(tmp_path / "model.json")
