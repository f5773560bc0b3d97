"""Minutes to a score, read from the log of a run, and which runs are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from leaderboard import HEADINGS, cells, minutes, refusal

from nmt_cli.training.run import Run

pytestmark = pytest.mark.train

HERE = {"cpu": "a processor", "instructions": ["avx2"], "cores": 2, "date": "2026-11-30"}


def test_the_first_validation_that_reached_a_score_counts() -> None:
    log: list[dict[str, Any]] = [
        {"step": 50, "seconds": 30.0, "loss": 4.0},
        {"step": 100, "seconds": 60.0, "validation_bleu": 12.0},
        {"step": 200, "seconds": 120.0, "validation_bleu": 20.0},
        {"step": 300, "seconds": 180.0, "validation_bleu": 19.0},
        {"step": 400, "seconds": 240.0, "validation_bleu": 26.0},
    ]
    assert [minutes(log, score) for score in (20, 25, 30)] == [2.0, 4.0, None]


def test_a_row(tiny_run: Run, tmp_path: Path) -> None:
    run = replace(tiny_run, folder=tmp_path)
    (tmp_path / "log.jsonl").write_text(
        '{"step": 100, "seconds": 90.0, "validation_bleu": 21.26}\n'
        '{"step": 200, "seconds": 180.0, "validation_bleu": 20.0}\n'
    )
    row = dict(zip(HEADINGS, cells(run, "abc123", HERE), strict=True))
    assert row["commit"] == "abc123"
    assert (row["hardware"], row["date"]) == ("2 cores, a processor (avx2)", "2026-11-30")
    assert row["parameters"] == f"{tiny_run.weights / 1e6:.1f} M"
    assert (row["20 BLEU"], row["25 BLEU"]) == ("2 minutes", "")
    assert row["best BLEU"] == "21.3 after 2 minutes"


def test_what_is_refused(tiny_run: Run, tmp_path: Path) -> None:
    run = replace(tiny_run, folder=tmp_path)
    source = tiny_run.held_out()[0][:1]
    (tmp_path / "held_out.source.txt").write_text("\n".join(source) + "\n", encoding="utf-8")
    (tmp_path / "held_out.target.txt").write_text("\n".join(source) + "\n", encoding="utf-8")
    assert refusal(run, source) == "its log has no validation"
    (tmp_path / "log.jsonl").write_text('{"step": 1, "seconds": 1.0, "validation_bleu": 2.0}\n')
    assert refusal(run, source) is None
    assert refusal(run, [*source, "mais uma"]) == (
        f"it was not validated on the {len(source) + 1} lines of the set"
    )
    grown = replace(run, initial={"name": "old", "steps": 5})
    assert refusal(grown, source) == "its training did not start from nothing"
