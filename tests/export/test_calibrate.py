"""Sizes of activations: by hand, and of a trained model's graphs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nmt_cli.bundle import DECODER, ENCODER
from nmt_cli.export.onnx.precision import MAX_ERROR, best_size, calibrate, quantize
from nmt_cli.training.run import Run
from tests.export.graphs import loaded

RNG = np.random.default_rng(3)


def test_values_that_fit_the_steps_have_no_error() -> None:
    values = np.float32(0.5) * np.arange(-127, 128, dtype=np.float32)[:, None]
    size, error = best_size(values)
    assert size == pytest.approx(63.5)
    assert error == pytest.approx(0.0, abs=1e-12)


def test_values_after_a_relu_use_all_steps() -> None:
    values = np.float32(0.5) * np.arange(256, dtype=np.float32)[:, None]
    assert best_size(values) == (pytest.approx(127.5), pytest.approx(0.0, abs=1e-12))


def test_one_outlier_among_many_is_clipped() -> None:
    values = RNG.normal(size=(1000, 100)).astype(np.float32)
    whole, _ = best_size(values)
    values[0, 0] = 40.0
    size, error = best_size(values)
    assert whole <= size < 40
    step = size / 127
    by_hand = np.square(values - np.clip(np.rint(values / step), -128, 127) * step).mean()
    assert error == pytest.approx(by_hand / np.square(values).mean(), rel=1e-3)


def test_nothing_but_zeros() -> None:
    assert best_size(np.zeros((3, 4), np.float32)) == (1.0, 0.0)


def test_the_sizes_are_those_of_what_the_products_read(
    tiny_bundle: Callable[[str], Path], tiny_run: Run
) -> None:
    """The model's graphs in float32, and their first products by hand."""
    models = {name: loaded(tiny_bundle("float32") / name) for name in (ENCODER, DECODER)}
    pairs = [([5, 9, 7, 3], [6, 8]), ([4, 3], [])]
    sizes = calibrate(models, tiny_run.recipe.model, pairs)
    for name, model in models.items():
        matrices = [node for node in model.graph if node.op_type == "MatMul"]
        assert len(sizes[name]) == len(matrices)
        assert all(size > 0 for size in sizes[name].values())
    assert calibrate(models, tiny_run.recipe.model, []) == {ENCODER: {}, DECODER: {}}


def test_a_few_very_large_values_round_all_others_to_zero() -> None:
    values = RNG.normal(size=(500, 8)).astype(np.float32)
    assert best_size(values)[1] < MAX_ERROR
    values[0] = 50.0
    assert best_size(values)[1] > MAX_ERROR


def test_a_product_with_a_large_error_keeps_a_scale_per_row(
    tiny_bundle: Callable[[str], Path], tiny_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {name: loaded(tiny_bundle("float32") / name) for name in (ENCODER, DECODER)}
    pairs = [([5, 9, 7, 3], [6, 8])]
    seen: list[float] = []

    def second_is_bad(values: NDArray[np.float32]) -> tuple[float, float]:
        seen.append(best_size(values)[0])
        return seen[-1], 2 * MAX_ERROR if len(seen) == 2 else 0.0

    monkeypatch.setattr("nmt_cli.export.onnx.precision.best_size", second_is_bad)
    sizes = calibrate(models, tiny_run.recipe.model, pairs)
    products = [
        node for model in models.values() for node in model.graph if node.op_type == "MatMul"
    ]
    assert sum(map(len, sizes.values())) == len(products) - 1
    quantized = quantize(models[ENCODER], sizes[ENCODER])
    # Only rows with scales of their own are divided by them.
    assert [node.op_type for node in quantized.graph].count("Div") == 1
