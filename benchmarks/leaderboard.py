"""Minutes of training from nothing to 20, 25 and 30 BLEU on flores.dev: a row of leaderboard.md.

    nmt train RECIPE --set data.root=DATA --set 'data.dev=["sets/flores.dev"]' \
        --set training.validate_every=500 --set training.validate_sentences=997 -o RUN
    python benchmarks/leaderboard.py RUN DATA/sets/flores.dev

The second command reads the log of the run: after how many minutes of `nmt train`, validations
included, one first reached each score. The run must have begun from nothing and have been
validated, greedily as `nmt train` does, on all lines of the set. Run it on the machine that
trained: it names the processor.
"""

import argparse
import sys
from pathlib import Path

from machine import machine

from nmt_cli.text.lines import read_lines
from nmt_cli.training.log import read_log
from nmt_cli.training.run import Run

SCORES = (20, 25, 30)
HEADINGS = (
    *("recipe", "direction", "commit", "parameters", "hardware", "date"),
    *(f"{score} BLEU" for score in SCORES),
    "best BLEU",
)


def minutes(log: list[dict[str, float]], score: float) -> float | None:
    """Return after how many minutes a validation first reached a score; None: it never did."""
    reached = (row["seconds"] for row in log if row.get("validation_bleu", 0) >= score)
    first = next(reached, None)
    return None if first is None else first / 60


def refusal(run: Run, source: list[str]) -> str | None:
    """Say why a run's minutes cannot stand on the leaderboard; None if they can."""
    if run.initial:
        return "its training did not begin from nothing"
    sentences = run.recipe.training.validate_sentences
    if run.held_out()[0] != source or sentences < len(source):
        return f"it was not validated on the {len(source)} lines of the set"
    if not any("validation_bleu" in row for row in read_log(run.folder)):
        return "its log has no validation"
    return None


def cells(run: Run, commit: str, hardware: str) -> list[str]:
    """Return the cells of a run's row, in the order of HEADINGS."""
    log = read_log(run.folder)
    validated = [row for row in log if "validation_bleu" in row]
    best = max(validated, key=lambda row: row["validation_bleu"])
    times = [minutes(log, score) for score in SCORES]
    data = run.recipe.data
    return [
        f"`{run.recipe.label}`",
        f"{data.source}-{data.target}",
        commit,
        f"{run.weights / 1e6:.1f} M",
        hardware,
        str(machine()["date"]),
        *("" if time is None else f"{time:.0f} minutes" for time in times),
        f"{best['validation_bleu']:.1f} after {best['seconds'] / 60:.0f} minutes",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("set", help="the set that validated it, without the ending of a language")
    parser.add_argument("--commit", required=True, help="the commit of nmt that trained")
    arguments = parser.parse_args()
    run = Run.open(arguments.run)
    reason = refusal(run, read_lines(Path(f"{arguments.set}.{run.recipe.data.source}")))
    if reason:
        sys.exit(f"{arguments.run}: {reason}")
    here = machine()
    row = cells(run, arguments.commit, f"{here['cpu']}, {here['cores']} cores")
    for line in (HEADINGS, ["---"] * len(HEADINGS), row):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
