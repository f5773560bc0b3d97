"""Measure the start-up time of nmt: wall time of whole processes.

Times ``nmt --help`` and ``nmt translate`` of one line with a bundle, and for reference a bare
Python and one that imports the libraries a translation needs. The commands take turns, so that a
slow period of the machine affects all of them. Exits with 1 if a target is missed.

    python benchmarks/startup.py [BUNDLE] [--repeats N]

BUNDLE is a bundle's folder; default: the newest exports/phrasebook-*.
"""

import argparse
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from machine import compile_nmt

LINE = b"Bom dia!\n"
NMT = Path(sys.executable).with_name("nmt")


@dataclass(frozen=True)
class Case:
    """A command, the seconds it may take (None: for reference), and its input."""

    name: str
    command: list[str]
    target: float | None = None
    stdin: bytes = b""


def cases(bundle: Path) -> list[Case]:
    imports = "import onnxruntime, numpy, sentencepiece"
    return [
        Case("python -c pass", [sys.executable, "-c", "pass"]),
        Case(f'python -c "{imports}"', [sys.executable, "-c", imports]),
        Case("nmt --help", [str(NMT), "--help"], 0.2),
        Case("nmt translate, 1 line", [str(NMT), "translate", "-m", str(bundle)], 0.6, LINE),
    ]


def wall_time(case: Case) -> float:
    """Seconds from the start of the process to its end."""
    began = time.perf_counter()
    done = subprocess.run(case.command, input=case.stdin, capture_output=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{case.name} failed: {done.stderr.decode(errors='replace').strip()}")
    return seconds


def newest_bundle() -> Path:
    manifests = list(Path("exports").glob("phrasebook-*/manifest.json"))
    if not manifests:
        sys.exit("no bundle exports/phrasebook-*: run nmt quickstart, or give a bundle")
    return max(manifests, key=lambda path: path.stat().st_mtime).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle", nargs="?", type=Path, help="default: newest exports/phrasebook-*")
    parser.add_argument("--repeats", type=int, default=15, help="of each command (default: 15)")
    options = parser.parse_args()
    bundle = options.bundle or newest_bundle()

    compile_nmt()
    measured = cases(bundle)
    seconds: dict[str, list[float]] = {case.name: [] for case in measured}
    for repeat in range(options.repeats + 1):
        for case in measured:
            taken = wall_time(case)
            if repeat:  # the first round only fills the page cache
                seconds[case.name].append(taken)

    width = max(len(case.name) for case in measured)
    print(f"{bundle}, {options.repeats} repeats")
    print(f"{'seconds':<{width}}  median    min    max  target")
    missed = False
    for case in measured:
        taken = seconds[case.name]
        median = statistics.median(taken)
        row = f"{case.name:<{width}}  {median:6.3f} {min(taken):6.3f} {max(taken):6.3f}"
        if case.target is not None:
            missed = missed or median > case.target
            row += f"  {case.target:6.3f}  {'missed' if median > case.target else 'holds'}"
        print(row)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
