"""The GPU benchmark trains, exports and translates, here with the CPU as its device."""

import json
import subprocess
import sys
from pathlib import Path

import gpu
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps", "0"], "training.max_steps must be"),
        (["--steps", "-3"], "training.max_steps must be"),
        (["--recipe", "absent"], "absent: no such recipe; nmt comes with "),
        (["--recipe", "absent.toml"], "absent.toml: "),
        (["--precision", "float8"], "training.precision must be"),
        (["--set", "model.width=3"], "unknown key 'model.width'"),
        (["--set", "nonsense"], "nonsense"),
        (["--set", "data.test=[]"], "the recipe phrasebook names no test set"),
        (["--set", 'data.test=["absent"]'], "absent.pt: no such file"),
        (["--set", "training.log_every=0"], "training.log_every must be"),
    ],
)
def test_bad_options_are_one_line_before_any_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--device", "cpu", *words])
    monkeypatch.setattr(gpu, "nmt", lambda *_: pytest.fail("it trains"))
    with pytest.raises(SystemExit) as stopped:
        gpu.main()
    assert message in str(stopped.value.code)
    assert "\n" not in str(stopped.value.code)


def test_a_command_that_fails_ends_it_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "work").write_text("a file")
    words = ["--device", "cpu", "--work", str(tmp_path / "work")]
    monkeypatch.setattr(sys, "argv", ["gpu.py", *words])

    def failing(*words: object) -> None:
        raise subprocess.CalledProcessError(1, [sys.executable, "-m", "nmt_cli", *words])

    monkeypatch.setattr(gpu, "nmt", failing)
    with pytest.raises(SystemExit, match="^nmt train failed; its message is above$"):
        gpu.main()


@pytest.mark.parametrize(
    ("records", "speed"),
    [
        ([], ""),  # a training of fewer steps than a log line has
        ([{"tokens_per_second": 50.0}], "50"),
        ([{"tokens_per_second": 5.0}, {"tokens_per_second": 1200.0}], "1,200"),
        ([{"tokens_per_second": 5.0}, {"validation_bleu": 3.0}, {"tokens_per_second": 7.0}], "7"),
    ],
)
def test_short_trainings_have_a_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, records: list[dict[str, float]], speed: str
) -> None:
    def logging(*words: object) -> None:
        (tmp_path / "float32").mkdir()
        lines = [json.dumps({"step": 1, **record}) for record in records]
        (tmp_path / "float32" / "log.jsonl").write_text("\n".join(lines))

    monkeypatch.setattr(gpu, "nmt", logging)
    what = "train, validation BLEU 3.0" if len(records) == 3 else "train"
    expected = (what, "float32", "Keras", speed, "")
    assert gpu.trained(tmp_path, "float32", "phrasebook", []) == expected


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 40])
def test_it_runs_on_a_cpu(tmp_path: Path, steps: int) -> None:
    settings = [f"--set={setting}" for setting in TINY.split()]
    settings += ['--set=data.test=["phrasebook:dev"]', "--set=decoding.max_length=12"]
    words = ["--steps", str(steps), "--device", "cpu", "--precision", "float32", *settings]
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
