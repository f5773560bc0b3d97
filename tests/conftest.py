"""Bundles of one tiny untrained model, made when a test first asks for one."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from nmt_cli.training.run import Run
from tests.systems import untrained_run

# Run in the background of a script, tests and what they start would ignore SIGINT.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test is a stopwatch: another job of the machine would make it fail.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# What a developer's own shell asks of nmt is not asked of it here.
for variable in [each for each in os.environ if each.startswith("NMT_")]:
    if variable != "NMT_TEST_DATA":
        del os.environ[variable]


@pytest.fixture(autouse=True)
def _out_of_the_collectors_sight() -> Iterator[None]:
    """TensorFlow's graphs are cycles of many objects, each looked at in every full collection;
    freeing one training's took nine seconds. Tests keep theirs instead (70 MB a training)."""
    yield
    gc.freeze()


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Random weights, biases included; two decoder layers, heads of 16, all embeddings tied."""
    return untrained_run(tmp_path_factory.mktemp("tiny"), decoding={"max_length": 24})


@pytest.fixture(scope="session")
def tiny_bundle(tiny_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The bundle of a precision."""
    from nmt_cli.export.onnx_bundle import export_onnx

    place = tmp_path_factory.mktemp("bundles")

    def made(precision: str) -> Path:
        folder, decoding = place / precision, tiny_run.recipe.decoding
        if not folder.exists():
            export_onnx(
                tiny_run, tiny_run.last, decoding, folder, lambda line: None, precision, False
            )
        return folder

    return made
