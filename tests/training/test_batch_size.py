"""training.batch_tokens = 0: the largest batch that fits."""

from dataclasses import replace

import pytest

from nmt_cli.errors import ResourceError
from nmt_cli.training import model
from nmt_cli.training.model import MAX_BATCH_TOKENS, largest_batch_tokens
from nmt_cli.training.run import Run
from nmt_cli.training.train import train
from tests.systems import toy_data, toy_recipe

GIB = 2**30


def test_on_a_cpu_the_peaks_are_extrapolated_to_the_free_memory():
    # 1 GiB, and 1 MiB per token: 80% of 11 GiB leave 7.8 GiB for tokens.
    steps = ((tokens, GIB + tokens * 2**20, False) for tokens in (1024, 2048, 4096, 8192))
    assert model._largest(steps, 11 * GIB) == int(7.8 * 1024)
    assert next(steps)[0] == 8192  # three measurements were enough


def test_an_accelerator_doubles_until_a_step_fails():
    assert model._largest(iter([(1024, 5, True), (2048, 5, True)]), GIB) == 2048


def test_the_budget_has_a_maximum():
    assert (
        model._largest(((2**n, GIB + 2**n, False) for n in (10, 11, 12)), 2**50) == MAX_BATCH_TOKENS
    )
    assert model._largest(((2**n, GIB, False) for n in (10, 11, 12)), 2 * GIB) == MAX_BATCH_TOKENS
    assert model._largest(iter([]), GIB) == 0


def test_a_system_that_does_not_report_its_free_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "free_memory", lambda: None)
    recipe = toy_recipe(tmp_path, training={"batch_tokens": 0})
    with pytest.raises(ResourceError, match="does not report its free memory; set it to a number"):
        largest_batch_tokens(recipe, 300, 300)


@pytest.mark.slow
def test_too_little_memory_for_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "free_memory", lambda: 2**20)
    recipe = toy_recipe(tmp_path, training={"batch_tokens": 0})
    with pytest.raises(ResourceError, match="not enough memory for a step of 128 tokens"):
        largest_batch_tokens(recipe, 300, 300)


@pytest.mark.slow
def test_the_size_found_is_kept_when_the_run_is_resumed(tmp_path, monkeypatch, caplog):
    # Limit the batch to 1.5 GiB of memory; the model itself is tiny.
    monkeypatch.setattr(model, "free_memory", lambda: int(1.5 * GIB))
    recipe, prepared = toy_data(tmp_path, training={"batch_tokens": 0, "max_steps": 2})
    run = train(recipe, prepared, tmp_path / "run")
    size = Run.open(run.folder).recipe.training.batch_tokens
    assert 1024 <= size <= MAX_BATCH_TOKENS
    assert f"training.batch_tokens = {size:,}" in caplog.messages
    longer = replace(recipe, training=replace(recipe.training, max_steps=3))
    resumed = train(longer, prepared, run.folder, resume=True)
    assert resumed.recipe.training.batch_tokens == size
