"""A training that is killed repeatedly ends with the same bytes as an uninterrupted one."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.training.run import FIRST_CHECKPOINT, Run
from tests.harness import nmt
from tests.systems import toy_recipe, write_toy_corpus

STEPS, KILLS = 60, 3
TRAIN = [sys.executable, "-m", "nmt_cli", "train", "toy.toml", "--devices", "1"]


def train(folder: Path, run: str, *options: str) -> subprocess.Popen:
    words = [*TRAIN, "-o", run, *options]
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)


def step_of(folder: Path) -> int:
    """Return the last step in the log."""
    try:
        lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return json.loads(lines[-1])["step"]
    except (OSError, IndexError, ValueError):
        return 0


def half_written(checkpoints: Path) -> bool:
    try:
        return any(name.startswith(".step-") for name in os.listdir(checkpoints))
    except FileNotFoundError:
        return False


def kill_somewhere(process: subprocess.Popen, run: Path, rng: random.Random) -> None:
    """Kill a training while it writes a checkpoint, or some time after its next step."""
    writing, began = rng.random() < 0.5, step_of(run)
    while process.poll() is None and step_of(run) <= began:
        time.sleep(0.01)
    if writing:
        while process.poll() is None and not half_written(run / "checkpoints"):
            pass
    else:
        time.sleep(rng.uniform(0.0, 0.5))
    process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_run_ends_with_the_bytes_of_an_uninterrupted_one(tmp_path: Path) -> None:
    """On one device; test_setup.py resumes on several to the same bytes."""
    rng = random.Random(1)
    write_toy_corpus(tmp_path)
    recipe = toy_recipe(
        tmp_path,
        model={"d_model": 64, "feed_forward": 512},
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
    whole = train(tmp_path, "runs/whole")
    assert (whole.communicate()[1], whole.returncode)[1] == 0
    process, kills, while_writing = train(tmp_path, "runs/killed"), 0, 0
    run = tmp_path / "runs" / "killed"
    while True:
        if kills < KILLS and step_of(run) < STEPS - 3:
            kill_somewhere(process, run, rng)
        message = process.communicate()[1]
        if process.returncode != -signal.SIGKILL:
            break
        kills += 1
        while_writing += half_written(run / "checkpoints")
        begun = any((run / "checkpoints").glob("step-*.npz"))
        process = train(tmp_path, "runs/killed", "--resume" if begun else "--force")
    assert process.returncode == 0, message
    assert kills >= KILLS - 1, message
    assert while_writing >= 1
    runs = [Run.open(tmp_path / "runs" / name) for name in ("whole", "killed")]
    for attribute in ("last", "best"):
        with (
            np.load(getattr(runs[0], attribute)) as one,
            np.load(getattr(runs[1], attribute)) as other,
        ):
            assert sorted(one.files) == sorted(other.files)
            for name in set(one.files) - {"progress"}:
                assert one[name].tobytes() == other[name].tobytes(), f"{attribute}: {name}"
    steps = [
        [json.loads(line)["step"] for line in (run.folder / "log.jsonl").read_text().splitlines()]
        for run in runs
    ]
    assert steps[0] == steps[1]


@pytest.mark.slow
def test_a_restart_loop_starts_and_continues_a_training_that_nobody_disturbs(
    tmp_path: Path,
) -> None:
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
    assert {each.name for each in saved.parent.parent.parent.iterdir()} == {"toy"}
