"""A grown run computes the same as the run that it was made from, and can be trained."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.text.tokenizer import load_tokenizers
from nmt_cli.training.run import Run
from tools.grow import features, grow, origins, respelled


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


def test_old_features_keep_their_frequency_or_take_the_nearest() -> None:
    old, new = (10_000.0 ** (-(np.arange(size) // 2 * 2) / size) for size in (192, 256))
    places = features(192, 256)
    assert len(set(places)) == 192
    assert places[[0, 1, 6, 7]].tolist() == [0, 1, 8, 9]  # the same frequencies
    np.testing.assert_allclose(new[places], old, rtol=0.04)
    assert features(192, 384).tolist() == [
        place for pair in range(96) for place in (4 * pair, 4 * pair + 1)
    ]


def test_more_hidden_units_compute_the_same(tiny_run: Run, tmp_path: Path) -> None:
    units = 2 * tiny_run.recipe.model.feed_forward  # type: ignore[attr-defined]
    grow(tiny_run.folder, tmp_path / "wide", feed_forward=units)
    wide = Run.open(tmp_path / "wide")
    assert wide.weights > tiny_run.weights
    np.testing.assert_allclose(logits(wide), logits(tiny_run), atol=1e-4)


def test_a_wider_model_computes_nearly_the_same(tiny_run: Run, tmp_path: Path) -> None:
    width = 2 * tiny_run.recipe.model.d_model
    grow(tiny_run.folder, tmp_path / "wide", d_model=width)
    wide = Run.open(tmp_path / "wide")
    assert wide.recipe.model.d_model == width
    new, old = (values.reshape(-1) for values in (logits(wide), logits(tiny_run)))
    assert np.corrcoef(new, old)[0, 1] > 0.9


def test_new_pieces_begin_with_the_mean_of_what_spells_them(tiny_run: Run) -> None:
    tokenizer = load_tokenizers(tiny_run.folder / "tokenizer").target
    matrix = np.random.default_rng(1).normal(size=(tokenizer.vocab_size, 3)).astype(np.float32)
    pieces = tokenizer.tokens(range(tokenizer.vocab_size))

    class Larger:
        vocab_size = tokenizer.vocab_size + 1

        def tokens(self, ids: range) -> list[str]:
            return [*pieces, "▁theboy"]

    new = respelled(matrix, tokenizer, Larger(), seed=1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(new[:-1], matrix)
    np.testing.assert_allclose(new[-1], matrix[tokenizer.encode(["theboy"])[0]].mean(axis=0))


def test_what_cannot_grow(tiny_run: Run, tmp_path: Path) -> None:
    layers, width = tiny_run.recipe.model.encoder_layers, tiny_run.recipe.model.d_model
    with pytest.raises(NmtError, match=f"its model.d_model is {width}, not less; give a"):
        grow(tiny_run.folder, tmp_path / "new", d_model=width // 2)
    with pytest.raises(NmtError, match=f"model.d_model = {width + 1} is not a multiple"):
        grow(tiny_run.folder, tmp_path / "new", d_model=width + 1)
    with pytest.raises(NmtError, match="nothing to grow"):
        grow(tiny_run.folder, tmp_path / "new", layers)
    with pytest.raises(NmtError, match="exists; choose another name"):
        grow(tiny_run.folder, tmp_path, layers + 1)
    assert not (tmp_path / "new").exists()
