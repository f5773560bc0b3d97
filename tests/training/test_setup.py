"""A CPU as several devices: when it is split, and exact resuming on its parts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.host import cores
from nmt_cli.recipe.config import Recipe
from nmt_cli.training import devices as module
from nmt_cli.training.devices import cpu_devices
from nmt_cli.training.run import Run
from tests.harness import nmt
from tests.systems import DROPOUTS, toy_data, toy_recipe, write_toy_corpus

two_cores = pytest.mark.skipif(cores() < 2, reason="needs two cores")

# Runs in a separate process, which configures two devices. Trains, and again from step 4 on; prints
# how often the loss was traced by each, after the first step and at the end.
SCRIPT = """
import sys
from pathlib import Path
from nmt_cli.data.prepared import Prepared
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.training.distributed import set_up
from nmt_cli.training.devices import Devices
from nmt_cli.training.loss import SmoothedCrossEntropy
from nmt_cli.training.session import Session
from nmt_cli.training.train import train
from tests.systems import rewound
root, traced, counts = Path(sys.argv[1]), [], []
call, batch_end = SmoothedCrossEntropy.call, Session.on_train_batch_end
def counted(self, *arguments):
    traced.append(None)
    return call(self, *arguments)
def recorded(self, batch, logs=None):
    batch_end(self, batch, logs)
    counts.append(len(traced))
SmoothedCrossEntropy.call, Session.on_train_batch_end = counted, recorded
recipe, prepared = load_recipe(root / "toy.toml"), Prepared.open(root / "prepared")
devices = set_up(Devices(2), recipe)
whole = train(recipe, prepared, root / "whole", devices=devices)
first, last, before = counts[0], counts[-1], len(counts)
train(recipe, prepared, rewound(whole, root / "parts", 4), resume=True, devices=devices)
print("traced", first, last, counts[before] - last, counts[-1] - last)
"""

NOISE = {
    "model": DROPOUTS,
    "training": {
        "r_drop": 5.0,
        "sample_subwords": 0.2,
        "ema": 0.9,
        "clip_norm": 0.5,
        "precision": "mixed_float16",
    },
}
RECURRENT = {
    "model": {"architecture": "rnn", "dropout": 0.2},
    "training": {"ema": 0.9, "clip_norm": 0.5},
}


@two_cores
@pytest.mark.slow
@pytest.mark.parametrize("means", [NOISE, RECURRENT], ids=["float16, noise", "rnn"])
def test_cpu_parts_resume_to_the_same_bytes_and_trace_once(
    tmp_path: Path, means: dict[str, Any]
) -> None:
    training = {**means["training"], "max_steps": 9, "checkpoint_every": 4, "keep": 9}
    recipe, _ = toy_data(tmp_path, **{**means, "training": training})
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True)
    assert done.returncode == 0, done.stderr
    paths = [Run.open(tmp_path / name).last for name in ("whole", "parts")]
    with np.load(paths[0]) as whole, np.load(paths[1]) as parts:
        assert whole.files == parts.files
        for name in set(whole.files) - {"progress"}:
            assert whole[name].tobytes() == parts[name].tobytes(), name
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    (counts,) = (words[1:] for words in lines if words[:1] == ["traced"])
    first, last, first_again, last_again = map(int, counts)
    assert 0 < first == last
    assert 0 < first_again == last_again


def train(folder: Path, *options: str) -> str:
    """Return the messages of ``nmt train``."""
    command = [sys.executable, "-m", "nmt_cli", "train", "toy.toml", "-o", "run", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@two_cores
@pytest.mark.slow
def test_a_cpu_is_split_by_default_and_a_run_resumes_on_the_same_parts(tmp_path: Path) -> None:
    write_toy_corpus(tmp_path)
    recipe = toy_recipe(tmp_path, training={"batch_tokens": 1024, "max_steps": 1})
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    assert ", 2 devices share each batch\n" in train(tmp_path)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["devices"] == 2
    words = ["train", "toy.toml", "-o", "run", "--resume", "--devices", "1"]
    messages = nmt(*words, "--set", "training.max_steps=2", cwd=tmp_path).err
    assert "devices share each" not in messages
    assert "this run began on 2 devices and continues on 1: results are equivalent" in messages
    messages = train(tmp_path, "--resume", "--set", "training.max_steps=3")
    assert ", 2 devices share each batch\n" in messages
    assert "this run began" not in messages


def recipe_of(root: Path, **training: object) -> Recipe:
    return toy_recipe(root, training={"batch_tokens": 4096, **training})


def test_when_splitting_does_not_pay_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "split_cpu", lambda count: pytest.fail(f"split into {count}"))
    monkeypatch.setattr(module, "cores", lambda: 8)
    assert cpu_devices(recipe_of(tmp_path, batch_tokens=1023)) == 1
    assert cpu_devices(recipe_of(tmp_path, accumulate=2)) == 1
    assert cpu_devices(recipe_of(tmp_path), begun=1) == 1
    monkeypatch.setattr(module, "cores", lambda: 1)
    assert cpu_devices(recipe_of(tmp_path)) == 1
    assert cpu_devices(recipe_of(tmp_path), begun=2) == 1


def test_a_gpu_is_not_initialized_before_its_batch_size_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = pytest.importorskip("tensorflow").config
    monkeypatch.setattr(module, "cores", lambda: 8)
    monkeypatch.setattr(config, "list_physical_devices", lambda kind: [kind])
    monkeypatch.setattr(config, "list_logical_devices", lambda kind: pytest.fail("initialized"))
    assert cpu_devices(recipe_of(tmp_path, batch_tokens=0)) == 1


@pytest.mark.parametrize(
    ("machine", "tokens", "begun", "count"),
    [
        (2, 1024, 0, 2),
        (2, 0, 0, 2),
        (3, 4096, 0, 3),
        (8, 1024, 0, 2),
        (8, 25000, 0, 4),
        (8, 25000, 6, 6),
        (8, 256, 2, 2),
        (2, 4096, 4, 2),
    ],
)
def test_the_number_of_parts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    machine: int,
    tokens: int,
    begun: int,
    count: int,
) -> None:
    requested: list[int] = []
    monkeypatch.setattr(module, "split_cpu", requested.append)
    monkeypatch.setattr(module, "cores", lambda: machine)
    cpu_devices(recipe_of(tmp_path, batch_tokens=tokens), begun)
    assert requested == [count]
