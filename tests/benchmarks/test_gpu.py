"""The GPU benchmark trains, exports and translates, here with the CPU as its device."""

import subprocess
import sys
from pathlib import Path

import pytest
from gpu import table
from onnxruntime import get_available_providers

from nmt_cli.runtime.step_model import CUDA

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
TINY = "model.d_model=32 model.feed_forward=64 model.encoder_layers=1 model.decoder_layers=1"


def test_columns_are_aligned() -> None:
    rows = [("train", "float32", "Keras", "1,000", ""), ("translate", "f", "cuda", "2", "3 of 4")]
    assert list(table(rows)) == [
        "what       precision  device  tokens/s  identical",
        "train      float32    Keras   1,000",
        "translate  f          cuda    2         3 of 4",
    ]


@pytest.mark.skipif(CUDA in get_available_providers(), reason="onnxruntime supports CUDA")
def test_without_cuda_it_stops_before_training() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("`device=cuda`: the installed onnxruntime does not support CUDA")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_it_runs_on_a_cpu(tmp_path: Path) -> None:
    settings = [f"--set={each}" for each in (*TINY.split(), "training.log_every=10")]
    settings += ['--set=data.test=["phrasebook:dev"]', "--set=decoding.max_length=12"]
    words = ["--steps", "60", "--device", "cpu", "--precision", "float32", *settings]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    _, heads, *rows = done.stdout.splitlines()
    assert heads.split() == ["what", "precision", "device", "tokens/s", "identical"]
    assert len(rows) == 7  # a training, and three of each beam size
    assert [each.split()[-3:] for each in rows if "float32" in each][2] == ["300", "of", "300"]
