"""Training on several devices or processes equals training on one, also when resumed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from nmt_cli.cli import cli
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import OptionError, ResourceError
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.devices import Devices
from nmt_cli.training.distributed import set_up
from nmt_cli.training.run import Run
from nmt_cli.training.train import train
from tests.systems import rewound, toy_data, toy_recipe

# Gradients are summed in a different order, and Adam divides by their size.
CLOSE = {"rtol": 2e-4}

# Trains with the given options; process 1 prints its losses.
SCRIPT = """
import json, sys
from pathlib import Path
root, plan = Path(sys.argv[1]), json.loads(sys.argv[2])
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.training import distributed
from nmt_cli.training.job import TrainOptions, run_training
from nmt_cli.training.log import TrainingLog
if plan["devices"].get("process_id"):
    def record(self, step, seconds, values):
        if "loss" in values:
            print(step, values["loss"])
    TrainingLog.record = record
distributed.CONNECT_SECONDS = plan["patience"]
for name, steps, resume in plan["runs"]:
    recipe = load_recipe(root / "toy.toml", [f"training.max_steps={steps}"])
    places = {"output": root / name, "prepared": root / "prepared"}
    run_training(recipe, TrainOptions(**places, resume=resume, **plan["devices"]))
"""


def prepared_toy(root: Path, **training: object) -> tuple[Recipe, Prepared]:
    """Return small data and a recipe without dropout, whose masks depend on the whole batch."""
    defaults = {"log_every": 1, "validate_every": 100, "validate_sentences": 1, "batch_tokens": 230}
    sections = {
        "model": {"dropout": 0.0},
        "training": {**defaults, "clip_norm": 0.5, **training},
        "decoding": {"max_length": 3, "length_extra": 1},
    }
    recipe, prepared = toy_data(root, **sections)
    (root / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    return recipe, prepared


def start(
    root: Path, *runs: tuple[str, int, bool], backend: str = "jax", **how: object
) -> subprocess.Popen[str]:
    how["devices"] = {"devices": 1, **how.get("devices", {})}
    plan = {"runs": runs, "patience": 120, **how}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(root), json.dumps(plan)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KERAS_BACKEND": backend},
    )


def outcome(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    return out


def two(root: Path, *runs: tuple[str, int, bool]) -> list[subprocess.Popen[str]]:
    """Start two processes of one training."""
    where = {"coordinator": f"127.0.0.1:{free_port()}", "processes": 2}
    return [start(root, *runs, devices={**where, "process_id": number}) for number in range(2)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def losses(folder: Path) -> list[float]:
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def assert_equivalent(root: Path, whole: str, parts: str) -> None:
    """Check that two runs have the same losses and final weights.

    Biases are left out: the gradients of some are zero except for rounding errors, which Adam
    turns into full steps.
    """
    np.testing.assert_allclose(losses(root / parts), losses(root / whole), **CLOSE)
    paths = [Run.open(root / name).last for name in (parts, whole)]
    with np.load(paths[0]) as arrays, np.load(paths[1]) as expected:
        assert arrays.files == expected.files
        for name in expected.files:
            if name.startswith("weights/") and not name.endswith("bias"):
                np.testing.assert_allclose(arrays[name], expected[name], atol=2e-4, err_msg=name)


def test_shares_cover_a_batch():
    rows = np.arange(10).reshape(5, 2) + 1
    shares = [Devices(2, "x:1", 2, each).share(rows, group=1) for each in range(2)]
    assert [len(each) for each in shares] == [4, 4]
    np.testing.assert_array_equal(np.concatenate(shares)[:5], rows)
    assert not np.concatenate(shares)[5:].any()


def test_pairs_of_rows_stay_on_one_device():
    rows = np.arange(12).reshape(6, 2)
    shares = [Devices(1, "x:1", 2, each).share(rows, group=2) for each in range(2)]
    assert [len(each) for each in shares] == [4, 4]
    np.testing.assert_array_equal(shares[0], rows[:4])


@pytest.mark.slow
def test_two_mirrored_devices_match_one(tmp_path):
    recipe, prepared = prepared_toy(tmp_path, max_steps=6, checkpoint_every=2)
    whole = train(recipe, prepared, tmp_path / "whole")
    rewound(whole, tmp_path / "parts", 2)
    outcome(start(tmp_path, ("parts", 4, True), backend="tensorflow", devices={"devices": 2}))
    train(recipe, prepared, tmp_path / "parts", resume=True)
    assert_equivalent(tmp_path, "whole", "parts")


@pytest.mark.slow
def test_two_processes_match_one(tmp_path):
    prepared_toy(tmp_path, checkpoint_every=2)
    outcome(start(tmp_path, ("whole", 6, False)))
    rewound(Run.open(tmp_path / "whole"), tmp_path / "parts", 2)
    first, second = two(tmp_path, ("parts", 6, True))
    printed = outcome(second)
    outcome(first)
    assert [float(line.split()[1]) for line in printed.splitlines() if line[0].isdigit()] == losses(
        tmp_path / "parts"
    )[2:]
    assert_equivalent(tmp_path, "whole", "parts")


def test_missing_devices_leave_the_run_unchanged(tmp_path):
    recipe, prepared = prepared_toy(tmp_path)
    run = Run.create(tmp_path / "run", recipe, prepared)
    before = sorted(run.folder.rglob("*"))
    with pytest.raises(
        ResourceError, match=r"`devices=64`: this machine has \d+ (core|CPU|GPU)s?[ ,]"
    ):
        set_up(Devices(64), recipe)
    assert sorted(run.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        (Devices(1, "host:1234", 2, 2), "`process_id=2` with 2 processes; .* from 0 to 1"),
        (Devices(1, "host", 2, 1), "`coordinator=host`: not of the form HOST:PORT"),
        (Devices(1, "host:0", 2, 1), "`coordinator=host:0`: not of the form HOST:PORT"),
        (
            Devices(1, "host:1", 2, 1),
            r"set KERAS_BACKEND=jax, and pip install 'nmt_cli\[train-jax\]'",
        ),
    ],
)
def test_invalid_options(devices, message):
    with pytest.raises(OptionError, match=message):
        set_up(devices, Recipe())


def test_the_three_options_need_each_other():
    result = CliRunner().invoke(cli, ["train", "phrasebook", "--processes", "2"])
    assert result.exit_code == 2
    assert "--coordinator, --processes and --process-id go together" in result.output


@pytest.mark.slow
def test_processes_with_different_devices_are_refused(tmp_path, monkeypatch):
    prepared_toy(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    port = f"127.0.0.1:{free_port()}"
    processes = [
        start(
            tmp_path,
            ("run", 2, False),
            devices={
                "devices": number + 1,
                "coordinator": port,
                "processes": 2,
                "process_id": number,
            },
        )
        for number in range(2)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert all(process.returncode for process in processes)
    # The slower process may lose the other one before it can report this.
    message = "process 1 has a different recipe, `devices`, data or checkpoint than process 0"
    assert any(message in err for err in errors), errors
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_unreachable_coordinator(tmp_path):
    prepared_toy(tmp_path)
    where = {"coordinator": f"127.0.0.1:{free_port()}", "processes": 2, "process_id": 1}
    process = start(tmp_path, ("run", 2, False), devices=where, patience=3)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "2 processes did not connect within 3 s" in err
    assert not (tmp_path / "run").exists()


def in_training(root: Path, recipe: Recipe) -> list[subprocess.Popen[str]]:
    """Start two processes of ``nmt train`` and wait for some steps."""
    (root / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    where = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process-id"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "nmt_cli", "train", "toy.toml", *where, str(number)],
            cwd=root,
            stderr=(root / f"{number}.log").open("w"),
            text=True,
            env={**os.environ, "KERAS_BACKEND": "jax"},
        )
        for number in range(2)
    ]
    end = time.monotonic() + 300
    while "step     30" not in (root / "0.log").read_text():
        assert time.monotonic() < end, (root / "0.log").read_text()
        time.sleep(0.2)
    return processes


def endless_toy(root: Path) -> Recipe:
    training = {
        "checkpoint_every": 10,
        "validate_every": 10**6,
        "max_steps": 10**6,
        "log_every": 10,
    }
    prepared_toy(root)
    return toy_recipe(root, training=training)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_ends_the_other_with_one_line(tmp_path, victim):
    processes = in_training(tmp_path, endless_toy(tmp_path))
    processes[victim].send_signal(signal.SIGKILL)
    assert processes[1 - victim].wait(timeout=90) == 1
    text = (tmp_path / f"{1 - victim}.log").read_text()
    assert "Traceback" not in text
    assert text.count("nmt: ") == 1
    last = text.rstrip().rpartition("\n")[2]
    assert last.startswith("nmt: another process of the training was lost"), text
    assert last.endswith("start all of them again, with --resume")
    assert Run.open(tmp_path / "runs" / "toy-xx-yy").checkpoints()


@pytest.mark.slow
def test_a_signal_to_any_process_stops_all_with_a_checkpoint(tmp_path):
    processes = in_training(tmp_path, endless_toy(tmp_path))
    processes[1].send_signal(signal.SIGTERM)
    assert [process.wait(timeout=90) for process in processes] == [130, 130]
    for number in range(2):
        text = (tmp_path / f"{number}.log").read_text()
        assert "oneDNN" not in text  # no messages of TensorFlow, which is only used for its seed
        last = text.rstrip().rpartition("\n")[2]
        assert last.startswith("nmt: stopped at step ")
        assert last.endswith(f"--processes 2 --process-id {number} --resume")
