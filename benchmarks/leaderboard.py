"""Print after how many minutes of training from nothing a run reached 20, 25 and 30 BLEU.

    nmt train RECIPE --set data.root=DATA --set 'data.dev=["sets/flores.dev"]' \
        --set training.validate_every=500 --set training.validate_sentences=997 -o RUN
    python benchmarks/leaderboard.py RUN DATA/sets/flores.dev --commit COMMIT

The second command reads the log of the run and prints one row of a table. Minutes are those of
``nmt train``, validations included, until a validation (greedy search) first reached the score. The
run must have started from nothing and have been validated on all lines of the set. Use the machine
that trained it, since the row names the processor, and the commit of nmt that trained it.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from machine import machine

from nmt_cli.errors import NmtError
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
    """Return the minutes until a validation first reached a score; None if none did."""
    reached = (row["seconds"] for row in log if row.get("validation_bleu", 0) >= score)
    first = next(reached, None)
    return None if first is None else first / 60


def refusal(run: Run, source: list[str]) -> str | None:
    """Return why a run has no place on the leaderboard; None if it has one."""
    if run.initial:
        return "its training did not start from nothing"
    sentences = run.recipe.training.validate_sentences
    if run.held_out()[0] != source or sentences < len(source):
        return f"it was not validated on the {len(source)} lines of the set"
    if not any("validation_bleu" in row for row in read_log(run.folder)):
        return "its log has no validation"
    return None


def cells(run: Run, commit: str, here: dict[str, Any]) -> list[str]:
    """Return the cells of a run's row, in the order of HEADINGS; `here` is :func:`machine`'s."""
    log = read_log(run.folder)
    validated = [row for row in log if "validation_bleu" in row]
    best = max(validated, key=lambda row: row["validation_bleu"])
    times = [minutes(log, score) for score in SCORES]
    data = run.recipe.data
    instructions = " ".join(here["instructions"])
    return [
        f"`{run.recipe.label}`",
        f"{data.source}-{data.target}",
        commit,
        f"{run.weights / 1e6:.1f} M",
        f"{here['cores']} cores, {here['cpu']} ({instructions})",
        str(here["date"]),
        *("" if time is None else f"{time:.0f} minutes" for time in times),
        f"{best['validation_bleu']:.1f} after {best['seconds'] / 60:.0f} minutes",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("set", help="the set that validated it: its path without .LANGUAGE")
    parser.add_argument("--commit", required=True, help="the commit of nmt that trained")
    arguments = parser.parse_args()
    try:
        run = Run.open(arguments.run)
        source = read_lines(Path(f"{arguments.set}.{run.recipe.data.source}"))
    except NmtError as error:
        sys.exit(f"error: {error}")
    if reason := refusal(run, source):
        sys.exit(f"error: {arguments.run}: {reason}")
    row = cells(run, arguments.commit, machine())
    for line in (HEADINGS, ["---"] * len(HEADINGS), row):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
