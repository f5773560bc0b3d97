"""A second signal ends a training at once, by that signal."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness import NMT
from tests.systems import toy_recipe, write_toy_corpus

# Computes for many minutes without running Python's handlers, as TensorFlow may.
BUSY = """
import hashlib
from nmt_cli.training.signals import second_signal_kills
with second_signal_kills():
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha512", b"", b"", 2_000_000_000)
"""
# Stops at the first signal, and installs another handler, as the end of a session does.
STOPPING = """
import signal, sys, time
from nmt_cli.training.signals import second_signal_kills
def stop(number, frame):
    signal.signal(number, signal.default_int_handler)
    raise InterruptedError
try:
    with second_signal_kills():
        signal.signal(signal.SIGTERM, stop)
        print("ready", flush=True)
        try:
            time.sleep(600)
        except InterruptedError:
            if sys.argv[1] == "after":
                raise
            print("stopping", flush=True)
            time.sleep(600)
except InterruptedError:
    print("stopping", flush=True)
    time.sleep(600)
"""


def process_of(*words: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=cwd, stdout=pipe, stderr=pipe, text=True)


def kill(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal until the process ends: two at the same time may arrive as one."""
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(number)
        time.sleep(0.02)
    process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_python_cannot_run_handlers(number: signal.Signals) -> None:
    with process_of(sys.executable, "-c", BUSY) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        kill(process, number)
    assert process.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_while_a_training_stops(number: signal.Signals, moment: str) -> None:
    with process_of(sys.executable, "-c", STOPPING, moment) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        kill(process, number)
    # Python may run the other handler first, which raises KeyboardInterrupt.
    assert process.returncode in (-number, -signal.SIGINT)


@pytest.mark.slow
def test_in_a_long_step(tmp_path: Path) -> None:
    write_toy_corpus(tmp_path, pairs=3000)
    model = {"d_model": 512, "feed_forward": 2048}  # a step takes seconds
    recipe = toy_recipe(tmp_path, model=model, training={"batch_tokens": 8192, "log_every": 1})
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    with process_of(*NMT, "train", "toy.toml", cwd=tmp_path) as process:
        assert process.stderr
        assert any(line.startswith("step ") for line in process.stderr)
        kill(process, signal.SIGTERM)
        rest = process.stderr.read()
    assert process.returncode == -signal.SIGTERM, rest
    assert not list(tmp_path.glob("runs/*/checkpoints/step-*"))
