"""Measure each of the package's patterns on the worst texts that tests/test_patterns.py makes.

    python -m benchmarks.patterns [--show N]

Prints the slowest patterns, and exits with 1 if one takes clearly more than ten times as long on
100 kB as on 10 kB.
"""

import argparse
import re
import sys
import time
from re import _parser as parser  # type: ignore[attr-defined]  # it has no public name

from benchmarks.machine import machine
from tests.test_patterns import SHORT, USUAL, example, patterns, runs

SIZES = 10_000, 100_000
MAX_GROWTH, MIN_SECONDS = 30, 0.1  # short times vary more


def seconds(pattern: re.Pattern[str], run: str, size: int) -> float:
    """Search a run of characters, and one inside what the pattern matches."""
    long = run * (size // len(run))
    tree = parser.parse(pattern.pattern, pattern.flags)
    began = time.perf_counter()
    for text in (long, example(tree) + long + "\0"):
        for _ in pattern.finditer(text):
            pass
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--show", type=int, default=12, metavar="N")
    show = arguments.parse_args().show
    print(machine())
    rows = []
    for module, pattern in patterns():
        tree = parser.parse(pattern.pattern, pattern.flags)
        if module == SHORT:  # only tried on short texts
            continue
        tried = {*USUAL, *runs(tree)} - {""}
        short = {run: seconds(pattern, run, SIZES[0]) for run in tried}
        slowest = sorted(tried, key=lambda run: -short[run])[:3]
        long, worst = max((seconds(pattern, run, SIZES[1]), run) for run in slowest)
        rows.append((long, short[worst], module, worst, pattern.pattern))
    rows.sort(reverse=True)
    print(f"\n{len(rows)} patterns; the slowest:\n\n| module | run of | 10 kB, ms | 100 kB, ms |")
    print("|---|---|---|---|")
    for long, short, module, run, _ in rows[:show]:
        name = module.removeprefix("nmt_cli.")
        print(f"| {name} | `{run!r:.20}` | {1000 * short:.1f} | {1000 * long:.1f} |")
    steep = [row for row in rows if row[0] > MAX_GROWTH * row[1] and row[0] > MIN_SECONDS]
    for long, short, module, run, text in steep:
        print(f"{module}: {run!r} {short:.3f} s, {long:.3f} s: {text:.80}", file=sys.stderr)
    sys.exit(bool(steep))


if __name__ == "__main__":
    main()
