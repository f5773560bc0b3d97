"""Measure the memory of nmt translate on a long input, and the delay of its first line.

The sentences of FILE are repeated up to --lines and written into a pipe as fast as possible,
while the main thread reads the output and samples /proc.

    python benchmarks/memory.py exports/phrasebook-pt-en-int8 sentences.pt --lines 1000000

Exits with 1 if memory grows by more than a tenth in the second half, exceeds 700 MB, or if the
first line comes out only after the last one went in.
"""

import argparse
import subprocess
import sys
import threading
import time
from itertools import cycle, islice
from pathlib import Path

from machine import usage

from nmt_cli.search.translator import WINDOW

LIMIT_MB = 700
GROWTH = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--beam-size", type=int, default=1)
    arguments = parser.parse_args()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "nmt_cli", "translate"),
            *("-m", str(arguments.model), "--beam-size", str(arguments.beam_size)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    start = time.perf_counter()
    written = threading.Thread(target=feed, args=(process, arguments.text, arguments.lines))
    written.start()
    samples: list[tuple[int, float]] = []  # lines out, MB
    first_line, fed_at_first = 0.0, True
    for count, _ in enumerate(process.stdout, start=1):
        if count == 1:
            first_line = time.perf_counter() - start
            fed_at_first = not written.is_alive()
        if count % WINDOW == 0:
            samples.append((count, usage(process.pid).resident_mib))
    seconds = time.perf_counter() - start
    code = process.wait()
    after_first, most = samples[0][1], max(resident for _, resident in samples)
    halves = samples[: len(samples) // 2], samples[len(samples) // 2 :]
    earlier, later = (max(resident for _, resident in half) for half in halves)
    print(f"{arguments.lines:,} lines in {seconds:.0f} s, {arguments.lines / seconds:.0f} a second")
    print(f"first line after {first_line:.2f} s, input still open: {not fed_at_first}")
    print(
        f"resident MB: {after_first:.0f} after the first window of {WINDOW:,}, {most:.0f} at most"
    )
    for count, megabytes in samples[:: max(1, len(samples) // 10)]:
        print(f"  {count:>9,} lines  {megabytes:5.0f} MB")
    flat = later <= GROWTH * earlier
    return 0 if code == 0 and flat and most < LIMIT_MB and not fed_at_first else 1


def feed(process: subprocess.Popen, text: Path, lines: int) -> None:
    """Write the sentences repeatedly, up to this many lines, with varying numbers at their ends."""
    sentences = text.read_text(encoding="utf-8").splitlines()
    for number, sentence in enumerate(islice(cycle(sentences), lines)):
        process.stdin.write(f"{sentence} {number % 97}\n".encode())
    process.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
