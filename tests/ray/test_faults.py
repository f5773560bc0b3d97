"""What is killed, full, broken or started twice: the output stays that of one process."""

import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.harness import nmt
from tests.ray.conftest import MODEL, ROOT, Job, lines, single, translate, write

pytestmark = pytest.mark.slow
COUNT = 600
# Loaded by every Python process of a job: kills it when it renames a file, or translates a line.
SABOTAGE = """
import os, pathlib, re, signal, sys
def kill_once():
    try:
        os.close(os.open(os.environ["KILLED"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
replace = pathlib.Path.replace
def killing(self, target):
    if os.environ.get("KILL_AT") and re.match(os.environ["KILL_AT"], self.name):
        kill_once()
    return replace(self, target)
pathlib.Path.replace = killing
if os.environ.get("POISON"):
    from nmt_cli.search import translator
    window = translator.Translator._window
    def poisoned(self, lines, number):
        if any(os.environ["POISON"] in each.text for each in lines):
            os.kill(os.getpid(), signal.SIGKILL)
        return window(self, lines, number)
    translator.Translator._window = poisoned
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write(tmp_path / "a.txt", COUNT)


@pytest.fixture
def sabotaged(tmp_path: Path) -> dict[str, str]:
    """Variables for a job that sabotages itself."""
    folder = tmp_path / "sabotage"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SABOTAGE)
    return {"PYTHONPATH": f"{folder}:{ROOT}", "KILLED": str(tmp_path / "killed")}


def job(text: Path, *options: object, **given: dict[str, str]) -> Job:
    words = ["translate", text.name, "-o", "out.txt", "-m", MODEL, "--engine", "ray"]
    return Job(*words, "--threads", 1, *options, cwd=text.parent, **given)


def shards(text: Path) -> list[Path]:
    return list((text.parent / "out.txt.shards").glob("0*"))


def assert_complete(text: Path) -> None:
    """The output is that of one process, and nothing else is left."""
    assert (text.parent / "out.txt").read_bytes() == single(text)
    assert not (text.parent / "out.txt.shards").exists()


def actors(job: Job) -> list[int]:
    """The processes of a job's actors."""
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def belongs(pid: int) -> bool:
        return pid == job.pid or (pid in parents and belongs(parents[pid]))

    return [int(pid) for pid, _, args in rows if "ray::Map" in args and belongs(int(pid))]


def test_a_killed_actor(text: Path) -> None:
    running = job(text)
    running.until(lambda: shards(text))
    [actor] = actors(running)
    os.kill(actor, signal.SIGKILL)
    code, message = running.finish()
    assert code == 0, message
    assert_complete(text)


def test_a_killed_driver(text: Path) -> None:
    running = job(text)
    running.until(lambda: len(shards(text)) > 2)
    running.kill()
    before = {path: path.stat().st_mtime_ns for path in shards(text)}
    code, message = job(text).finish()
    assert (code, message.partition(";")[0]) == (
        1,
        "nmt: out.txt.shards: left by an interrupted translation",
    )
    code, message = job(text, "--resume", "--beam-size", 1).finish()
    assert code == 1
    assert message.startswith("nmt: out.txt.shards: was started with another model, other options")
    running = job(text, "--resume")
    kept: list[bool] = []

    def started() -> bool:
        now = {path: path.stat().st_mtime_ns for path in shards(text)}
        kept.append(before.items() <= now.items())
        return len(now) > len(before)

    running.until(started)
    assert all(kept)
    code, message = running.finish()
    assert code == 0
    done = int(re.search(r"translated (\d+) lines", message)[1])  # type: ignore[index]
    assert 0 < done <= COUNT - 40 * len(before)
    assert_complete(text)
    code, message = job(text, "--resume").finish()
    assert (code, message) == (0, "out.txt: already complete")


@pytest.mark.parametrize("place", ["0", "out.txt"], ids=["actor", "driver"])
def test_a_kill_between_write_and_commit(text: Path, sabotaged: dict[str, str], place: str) -> None:
    code, message = job(text, environment={**sabotaged, "KILL_AT": place}).finish()
    assert (text.parent / "killed").exists()
    if place == "out.txt":  # the driver itself
        assert code == -signal.SIGKILL
        assert not (text.parent / "out.txt").exists()
        code, message = job(text, "--resume").finish()
        assert message == ""  # nothing was left to translate
    assert code == 0, message
    assert_complete(text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(text: Path, number: signal.Signals) -> None:
    running = job(text)
    running.until(lambda: shards(text))
    os.kill(running.pid, number)
    assert running.finish()[0] == 130
    assert "***" not in running.output  # no dump of Ray's
    assert not actors(running)
    assert job(text, "--resume").finish()[0] == 0
    assert_complete(text)


def test_a_killed_process_of_ray(text: Path) -> None:
    """One message, and no temporary folder; nor is there one of a job that was killed."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short name
        first = job(text, environment={"TMPDIR": folder})
        first.until(lambda: shards(text))
        first.kill()
        assert list(Path(folder).glob("nmt-r*"))
        running = job(text, "--resume", environment={"TMPDIR": folder})
        before = len(shards(text))
        running.until(lambda: len(shards(text)) > before)
        [left] = Path(folder).glob("nmt-r*")
        listing = subprocess.run(["ps", "-ewwo", "pid,args"], capture_output=True, text=True).stdout
        rows = (line.split(None, 2) for line in listing.splitlines() if str(left) in line)
        [raylet] = [int(row[0]) for row in rows if row[1].endswith("/raylet")]
        os.kill(raylet, signal.SIGKILL)
        code, message = running.finish()
        assert (code, message) == (
            1,
            "nmt: Ray's process raylet died; check the free memory; --resume continues the job",
        )
        assert not list(Path(folder).glob("*nmt-r*"))
    code, message = job(text, "--resume").finish()
    assert code == 0, message
    assert_complete(text)


def test_a_full_disk(text: Path) -> None:
    small = text.parent / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        words = [text.name, "-o", "small/out.txt"]
        failed = Job("translate", *words, "-m", MODEL, "--engine", "ray", cwd=text.parent)
        assert failed.finish()[0] == 1
        problem = r"nmt: .*: cannot be written \(No space left on device\); check .*\n"
        assert re.fullmatch(problem, failed.output)  # and nothing of Ray's
        assert not (small / "out.txt").exists()
        subprocess.run(["mount", "-o", "remount,size=2M", str(small)], check=True)
        assert translate(*words, "--resume", cwd=text.parent)[0] == 0
        assert (small / "out.txt").read_bytes() == single(text)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_two_jobs_with_one_output(text: Path) -> None:
    first = job(text)
    first.until(lambda: shards(text))
    os.kill(first.pid, signal.SIGSTOP)  # or it might end before the others begin
    try:
        for options in ([], ["--resume"], ["--force"]):
            code, message = job(text, *options).finish()
            assert code == 1
            assert message.startswith(f"nmt: {text.parent}/out.txt: in use by process ")
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.finish()[0] == 0
    assert_complete(text)


def test_a_line_that_kills_every_actor(text: Path, sabotaged: dict[str, str]) -> None:
    content = lines(100)
    content[57] = f"veneno {content[57]}"
    text.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    running = job(text, environment={**sabotaged, "POISON": "veneno", "MAX_RESTARTS": "2"})
    assert running.finish()[0] == 1  # Ray prints messages of its own
    assert "nmt: an actor died 3 times; " in running.output, running.output
    assert len(shards(text)) < 3
    assert job(text, "--resume").finish()[0] == 0
    assert_complete(text)


@pytest.mark.parametrize("command", ["backtranslate", "distill"])
def test_training_pairs(text: Path, command: str) -> None:
    write(text.parent / "b.txt", 30)
    words = [command, "a.txt", "b.txt", "-m", MODEL, "-o"]
    assert nmt(*words, "one", cwd=text.parent).code == 0
    ray = [*words, "out", "--engine", "ray", "--threads", 1]
    running = Job(*ray, cwd=text.parent)
    running.until(lambda: len(list((text.parent / "out.shards").rglob("0*-*"))) > 2)
    running.kill()
    assert not list(text.parent.glob("out.[pe]*"))
    code, message = Job(*ray, cwd=text.parent).finish()  # continues
    assert code == 0, message
    for language in ("pt", "en"):
        one, out = (text.parent / f"{name}.{language}" for name in ("one", "out"))
        assert out.read_bytes() == one.read_bytes()
    assert not (text.parent / "out.shards").exists()
