"""Training end to end on a toy task: resume, checkpoints, limits."""

import json

import numpy as np
import pytest

from nmt_cli.data.prepare import prepare
from nmt_cli.errors import NmtError
from nmt_cli.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from nmt_cli.training.run import Run
from nmt_cli.training.train import compiled_model, train, trained_model
from tests.systems import toy_data, toy_recipe, untrained_run


def silent(line: str) -> None:
    pass


def arrays_of(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files if name != "progress"}


def test_a_resumed_run_ends_with_the_same_bytes(tmp_path):
    recipe, prepared = toy_data(tmp_path)
    train(recipe, prepared, tmp_path / "whole", say=silent)
    short = toy_recipe(tmp_path, training={"max_steps": 6})
    train(short, prepared, tmp_path / "parts", say=silent)
    train(recipe, prepared, tmp_path / "parts", resume=True, say=silent)
    whole, parts = (arrays_of(Run.open(tmp_path / name).last) for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)


def test_a_run_logs_validates_and_keeps_best_and_last(tmp_path):
    recipe, prepared = toy_data(tmp_path)
    said: list[str] = []
    run = train(recipe, prepared, tmp_path / "run", say=said.append)
    rows = [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [3, 6, 9, 12]
    assert [row["step"] for row in rows if "validation_bleu" in row] == [6, 12]
    assert all(row["tokens_per_second"] > 0 for row in rows if "loss" in row)
    assert run.last.exists()
    assert run.best.exists()
    _, progress = trained_model(run, run.last)
    assert progress.step == 12
    assert any("BLEU" in line for line in said)


def test_an_optimizer_step_moves_every_weight(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"max_steps": 2})
    run = train(recipe, prepared, tmp_path / "run", say=silent)
    before = compiled_model(run)
    after, _ = trained_model(run, run.last)
    for old, new in zip(before.weights, after.weights, strict=True):
        assert not np.array_equal(old, new), f"{old.path} did not move"


def test_mixed_precision_trains_and_reads_back_as_float32(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"precision": "mixed_bfloat16", "max_steps": 6})
    run = train(recipe, prepared, tmp_path / "run", say=silent)
    model, _ = trained_model(run, run.last)
    assert {weight.dtype for weight in model.weights} == {"float32"}


def test_time_ends_a_run(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"max_minutes": 0.0001, "max_steps": 5000})
    run = train(recipe, prepared, tmp_path / "run", say=silent)
    _, progress = trained_model(run, run.last)
    assert progress.step == 1


def test_a_finished_run_is_not_resumed(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"max_steps": 2})
    train(recipe, prepared, tmp_path / "run", say=silent)
    with pytest.raises(NmtError, match="already trained for 2 steps"):
        train(recipe, prepared, tmp_path / "run", resume=True, say=silent)


def test_another_recipe_is_not_resumed(tmp_path):
    run = untrained_run(tmp_path)
    other = toy_recipe(tmp_path, model={"dropout": 0.3}, training={"warmup_steps": 7})
    prepared = prepare(other, tmp_path / "prepared", say=silent)
    with pytest.raises(NmtError, match=r"changed .* in model.dropout, training.warmup_steps"):
        train(other, prepared, run.folder, resume=True, say=silent)


def test_other_data_is_not_resumed(tmp_path):
    run = untrained_run(tmp_path)
    with (tmp_path / "train.xx").open("a") as more, (tmp_path / "train.yy").open("a") as too:
        more.write("pão pão\n")
        too.write("pão pão\n")
    prepared = prepare(run.recipe, tmp_path / "prepared", say=silent)
    with pytest.raises(NmtError, match="the prepared data changed"):
        train(run.recipe, prepared, run.folder, resume=True, say=silent)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    run = untrained_run(tmp_path)
    deeper = toy_recipe(tmp_path, model={"encoder_layers": 2, "embeddings": "target-softmax"})
    other = Run(run.folder, deeper, run.source_vocab, run.target_vocab, "")
    with pytest.raises(NmtError) as caught:
        trained_model(other, run.last)
    assert "the checkpoint of another model" in str(caught.value)
    assert "only the model has weights/encoder_1/" in caught.value.hint


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(tmp_path, share):
    run = untrained_run(tmp_path)
    whole = run.last.read_bytes()
    run.last.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(NmtError, match="damaged checkpoint"):
        trained_model(run, run.last)


def test_a_flipped_bit_in_a_checkpoint_is_noticed(tmp_path):
    run = untrained_run(tmp_path)
    content = bytearray(run.last.read_bytes())
    content[len(content) // 2] ^= 4
    run.last.write_bytes(bytes(content))
    with pytest.raises(NmtError, match="damaged checkpoint"):
        trained_model(run, run.last)


def test_a_checkpoint_brings_back_everything(tmp_path):
    run = untrained_run(tmp_path)
    model = compiled_model(run)
    for variable in [*model.variables, *model.optimizer.variables]:
        variable.assign(variable + 1)
    saved = Progress(step=7, epoch=2, index=5, seconds=1.5, best_score=12.0, validated=6, worse=1)
    save_checkpoint(tmp_path / "all.npz", model, saved)
    twin = compiled_model(run)
    assert load_checkpoint(tmp_path / "all.npz", twin, training=True) == saved
    for left, right in zip(
        [*model.variables, *model.optimizer.variables],
        [*twin.variables, *twin.optimizer.variables],
        strict=True,
    ):
        np.testing.assert_array_equal(left, right)
