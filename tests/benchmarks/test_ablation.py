"""The ablation trains every row for the same time and keeps finished rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_rows_of_equal_time_are_kept(tmp_path):
    (tmp_path / "tiny.toml").write_text(
        'name = "tiny"\n[data]\ntrain = ["phrasebook:dev"]\ntest = ["phrasebook:dev"]\n'
        "[tokenizer]\nvocab_size = 400\n"
        "[model]\nd_model = 16\nfeed_forward = 32\nheads = 2\n"
        "encoder_layers = 1\ndecoder_layers = 1\n"
        "[training]\nmax_minutes = 0.001\nwarmup_steps = 5\nvalidate_sentences = 2\n"
        "[decoding]\nmax_length = 8\n"
    )
    command = [sys.executable, str(ROOT / "benchmarks" / "ablation.py"), "tiny.toml"]
    command += [
        "--minutes",
        "0.02",
        "--into",
        "rows",
        "--change",
        "linear: training.schedule=linear",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| the recipe |" in done.stdout
    assert "| linear |" in done.stdout
    tables = [line for line in done.stdout.splitlines() if "nrefs:1" in line]
    assert [line.partition(" ")[0] for line in tables] == ["dev", "phrasebook.dev"]
    rows = [json.loads(path.read_text()) for path in tmp_path.glob("rows/*/row.json")]
    for row in rows:
        # The recipe's own time limit would have ended it after one step.
        assert row["steps"] == int(60 * 0.02 / row["pace"]) > 1
        log = tmp_path / "rows" / row["name"].replace(" ", "-") / "run" / "log.jsonl"
        assert json.loads(log.read_text().splitlines()[-1])["step"] == row["steps"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == before
