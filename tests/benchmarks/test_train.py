"""The training benchmark runs; its figures are not checked, because the machine may be busy."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_both_sides_train_on_the_same_batches(tmp_path):
    for needed in ("torch", "transformers"):
        if not importlib.util.find_spec(needed):
            pytest.skip(f"{needed} is not installed")
    (tmp_path / "tiny.toml").write_text(
        'name = "tiny"\n[data]\ntrain = ["phrasebook:dev"]\n[tokenizer]\nvocab_size = 400\n'
        "[model]\nd_model = 16\nfeed_forward = 32\nheads = 2\n"
        "encoder_layers = 1\ndecoder_layers = 1\n"
    )
    command = [sys.executable, str(ROOT / "benchmarks" / "train.py"), "--recipe", "tiny.toml"]
    command += ["--rounds", "1", "--steps", "1", "--batch-tokens", "128", "--json", "found.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    sides = {
        f"{kind} {precision}" for kind in ("nmt", "torch") for precision in ("float32", "bfloat16")
    }
    assert set(report["figures"]) == sides
    for name, answers in report["sides"].items():
        assert [record["tokens"] for record in answers] == [
            record["tokens"] for record in report["rounds"]
        ]
        if name.startswith("nmt"):
            assert answers[0]["traces"] == answers[-1]["traces"] > 0
    assert "nmt" in done.stdout
    assert "/ torch bfloat16: ratio" in done.stdout
