"""Whole processes: start, load, translate a file, end."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from comparison.cells import spread
from comparison.plan import OURS, SIDES, THEIRS, Plan, Text
from comparison.process import in_turns

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import write_lines


def whole_process(
    folders: Mapping[str, Path], row: Mapping[str, Any], text: Text, plan: Plan
) -> list[dict[str, Any]]:
    """Wall time of ``nmt translate`` with its defaults, and of CTranslate2 at its best setting.

    Args:
        folders: models by side.
        row: the cell of the sides' own batches, which has CTranslate2's best setting.
        text: the text to translate: only its first line, and all lines.
        plan: repeats.

    Raises:
        NmtError: a process failed.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="nmt-bench-") as place:
        for count in sorted({1, len(text.lines)}):
            file = Path(place) / "source.txt"
            write_lines(file, text.lines[:count])
            commands = {
                side: _command(side, folder, file, row, text) for side, folder in folders.items()
            }
            calls = {side: partial(_seconds, each) for side, each in commands.items()}
            in_turns(calls, 1)  # only fills the page cache
            seconds = in_turns(calls, plan.repeats)
            ours, theirs = (statistics.median(seconds[side]) for side in SIDES)
            results.append(
                {
                    "precision": row["precision"],
                    "beam_size": row["beam_size"],
                    "lines": count,
                    "seconds": {side: spread(each) for side, each in seconds.items()},
                    "ratio": ours / theirs,
                }
            )
    return results


def _command(side: str, folder: Path, file: Path, row: Mapping[str, Any], text: Text) -> list[str]:
    beam_size = str(row["beam_size"])
    if side == OURS:
        nmt = [sys.executable, "-m", "nmt_cli", "translate", "-m", str(folder)]
        return [*nmt, "--beam-size", beam_size, "--length-penalty", "0", str(file)]
    best = row["sides"][THEIRS]
    numbers = (text.limit, best["workers"], best["threads_each"], best["batch_tokens"])
    script = Path(__file__).with_name("plain_ctranslate2.py")
    return [sys.executable, str(script), str(folder), str(file), beam_size, *map(str, numbers)]


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise NmtError(f"{' '.join(command[1:4])} failed: {last}")
    return seconds
