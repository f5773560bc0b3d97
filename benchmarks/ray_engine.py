"""Compare ``nmt translate --engine ray`` with ``nmt translate --workers`` on the same text.

Both translate a folder of short and one of long files, with one and two cores, in turns. The
difference of the times is that of the additional lines: the speed without start-up, which only
short jobs notice. The memory of all processes is sampled in /proc, so this needs Linux. Exits with
1 if outputs differ.

    python benchmarks/ray_engine.py [BUNDLE] [--text FILE] [--lines N] [--rounds N] [--cores N...]

BUNDLE is exports/pt-en by default; the text is that of the phrasebook.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

from machine import machine, usage, versions

from nmt_cli.data.corpus import sentence_pairs

NMT = [sys.executable, "-m", "nmt_cli", "translate"]
FILES = 8  # of a folder: each is a shard at least, so that all actors have work
SHORT = 80  # lines


def processes(parent: int) -> dict[int, str]:
    """The process, and all that it has started, with their names."""
    table = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, ValueError):
            stat = Path("/proc", pid, "stat").read_text()
            name = Path("/proc", pid, "cmdline").read_text().split("\0")[0]
            table[int(pid)] = int(stat.rpartition(")")[2].split()[1]), name
    family, size = {parent}, 0
    while size != len(family):
        size = len(family)
        family |= {pid for pid, (owner, _) in table.items() if owner in family}
    return {pid: table[pid][1] for pid in family if pid in table}


def run(words: list[str], memory: dict[str, float]) -> tuple[float, int]:
    """Seconds that a command takes, and the tokens that it reports.

    ``memory`` gets the peak (MiB) of one of Ray's actors, and of all other processes together.
    """
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.5):
            now = {"actor": 0.0, "all others": 0.0}
            for pid, name in processes(process.pid).items():
                with suppress(OSError, KeyError):
                    peak = usage(pid).peak_mib
                    if "Map(Actor)" in name:
                        now["actor"] = max(now["actor"], peak)
                    else:
                        now["all others"] += peak
            for kind, value in now.items():
                memory[kind] = max(memory.get(kind, 0.0), value)

    sampler = threading.Thread(target=sample)
    sampler.start()
    _, message = process.communicate()
    seconds = time.perf_counter() - began
    ended.set()
    sampler.join()
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed: {message.decode()}")
    return seconds, int(re.findall(r"([\d,]+) tokens\)", message.decode())[-1].replace(",", ""))


def median(values: list[float], digits: int = 2) -> str:
    """The median with the smallest and the largest value."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bundle", nargs="?", default="exports/pt-en")
    parser.add_argument("--text", type=Path, help="lines to translate, repeated as often as needed")
    parser.add_argument("--lines", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    print(json.dumps({**machine(), **versions("ray", "onnxruntime")}))
    if given.text:
        text = given.text.read_text(encoding="utf-8").splitlines()
    else:
        text = [pair["pt"] for pair in sentence_pairs("train")]
    with tempfile.TemporaryDirectory() as name:
        folder, tokens = Path(name), dict[str, int]()
        for file, count in (("short", SHORT), ("long", given.lines)):
            lines = [f"{line}\n" for line in islice(cycle(text), count)]
            (folder / file).mkdir()
            for index in range(FILES):
                part = "".join(lines[index::FILES])
                (folder / file / str(index)).write_text(part, encoding="utf-8")
        seconds: dict[tuple[str, int, str], list[float]] = {}
        memory: dict[str, dict[str, float]] = {"ray": {}, "one process": {}}
        for _ in range(given.rounds):
            for count in given.cores:
                for engine in ("one process", "ray"):
                    for file in ("short", "long"):
                        output = folder / f"{file}.{engine}"
                        words = [*NMT, str(folder / file), "-m", given.bundle, "-o", str(output)]
                        words += ["--force", "--threads", str(count), "--workers", str(count)]
                        if engine == "ray":
                            words += ["--engine", "ray"]
                        took, tokens[file] = run(words, memory[engine])
                        seconds.setdefault((engine, count, file), []).append(took)
                for index in map(str, range(FILES)):
                    outputs = [folder / f"long.{engine}" / index for engine in memory]
                    if outputs[0].read_bytes() != outputs[1].read_bytes():
                        sys.exit(f"the outputs of file {index} differ")
    each_line = (tokens["long"] - tokens["short"]) / (given.lines - SHORT)
    print("| cores | engine | long files, s | short files, s | tokens/s between | relative |")
    print("|---|---|---|---|---|---|")
    for count in given.cores:
        rates = {}
        for engine in ("one process", "ray"):
            short, long = (seconds[engine, count, file] for file in ("short", "long"))
            added = each_line * (given.lines - SHORT)
            rates[engine] = [added / (b - a) for a, b in zip(short, long, strict=True)]
            ratios = [a / b for a, b in zip(rates[engine], rates["one process"], strict=True)]
            print(
                f"| {count} | {engine} | {median(long, 1)} | {median(short, 1)} | "
                f"{median(rates[engine], 0)} | {median(ratios)} |"
            )
    words = sum(len(line.split()) for line in islice(cycle(text), given.lines))
    print(f"{given.lines:,} lines, {words:,} words, {tokens['long']:,} tokens of translations")
    for engine, peaks in memory.items():
        print(f"peak memory of {engine}, MiB:", {kind: round(peaks[kind]) for kind in peaks})


if __name__ == "__main__":
    main()
