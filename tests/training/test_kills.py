"""A training that is killed repeatedly ends with the same bytes as an uninterrupted one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.training.run import FIRST_CHECKPOINT, Run
from tests.harness import nmt
from tests.systems import toy_recipe, write_toy_corpus

STEPS = 30
# Runs nmt and kills it after a step, or while it writes the checkpoint of a step.
KILLED = """
import json, os, signal, sys
import numpy as np
from nmt_cli.cli import main
from nmt_cli.training.session import Session
moment, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
batch_end, save = Session.on_train_batch_end, np.savez
def ended(self, batch, logs=None):
    batch_end(self, batch, logs)
    if (moment, number) == ("after", self.state.step):
        os.kill(os.getpid(), signal.SIGKILL)
def written(stream, *arguments, progress, **arrays):
    if (moment, number) == ("writing", json.loads(progress.tobytes())["step"]):
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    save(stream, *arguments, progress=progress, **arrays)
Session.on_train_batch_end, np.savez = ended, written
main()
"""
OPTIONS = ["train", "toy.toml", "--devices", "1", "-o"]


def train(folder: Path, run: str, *options: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "nmt_cli", *OPTIONS, run, *options]
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_run_ends_with_the_bytes_of_an_uninterrupted_one(tmp_path: Path) -> None:
    """On one device; test_setup.py resumes on several to the same bytes."""
    write_toy_corpus(tmp_path)
    recipe = toy_recipe(
        tmp_path,
        training={
            "max_steps": STEPS,
            "checkpoint_every": 2,
            "validate_every": 10,
            "log_every": 1,
            "ema": 0.9,
            "sample_subwords": 0.2,
        },
    )
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    with train(tmp_path, "runs/whole") as process:
        message = process.communicate()[1]
    assert process.returncode == 0, message
    for moment, step, how in (
        ("after", 1, "--force"),  # before the first checkpoint
        ("after", 7, "--force"),
        ("writing", 14, "--resume"),
        ("writing", 20, "--resume"),  # a step with a validation
        ("after", 27, "--resume"),
    ):
        words = [sys.executable, "-c", KILLED, moment, str(step), *OPTIONS, "runs/killed", how]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert nmt(*OPTIONS, "runs/killed", "--resume", cwd=tmp_path, process=True).code == 0
    runs = [Run.open(tmp_path / "runs" / name) for name in ("whole", "killed")]
    for attribute in ("last", "best"):
        with (
            np.load(getattr(runs[0], attribute)) as whole,
            np.load(getattr(runs[1], attribute)) as killed,
        ):
            assert sorted(whole.files) == sorted(killed.files)
            for name in set(whole.files) - {"progress"}:
                assert whole[name].tobytes() == killed[name].tobytes(), f"{attribute}: {name}"
    steps = [
        [json.loads(line)["step"] for line in (run.folder / "log.jsonl").read_text().splitlines()]
        for run in runs
    ]
    assert steps[0] == steps[1]


@pytest.mark.slow
def test_a_restart_loop_resumes_and_the_run_is_locked(tmp_path: Path) -> None:
    write_toy_corpus(tmp_path)
    rare = {"max_steps": 10_000, "validate_every": 5000, "log_every": 1}
    (tmp_path / "toy.toml").write_text(toy_recipe(tmp_path, training=rare).dump(), encoding="utf-8")
    first = f"step-{FIRST_CHECKPOINT:08}.npz"
    saved = tmp_path / "runs" / "toy" / "checkpoints" / first
    message = "runs/toy: no checkpoint yet, starting from the beginning\n"
    for _ in range(2):  # the second finds a run without a checkpoint
        with train(tmp_path, "runs/toy", "--resume") as process:
            assert process.stderr
            assert process.stderr.readline() == message
            assert any(line.startswith("step      1 ") for line in process.stderr)
            if saved.exists():  # too late
                break
            process.kill()
    with train(tmp_path, "runs/toy", "--resume") as process:
        assert process.stderr
        holder = f"in use by process {process.pid} on {os.uname().nodename}; "
        while not saved.exists():
            assert process.stderr.readline()
        for words in (
            ["train", "toy.toml", "-o", "runs/toy"],
            ["train", "toy.toml", "-o", "runs/toy", "--resume"],
            ["train", "toy.toml", "-o", "runs/toy", "--force"],
            ["average", "runs/toy", "--checkpoint", saved, "--checkpoint", saved],
        ):
            result = nmt(*words, cwd=tmp_path)
            assert (result.code, result.message.startswith(f"nmt: runs/toy: {holder}")) == (1, True)
        result = nmt("prepare", "toy.toml", "--force", cwd=tmp_path)
        assert result.message.startswith(f"nmt: prepared/toy-xx-yy: {holder}")
        process.kill()
    with train(tmp_path, "runs/toy", "--resume") as process:
        assert process.stderr
        assert f"resuming at step {FIRST_CHECKPOINT}\n" in iter(process.stderr.readline, "")
        assert any(line.startswith("step ") for line in process.stderr)
        process.terminate()
        assert "checkpoint saved; continue with: " in process.stderr.read()
    assert {entry.name for entry in saved.parent.parent.parent.iterdir()} == {"toy"}
