"""Locks on folders: who gets one, and what is left afterwards."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.files import locked, replacing_folder

HOLDER = """
import sys
from pathlib import Path
from nmt_cli.files import locked
with locked(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    sys.stdin.read()
"""
# Makes and removes a file that nobody else may have made.
CONTENDER = """
import sys
from pathlib import Path
from nmt_cli.errors import NmtError
from nmt_cli.files import locked
folder, mine = Path(sys.argv[1]), Path(sys.argv[1] + ".mine")
for _ in range(300):
    try:
        with locked(folder):
            mine.touch(exist_ok=False)
            mine.unlink()
    except NmtError as error:
        assert ": in use by " in str(error), error
"""


@contextmanager
def held(folder: Path, mode: str = "alone") -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds a lock until its standard input is closed."""
    words = [sys.executable, "-c", HOLDER, str(folder), mode]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield process


def in_use(folder: Path, process: str) -> str:
    return f"{folder}: in use by {process}; wait until it has finished, or stop it"


def test_a_folder_in_use_is_refused_until_its_process_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "new"
    with held(folder) as process:
        with pytest.raises(NmtError) as caught, locked(folder):
            pass
        assert str(caught.value) == in_use(
            folder, f"process {process.pid} on {os.uname().nodename}"
        )
        process.kill()
    assert [path.name for path in folder.parent.iterdir()] == [".new.lock"]
    with locked(folder):
        assert str(os.getpid()) in (folder.parent / ".new.lock").read_text()
    assert not list(folder.parent.iterdir())


def test_a_lock_outlives_the_replacement_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "f")
    for _ in range(2):
        with locked(tmp_path / "f"):
            with replacing_folder(tmp_path / "f", "made.json") as work:
                (work / "made.json").touch()
            with (
                pytest.raises(NmtError, match="link: in use by process"),
                locked(tmp_path / "link"),
            ):
                pass
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "f"):
        raise ZeroDivisionError
    assert {path.name for path in tmp_path.iterdir()} == {"f", "link"}


def test_readers_share_a_lock(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    with held(folder, "shared") as process:
        with locked(folder, shared=True), pytest.raises(NmtError), locked(folder):
            pass
        # The process that wrote its name last is gone.
        with pytest.raises(NmtError) as caught, locked(folder):
            pass
        assert str(caught.value) == in_use(folder, "another process")
        assert process.stdin
        process.stdin.close()
    with locked(folder), pytest.raises(NmtError, match="in use"), locked(folder, shared=True):
        pass
    assert not list(tmp_path.iterdir())


def test_only_one_of_many_processes_gets_a_lock(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CONTENDER, str(tmp_path / "f")]
    processes = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        message = process.communicate()[1]
        assert process.returncode == 0, message.decode()
    assert not list(tmp_path.iterdir())


def test_planted_links_are_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    planted = tmp_path / ".f.lock"
    for plant in (planted.symlink_to, planted.hardlink_to):
        plant(tmp_path / "mine")
        with pytest.raises(NmtError, match=r"\.f\.lock: cannot be written \(Too many "):
            locked(tmp_path / "f").__enter__()
        planted.unlink()
    assert (tmp_path / "mine").read_text() == "mine"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "f"
    with pytest.raises(NmtError) as caught, locked(folder):
        pass
    assert str(caught.value).startswith(f"{folder}: cannot be written (")
    with locked(folder, shared=True):  # nobody can write there either
        pass


def test_a_mounted_folder_is_locked_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with locked(tmp_path / "f"):
        assert [str(inside.relative_to(tmp_path)) for inside in tmp_path.rglob("*")] == [
            "f",
            "f/.f.lock",
        ]
    assert not list((tmp_path / "f").iterdir())


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(handle: int, mode: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with locked(tmp_path / "f"), locked(tmp_path / "g", shared=True):
        pass
    assert not list(tmp_path.iterdir())


def test_folders_made_for_the_lock_alone_are_removed(tmp_path: Path) -> None:
    with locked(tmp_path / "runs" / "deep" / "new"):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path / "runs" / "new"):
        (tmp_path / "runs" / "new").mkdir()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["new"]
