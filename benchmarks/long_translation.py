"""Translate a million hostile lines with and without kills, and watch what the processes use.

One translation reads the lines from a pipe without interruption. Another one, into a file, is
killed (SIGKILL) at random moments and continued with --resume; its input is a pipe as well, which
starts from the first line each time. Both are sampled in /proc, so this needs Linux.

    python benchmarks/long_translation.py --model exports/phrasebook-pt-en

Exits with 1 and keeps the files if a translation fails; if the two results differ; if a line is
missing, moved or not valid UTF-8; or if the uninterrupted translation uses more in the last tenth
of the lines than in the second one: a tenth more memory, or any more threads or descriptors.
"""

import argparse
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from hostile_lines import hostile_lines
from machine import Usage, machine, usage, versions

from nmt_cli.text.lines import is_blank

INTERVAL = 0.2  # seconds between two samples
LATEST_KILL = 2.0  # seconds after the last line that the process gets
GROWTH = 1.1
SETTLED = 50_000  # lines after which the heap has room for every mix of batches


@dataclass(frozen=True)
class Kill:
    """To be killed this many seconds after it was sent this many lines."""

    lines: int
    seconds: float


@dataclass(frozen=True)
class Sample:
    """What a process used after some seconds, when so many lines had left it through stdout."""

    seconds: float
    lines: int
    usage: Usage


@dataclass(frozen=True)
class Session:
    """One process: where it continued (None: it was killed before), and what it used."""

    after_line: int | None
    samples: list[Sample]
    code: int
    message: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", type=Path, default=Path("exports/phrasebook-pt-en"))
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beam-size", type=int, default=1)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nmt-long-"))
    text, whole, resumed = (folder / name for name in ("lines", "whole", "resumed"))
    with text.open("wb") as stream:
        stream.writelines(b"%b\n" % line for line in hostile_lines(arguments.lines, arguments.seed))
    command = [
        *(sys.executable, "-m", "nmt_cli", "translate", "--errors", "replace"),
        *("-m", str(arguments.model), "--beam-size", str(arguments.beam_size)),
    ]
    print(f"{machine()}\n{versions('onnxruntime', 'numpy')}")
    print(f"{arguments.lines:,} lines, {text.stat().st_size:,} bytes, seed {arguments.seed}\n")
    uninterrupted = run(command, text, whole)
    if uninterrupted.code:
        sys.exit(f"{uninterrupted.message}\nkept: {folder}")
    print_tenths(uninterrupted.samples, arguments.lines)
    faults = growth(uninterrupted.samples, arguments.lines)
    kills = random_kills(arguments.lines, arguments.kills, arguments.seed)
    again = [*command, "-o", str(resumed), "--resume"]
    sessions = [run(again, text, folder / "stdout", kill) for kill in [*kills, None]]
    print_sessions(sessions, kills)
    starts = [session.after_line for session in sessions if session.after_line is not None]
    if starts != sorted(starts):
        faults.append("a kill lost lines that an earlier one had left")
    failed = [session.message for session in sessions if session.code not in (0, -signal.SIGKILL)]
    faults += failed or islice(differences(text, whole, resumed), 10)
    print("\n".join(faults) or "same results, every line at its place, no growth")
    if faults:
        print(f"kept: {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if faults else 0


def random_kills(lines: int, count: int, seed: int) -> list[Kill]:
    """Kills in the order of their lines."""
    chance = random.Random(seed)
    places = sorted(chance.randrange(lines) for _ in range(count))
    return [Kill(line, chance.uniform(0, LATEST_KILL)) for line in places]


def run(command: list[str], text: Path, stdout: Path, kill: Kill | None = None) -> Session:
    """Translate the lines from a pipe, sampling what the process uses, up to its end or kill."""
    lines, began = 0, time.perf_counter()
    errors = stdout.with_suffix(".stderr")
    with stdout.open("wb") as out, errors.open("wb") as err, stdout.open("rb") as written:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err)
        samples = [Sample(0.0, 0, usage(process.pid))]
        feeder = threading.Thread(target=feed, args=(process, text, kill))
        feeder.start()
        while process.poll() is None:
            lines += written.read().count(b"\n")
            with suppress(OSError, KeyError):  # the process has just ended
                used = usage(process.pid)
                samples.append(Sample(time.perf_counter() - began, lines, used))
            time.sleep(INTERVAL)
        feeder.join()
    report = errors.read_text(encoding="utf-8")
    match = re.search(r"continuing after line ([\d,]+)", report)
    after_line = int(match[1].replace(",", "")) if match else None if process.returncode else 0
    message = report.rstrip("\n").rpartition("\n")[2]
    return Session(after_line, samples, process.returncode, message)


def feed(process: subprocess.Popen, text: Path, kill: Kill | None) -> None:
    """Write all lines to a process, or the first ones, and then kill it."""
    with suppress(BrokenPipeError), process.stdin, text.open("rb") as lines:
        if kill is None:
            shutil.copyfileobj(lines, process.stdin)
        else:
            process.stdin.writelines(islice(lines, kill.lines))
            time.sleep(kill.seconds)
            process.kill()


def in_tenth(samples: list[Sample], lines: int, tenth: int) -> list[Sample]:
    return [
        sample for sample in samples if tenth * lines <= 10 * sample.lines < (tenth + 1) * lines
    ]


def growth(samples: list[Sample], lines: int) -> list[str]:
    """What the process used more of in the last tenth of the lines than in the second one."""
    faults = []
    earlier, later = (in_tenth(samples, lines, tenth) for tenth in (1, 9))
    if not (earlier and later) or lines < 10 * SETTLED:
        print("too few lines to tell whether memory grows\n")
        return []
    for name, factor in (("resident_mib", GROWTH), ("threads", 1), ("descriptors", 1)):
        before, after = (
            statistics.median(getattr(sample.usage, name) for sample in some)
            for some in (earlier, later)
        )
        print(f"{name}: median {before:.0f} in the second tenth, {after:.0f} in the last")
        if after > factor * before:
            faults.append(f"{name}: grows from {before:.0f} to {after:.0f}")
    print()
    return faults


def differences(text: Path, whole: Path, resumed: Path) -> Iterator[str]:
    """What is wrong with the lines of the results."""
    translations: dict[bytes, bytes] = {}
    with text.open("rb") as lines, whole.open("rb") as one, resumed.open("rb") as other:
        for number, (line, made, again) in enumerate(zip_longest(lines, one, other), start=1):
            if line is None or made is None or again is None:
                yield f"line {number}: the results do not have as many lines as the text"
                return
            if made != again:
                yield f"line {number}: {made!r}, but {again!r} after kills"
            texts = [raw.decode("utf-8", "replace") for raw in (line, made)]
            if not made.endswith(b"\n") or texts[1].encode() != made:
                yield f"line {number}: {made!r} is incomplete, or not valid UTF-8"
            if is_blank(texts[0]) and not is_blank(texts[1]):
                yield f"line {number}: {made!r}, but the line is blank"
            if translations.setdefault(line, made) != made:
                yield f"line {number}: {made!r}, but an equal line before: {translations[line]!r}"


def print_tenths(samples: list[Sample], lines: int) -> None:
    print("| lines | seconds | resident MiB | peak MiB | threads | descriptors |")
    print("|---|---|---|---|---|---|")
    for tenth in range(10):
        for some in filter(None, [in_tenth(samples, lines, tenth)]):
            middle = statistics.median(sample.usage.resident_mib for sample in some)
            print(f"| to {(tenth + 1) * lines // 10:,} | {some[-1].seconds:,.0f} | {middle:,.0f} "
                  f"| {most(some)} |")  # fmt: skip
    print()


def print_sessions(sessions: list[Session], kills: list[Kill]) -> None:
    print("| continued after line | killed after input line | seconds | peak MiB | threads | "
          "descriptors |\n|---|---|---|---|---|---|")  # fmt: skip
    for session, kill in zip_longest(sessions, kills):
        start = "-" if session.after_line is None else f"{session.after_line:,}"
        end, seconds = f"{kill.lines:,}" if kill else "-", session.samples[-1].seconds
        print(f"| {start} | {end} | {seconds:,.0f} | {most(session.samples)} |")
    print()


def most(samples: list[Sample]) -> str:
    """The largest peak, threads and descriptors, as cells of a table."""
    used = [reading.usage for reading in samples]
    peak, threads, descriptors = (
        max(getattr(reading, name) for reading in used)
        for name in ("peak_mib", "threads", "descriptors")
    )
    return f"{peak:,.0f} | {threads} | {descriptors}"


if __name__ == "__main__":
    sys.exit(main())
