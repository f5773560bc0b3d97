"""A grown run computes the same as the run that it was made from, and can be trained."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.training.run import Run
from tools.grow import grow, origins


def logits(run: Run) -> np.ndarray:
    from nmt_cli.training.model import trained_model

    model, _ = trained_model(run, run.preferred)
    random = np.random.default_rng(1)
    source, target = (random.integers(4, run.source_vocab, (3, size)) for size in (9, 7))
    return np.asarray(model([source, target]))


def test_old_layers_stay_in_order_and_new_ones_are_spread() -> None:
    assert origins(2, 3) == [(0, True), (0, False), (1, True)]
    assert origins(3, 6) == [(0, True), (0, False), (1, True), (1, False), (2, True), (2, False)]


def test_a_grown_run_computes_the_same(tiny_run: Run, tmp_path: Path) -> None:
    layers = tiny_run.recipe.model.encoder_layers
    command = [sys.executable, "-m", "tools.grow", str(tiny_run.folder), str(tmp_path / "deep")]
    subprocess.run([*command, "--encoder-layers", str(layers + 2)], check=True, timeout=120)
    deep = Run.open(tmp_path / "deep")
    assert deep.recipe.model.encoder_layers == layers + 2
    assert deep.weights > tiny_run.weights
    assert deep.initial["name"] == tiny_run.recipe.label
    np.testing.assert_array_equal(logits(deep), logits(tiny_run))


def test_what_cannot_grow(tiny_run: Run, tmp_path: Path) -> None:
    layers = tiny_run.recipe.model.encoder_layers
    with pytest.raises(NmtError, match=f"its encoder has {layers} layers already"):
        grow(tiny_run.folder, tmp_path / "new", layers)
    with pytest.raises(NmtError, match="exists; choose another name"):
        grow(tiny_run.folder, tmp_path, layers + 1)
    assert not (tmp_path / "new").exists()
