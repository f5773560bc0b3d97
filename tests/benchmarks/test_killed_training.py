"""The killed training resumes after every kill, and differences from a whole one are noticed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from killed_training import differences, last_step, random_kills, temporary

from nmt_cli.files import replacing_path
from nmt_cli.training.checkpoint import read_checkpoint, write_checkpoint
from nmt_cli.training.run import Run

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "killed_training.py"


@pytest.mark.slow
def test_a_killed_training_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(
        'name = "tiny"\n[data]\ntrain = ["phrasebook:dev"]\n[tokenizer]\nvocab_size = 400\n'
        "[model]\nd_model = 16\nfeed_forward = 32\nheads = 2\n"
        "encoder_layers = 1\ndecoder_layers = 1\n[decoding]\nmax_length = 8\n"
    )
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "tiny.toml", "--steps", "60", "--kills", "1"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("same weights, optimizer states and validations\n")
    assert "\n1 kills, " in done.stdout
    assert os.listdir(tmp_path) == ["tiny.toml"]


def test_kills_are_repeatable_and_early_enough() -> None:
    kills = random_kills(100, 50, seed=1)
    assert kills == random_kills(100, 50, seed=1)
    assert {kill.moment for kill in kills} == {"start", "step", "write"}
    steps = [kill.step for kill in kills]
    assert steps == sorted(steps)
    assert steps[-1] < 80
    assert random_kills(100, 0, seed=1) == []


def test_differences_of_weights_and_validations(tiny_run: Run, tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        shutil.copytree(tiny_run.folder, tmp_path / name)
        (tmp_path / name / "log.jsonl").write_text(
            '{"step": 1, "seconds": 1.0, "loss": 2.0}\n'
            '{"step": 1, "seconds": 2.0, "validation_loss": 2.0}\n'
        )
        shutil.copy(tiny_run.last, tmp_path / name / "best.npz")
    whole, killed = (Run.open(tmp_path / name) for name in ("whole", "killed"))
    log = killed.folder / "log.jsonl"
    log.write_text(log.read_text().replace('"seconds": 1.0', '"seconds": 9.0'))
    assert differences(whole, killed) == []
    log.write_text(log.read_text().replace('_loss": 2.0', '_loss": 3.0'))
    arrays, progress = read_checkpoint(killed.best)
    name = next(key for key in arrays if key.startswith("weights/"))
    arrays[name] += 1
    write_checkpoint(killed.best, arrays, progress)
    assert differences(whole, killed) == [
        f"best.npz: different after kills: {name}",
        "log.jsonl: other validations after kills",
    ]
    shutil.copy(killed.last, killed.checkpoint(2))
    assert differences(whole, killed) == [
        "checkpoints: ['step-00000001.npz', 'best.npz'], but "
        "['step-00000001.npz', 'step-00000002.npz', 'best.npz'] after kills"
    ]


def test_files_being_written_are_seen(tmp_path: Path) -> None:
    (tmp_path / ".run.lock").touch()
    assert temporary(tmp_path) == set()
    with replacing_path(tmp_path / "best.npz") as beside:
        beside.touch()
        (name,) = temporary(tmp_path)
    assert name.startswith(".best.npz.")
    assert temporary(tmp_path) == set()


def test_the_last_step_of_an_output() -> None:
    output = "resuming at step 990\nstep    999  epoch 1  loss 1\nstep  1,000  epoch 2  loss 1\n"
    assert last_step(output) == 1000
    assert last_step("resuming at step 990\nstep  1,000  validation loss 1.134\n") is None
