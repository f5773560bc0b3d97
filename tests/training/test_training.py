"""End-to-end training on a toy task: resuming, checkpoints and limits."""

import json
import os
import shutil
import signal
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.data.batches import Position, training_batches
from nmt_cli.data.prepare import prepare
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, NmtError, RecipeError
from nmt_cli.plot.training import log_records
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.model import PAD_ID, START_ID, SUPPRESSED
from nmt_cli.training import run as run_module
from nmt_cli.training.checkpoint import (
    TrainingState,
    inference_weights,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from nmt_cli.training.devices import BatchFeed
from nmt_cli.training.job import TrainOptions, run_training
from nmt_cli.training.loss import SmoothedCrossEntropy
from nmt_cli.training.model import compiled_model, trained_model
from nmt_cli.training.run import Run, describe_run
from nmt_cli.training.session import Session
from nmt_cli.training.train import train
from nmt_cli.training.validation import ValidationResult, Validator
from tests import systems
from tests.conftest import Once
from tests.systems import DROPOUTS, rewound, toy_recipe, untrained_run, write_toy_corpus


def toy_data(folder: Path, **sections: dict[str, object]) -> tuple[Recipe, Prepared]:
    """Return toy data with short decoding: a barely trained model never ends a translation."""
    return systems.toy_data(folder, decoding={"max_length": 5}, **sections)


@dataclass(frozen=True)
class Whole:
    """An uninterrupted training of twelve steps."""

    root: Path
    recipe: Recipe
    prepared: Prepared
    run: Run

    def copied(self, folder: Path) -> Run:
        """Return a copy of the run for a test to damage."""
        return Run.open(Path(shutil.copytree(self.run.folder, folder / "run")))


@pytest.fixture(scope="module")
def whole(once: Once) -> Whole:
    def fill(root: Path) -> None:
        train(*toy_data(root), root / "run")

    root = once("whole", fill)
    run = Run.open(root / "run")
    return Whole(root, run.recipe, Prepared.open(root / "prepared"), run)


@pytest.fixture(scope="module")
def untrained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_run(tmp_path_factory.mktemp("untrained")).folder


@pytest.fixture
def untrained(untrained_folder: Path, tmp_path: Path) -> Run:
    """A run with random weights to damage."""
    return Run.open(Path(shutil.copytree(untrained_folder, tmp_path / "run")))


def arrays_of(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files if name != "progress"}


@pytest.mark.traced
def test_a_resumed_run_ends_with_the_same_bytes(tmp_path, whole, caplog):
    parts = Run.open(rewound(whole.run, tmp_path / "parts", 6))
    # A damaged checkpoint is replaced by the previous one.
    parts.checkpoint(8).write_bytes(parts.last.read_bytes()[:1000])
    train(whole.recipe, whole.prepared, parts.folder, resume=True)
    assert "damaged checkpoint" in caplog.messages[0]
    assert "using the previous checkpoint" in caplog.messages[0]
    assert caplog.messages[1] == "resuming at step 6"
    left = whole.recipe.training.max_steps - 6
    assert f" parameters, at most {left} steps, " in caplog.messages[2]
    same_weights(whole.run, parts)


def test_a_training_ends_after_its_epochs(tmp_path, whole, caplog):
    epochs = {"max_epochs": 1, "accumulate": 2, "max_steps": 1000, "validate_every": 1000}
    recipe = toy_recipe(whole.root, training={**epochs, "batch_tokens": 2048})
    batches = len(training_batches(recipe, whole.prepared).batches(0).order(0))
    run = train(recipe, whole.prepared, tmp_path / "run")
    assert read_checkpoint(run.last)[1].step == -(-batches // 2) < 1000
    # It is finished until there are more epochs.
    train(recipe, whole.prepared, run.folder, resume=True)
    assert "raise training.max_steps or max_epochs to continue" in caplog.messages[-1]
    assert Run.open(run.folder).recipe == recipe
    more = replace(recipe, training=replace(recipe.training, max_epochs=2))
    again = train(more, whole.prepared, run.folder, resume=True)
    assert read_checkpoint(again.last)[1].step == batches
    warm = {"max_epochs": 1, "schedule": "cosine", "warmup_steps": 500, "max_steps": 1000}
    with pytest.raises(
        RecipeError, match="max_epochs = 1 makes .* steps: training.warmup_steps = 500"
    ):
        train(toy_recipe(whole.root, training=warm), whole.prepared, tmp_path / "b")


def test_a_run_logs_validates_and_keeps_best_and_last(whole):
    run = whole.run
    rows = [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [3, 6, 9, 12]
    assert [row["step"] for row in rows if "validation_bleu" in row] == [6, 12]
    assert all(row["tokens_per_second"] > 0 for row in rows if "loss" in row)
    assert run.last.exists()
    assert run.best.exists()
    _, progress = trained_model(run, run.last)
    assert progress.step == 12


def same_weights(one: Run, other: Run) -> None:
    left, right = arrays_of(one.last), arrays_of(other.last)
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


NOISE = {
    "model": DROPOUTS,
    "training": {
        "r_drop": 5.0,
        "sample_subwords": 0.2,
        "ema": 0.9,
        "optimizer": "adamw",
        "schedule": "cosine",
        "warmup_steps": 4,
    },
}
PACE = {"training": {"accumulate": 3, "curriculum": 3, "optimizer": "nadam", "clip_norm": 0.5}}
HALF = {"training": {"precision": "mixed_float16", "optimizer": "muon"}}
# Each takes almost a minute.
OPTIONS = [
    pytest.param(NOISE, id="noise", marks=pytest.mark.slow),
    pytest.param(PACE, id="pace", marks=pytest.mark.slow),
    pytest.param(HALF, id="float16", marks=pytest.mark.slow),
]


@pytest.mark.traced
@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_resumes_to_the_same_bytes(tmp_path, options, monkeypatch):
    recipe, prepared = toy_data(tmp_path, **options)
    whole = train(recipe, prepared, tmp_path / "whole")
    # Stop as with a signal, between logs, validations and epochs.
    stop_at(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, prepared, tmp_path / "parts")
    monkeypatch.undo()
    parts = train(recipe, prepared, tmp_path / "parts", resume=True)
    same_weights(whole, parts)
    initial = compiled_model(whole)
    trained, _ = trained_model(whole, whole.last)
    moved = [
        not np.array_equal(a, b) for a, b in zip(initial.weights, trained.weights, strict=True)
    ]
    assert all(moved)


def stop_at(monkeypatch, step: int) -> None:
    """Make the training behave as if a signal had arrived before the end of this step."""
    original = Session.on_train_batch_end

    def interrupted(self, batch, logs=None):
        # This is called per batch: with accumulation, the step is completed first.
        self.signalled = self.state.step >= step - 1
        original(self, batch, logs)

    monkeypatch.setattr(Session, "on_train_batch_end", interrupted)


@pytest.mark.traced
@pytest.mark.slow
def test_a_run_stopped_while_validating_resumes_with_that_validation(tmp_path, whole, monkeypatch):
    recipe, prepared = whole.recipe, whole.prepared

    def signal_comes(self, checkpoint=None):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal stops the validation")

    monkeypatch.setattr(Validator, "validate", signal_comes)
    with pytest.raises(KeyboardInterrupt) as stopped:
        train(recipe, prepared, tmp_path / "parts")
    assert stopped.value.args == (6,)
    monkeypatch.undo()
    parts = train(recipe, prepared, tmp_path / "parts", resume=True)
    same_weights(whole.run, parts)
    assert read_checkpoint(whole.run.best)[1].step == read_checkpoint(parts.best)[1].step
    for run in (whole.run, parts):
        assert [row["step"] for row in log(run) if "validation_bleu" in row] == [6, 12]


@pytest.mark.traced
@pytest.mark.slow
@pytest.mark.parametrize("step", [6, 12])
def test_a_run_killed_after_a_validation_validates_again(tmp_path, whole, monkeypatch, step):
    save = Session.save

    def killed(self):
        if self.state.validated == step:
            raise SystemExit
        save(self)

    monkeypatch.setattr(Session, "save", killed)
    with pytest.raises(SystemExit):
        train(whole.recipe, whole.prepared, tmp_path / "parts")
    monkeypatch.undo()
    parts = train(whole.recipe, whole.prepared, tmp_path / "parts", resume=True)
    same_weights(whole.run, parts)
    bests = [read_checkpoint(run.best) for run in (whole.run, parts)]
    assert replace(bests[0][1], seconds=0.0) == replace(bests[1][1], seconds=0.0)
    assert [list(row) for row in log(parts)] == [list(row) for row in log(whole.run)]
    assert [row["step"] for row in log(parts)] == [row["step"] for row in log(whole.run)]


@pytest.mark.slow
def test_a_run_killed_while_validating_its_average_validates_it_again(
    tmp_path, monkeypatch, caplog
):
    recipe, prepared = toy_data(tmp_path, training={"average": 2, "max_steps": 2})

    validate = Validator.validate

    def killed(self, checkpoint=None):
        if checkpoint:
            raise SystemExit
        return validate(self)

    monkeypatch.setattr(Validator, "validate", killed)
    with pytest.raises(SystemExit):
        train(recipe, prepared, tmp_path / "run")
    assert not Run.open(tmp_path / "run").average.exists()
    monkeypatch.undo()
    run = train(recipe, prepared, tmp_path / "run", resume=True)
    assert read_checkpoint(run.average)[1].step == 2
    assert_finished(caplog, recipe, prepared, tmp_path / "run", 2)
    longer = replace(recipe, training=replace(recipe.training, max_steps=4))
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Validator, "validate", killed)
        train(longer, prepared, tmp_path / "run", resume=True)
    assert read_checkpoint(run.average)[1].step == 2
    run = train(longer, prepared, tmp_path / "run", resume=True)
    assert read_checkpoint(run.average)[1].step == 4


@pytest.mark.parametrize("ema", [0.0, pytest.param(0.9, marks=pytest.mark.slow)])
def test_the_best_average_sets_the_score_to_beat(tmp_path, monkeypatch, ema):
    recipe, prepared = toy_data(
        tmp_path,
        training={"average": 2, "max_steps": 2, "validate_every": 1, "metric": "loss", "ema": ema},
    )
    single, mean, kept = 3.0, 2.0, {}
    validate = Validator.validate

    def judged(self, checkpoint=None):
        if not checkpoint:
            return ValidationResult(single, accuracy=0.5, bleu=1.0, chrf=1.0)
        run = Run.open(tmp_path / "run")
        kept[run.last], _ = read_checkpoint(run.last)
        return replace(validate(self, checkpoint), loss=mean)

    monkeypatch.setattr(Validator, "validate", judged)
    run = train(recipe, prepared, tmp_path / "run")
    average = run.average.read_bytes()
    assert run.best.read_bytes() == average
    arrays, progress = read_checkpoint(run.last)
    assert progress == replace(read_checkpoint(run.average)[1], best_score=-2.0)
    # The training continues from neither the average nor the moving average.
    assert arrays.keys() == kept[run.last].keys()
    for name, array in kept[run.last].items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
    # A score between the two is not the best.
    single, mean = 2.5, 2.2
    longer = replace(recipe, training=replace(recipe.training, max_steps=4))
    run = train(longer, prepared, tmp_path / "run", resume=True)
    assert run.best.read_bytes() == average != run.average.read_bytes()
    assert read_checkpoint(run.last)[1].worse == 3


def test_without_a_start_token_its_rows_are_kept(tmp_path):
    model = {"start": "zero", "embeddings": "none"}
    recipe, prepared = toy_data(tmp_path, model=model, training={"max_steps": 2, "ema": 0.9})
    arrays, _ = read_checkpoint(train(recipe, prepared, tmp_path / "run").last)
    special = [PAD_ID, START_ID]
    for kind in ("weights", "average"):
        assert not arrays[f"{kind}/target_embedding/matrix"][special].any()
        assert (arrays[f"{kind}/logits/bias"][special] == SUPPRESSED).all()
        assert (arrays[f"{kind}/logits/bias"] == SUPPRESSED).sum() == len(special)


def test_an_average_is_the_mean_of_the_undamaged_checkpoints(tmp_path, caplog):
    training = {"average": 3, "max_steps": 3, "checkpoint_every": 1}
    recipe, prepared = toy_data(tmp_path, training=training)
    run = train(recipe, prepared, tmp_path / "run")
    weights = [inference_weights(read_checkpoint(path)[0]) for path in run.checkpoints()]
    assert len(weights) == 3

    def assert_mean(parts):
        average = read_checkpoint(run.average)[0]
        assert average.keys() == weights[0].keys()
        for name, array in average.items():
            mean = np.mean([part[name] for part in parts], axis=0)
            np.testing.assert_allclose(array, mean, rtol=1e-5, atol=1e-6)

    assert_mean(weights)
    run.checkpoint(2).write_bytes(run.checkpoint(2).read_bytes()[:1000])
    run.average.unlink()
    run = train(recipe, prepared, tmp_path / "run", resume=True)
    assert any(
        "step-00000002.npz" in line and "left out of the average" in line
        for line in caplog.messages
    )
    assert "average of the last 2 checkpoints:" in caplog.messages
    assert_mean([weights[0], weights[2]])


def test_signals_at_the_end_leave_validations_to_the_resumed_run(tmp_path, monkeypatch):
    recipe, prepared = toy_data(tmp_path, training={"average": 2, "max_steps": 2})
    save, validate = Session.save, Validator.validate

    def saved(self):
        save(self)
        self.signalled = True

    def validated(self, checkpoint=None):
        if checkpoint:
            os.kill(os.getpid(), signal.SIGTERM)
        return validate(self, checkpoint)

    # At the last step, and while validating the average.
    signals = ((Session, "save", saved, 0), (Validator, "validate", validated, 2))
    for resume, (kind, name, signalled, last_validated) in enumerate(signals):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as caught:
            patched.setattr(kind, name, signalled)
            train(recipe, prepared, tmp_path / "run", resume=bool(resume))
        assert caught.value.args == (2,)
        run = Run.open(tmp_path / "run")
        assert read_checkpoint(run.last)[1].validated == last_validated
        assert not run.average.exists()
    run = train(recipe, prepared, tmp_path / "run", resume=True)
    assert read_checkpoint(run.average)[1].step == 2


def log(run: Run) -> list[dict]:
    return [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]


def test_the_log_of_a_resumed_run_matches_an_uninterrupted_one(tmp_path, whole):
    run = whole.copied(tmp_path)
    run.last.unlink()  # as if killed before step 12: training repeats from step 6
    path = run.folder / "log.jsonl"
    rows = log(run)
    for row in rows:
        for sample in row.get("samples", []):  # which may contain other line breaks
            sample["source"] = "one\u2028two\x85three"
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines) + '{"step": 9, "los', encoding="utf-8")  # killed while writing
    assert len(log_records(run.folder)) == 6
    train(whole.recipe, whole.prepared, run.folder, resume=True)
    assert path.read_text(encoding="utf-8").startswith("".join(lines[:3]))
    records = log_records(run.folder)
    assert [row["step"] for row in records if "loss" in row] == [3, 6, 9, 12]
    assert [row["step"] for row in records if "samples" in row] == [6, 12]
    assert len(records) == 6


def test_the_newest_checkpoints_are_kept(tmp_path):
    run = untrained_run(tmp_path, training={"checkpoint_every": 1, "keep": 2, "max_steps": 3})
    for half in ("checkpoints/.step-00000002.npz.1a2b", ".best.npz.1a2b"):  # killed while writing
        (run.folder / half).mkdir()
        (run.folder / half / "half.npz").write_bytes(b"half")
    (run.folder / ".average.npz").write_bytes(b"not validated")
    assert not [name for name in describe_run(run.folder)["files"] if "half" in name]
    prepared = prepare(run.recipe, tmp_path / "prepared")
    train(run.recipe, prepared, run.folder, resume=True)
    assert [read_checkpoint(path)[1].step for path in run.checkpoints()] == [2, 3]
    assert sorted(path.name for path in (run.folder / "checkpoints").iterdir()) == [
        path.name for path in run.checkpoints()
    ]
    assert not list(run.folder.glob(".*"))


def test_a_signal_between_two_checkpoints_does_not_change_the_average(tmp_path, monkeypatch):
    training = {"max_steps": 4, "checkpoint_every": 2, "validate_every": 4, "average": 2, "keep": 2}
    recipe, prepared = toy_data(tmp_path, training=training)
    whole = train(recipe, prepared, tmp_path / "whole")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_at(patched, 3)
        train(recipe, prepared, tmp_path / "parts")
    parts = train(recipe, prepared, tmp_path / "parts", resume=True)
    for name in ("average.npz", "best.npz"):
        one, other = (read_checkpoint(run.folder / name)[0] for run in (whole, parts))
        assert one.keys() == other.keys()
        for key, array in one.items():
            np.testing.assert_array_equal(array, other[key], err_msg=f"{name}, {key}")


def test_a_first_checkpoint_is_written_early_and_replaced_by_the_next(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(run_module, "FIRST_CHECKPOINT", 1)
    recipe, prepared = toy_data(tmp_path, training={"max_steps": 2, "validate_every": 2})
    batch_end = Session.on_train_batch_end

    def killed(self, batch, logs=None):
        if self.state.step:
            raise SystemExit
        batch_end(self, batch, logs)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Session, "on_train_batch_end", killed)
        train(recipe, prepared, tmp_path / "run")
    caplog.clear()
    run = train(recipe, prepared, tmp_path / "run", resume=True)
    assert caplog.messages[0] == "resuming at step 1"
    assert run.checkpoints() == [run.checkpoint(2)]


def test_a_changed_recipe_is_saved_and_deletes_no_new_checkpoint(tmp_path, caplog):
    training = {"max_steps": 2, "validate_every": 1, "keep": 2}
    recipe, prepared = toy_data(tmp_path, training=training)
    run = train(recipe, prepared, tmp_path / "run")
    wider = replace(recipe, decoding=replace(recipe.decoding, beam_size=7))
    assert_finished(caplog, wider, prepared, run.folder, 2)
    assert Run.open(run.folder).recipe == recipe  # nothing was trained
    other = replace(recipe, training=replace(recipe.training, max_steps=3, validate_every=3))
    train(other, prepared, run.folder, resume=True)
    assert Run.open(run.folder).recipe == other
    assert [read_checkpoint(path)[1].step for path in run.checkpoints()] == [2, 3]


def test_a_log_that_cannot_be_read(tmp_path, whole):
    run = whole.copied(tmp_path)
    (run.folder / "log.jsonl").unlink()
    (run.folder / "log.jsonl").mkdir()
    with pytest.raises(ModelError, match=r"log\.jsonl: cannot be read \(Is a directory\)"):
        log_records(run.folder)


@pytest.mark.traced
def test_steps_neither_retrace_nor_wait_for_the_device(tmp_path, monkeypatch):
    write_toy_corpus(tmp_path)
    for side in ("xx", "yy"):
        with (tmp_path / f"train.{side}").open("a", encoding="utf-8") as text:
            text.writelines("pão " * count + "\n" for count in range(8, 40))
    recipe = toy_recipe(tmp_path, training={"max_steps": 40, "validate_every": 40})
    prepared = prepare(recipe, tmp_path / "prepared")
    epochs = training_batches(recipe, prepared)
    assert len({width for width, _ in epochs.order(0)}) > 1
    traced, by_step, kinds = [], {}, []
    call, batch_end = SmoothedCrossEntropy.call, Session.on_train_batch_end

    def counted(self, y_true, y_pred):
        traced.append(y_pred.shape)
        return call(self, y_true, y_pred)

    def noted(self, batch, logs=None):
        kinds.append(type(logs["loss"]))
        batch_end(self, batch, logs)
        by_step[self.state.step] = len(traced)

    monkeypatch.setattr(SmoothedCrossEntropy, "call", counted)
    monkeypatch.setattr(Session, "on_train_batch_end", noted)
    train(recipe, prepared, tmp_path / "run")
    first_epoch = len(epochs.order(0))
    assert 0 < by_step[first_epoch] == by_step[40]
    assert by_step[1] == by_step[40]  # with TensorFlow, one trace serves all shapes
    assert float not in kinds  # a float would have been copied from the device


def test_subword_sampling_does_not_change_the_widths(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"sample_subwords": 0.1})
    epochs = training_batches(recipe, prepared)
    longest = [max(map(len, epochs.batches(epoch).source)) for epoch in range(6)]
    assert len(set(longest)) > 1
    widths = {tuple(epochs.batches(epoch).widths) for epoch in range(6)}
    assert len(widths) == 1


def test_a_loss_that_is_not_finite_names_step_batch_and_lines(tmp_path, monkeypatch):
    recipe, prepared = toy_data(
        tmp_path,
        training={"max_steps": 40, "validate_every": 40, "checkpoint_every": 2, "log_every": 4},
    )
    original = BatchFeed.arrays

    def with_nan(self):
        for number, (inputs, target, weights) in enumerate(original(self), start=1):
            yield inputs, target, weights * (np.float32("nan") if number == 3 else 1)

    monkeypatch.setattr(BatchFeed, "arrays", with_nan)
    with pytest.raises(NmtError) as caught:
        train(recipe, prepared, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    epochs = training_batches(recipe, prepared)
    position = next(islice(epochs.starting_at(Position()), 2, None))[0]
    lines = ", ".join(str(row + 1) for row in epochs.order(position.epoch)[position.index][1])
    assert caught.value.message == (
        "the training has diverged: the loss is nan at step 3, "
        f"batch {position.index + 1} of epoch {position.epoch + 1}: "
        f"lines {lines} of the prepared training text"
    )
    assert caught.value.hint.endswith(f"; {run.last} is good")
    assert read_checkpoint(run.last)[1].step == 2
    rare = replace(recipe, training=replace(recipe.training, checkpoint_every=0))
    with pytest.raises(NmtError, match="the loss is nan at step 3") as caught:
        train(rare, prepared, tmp_path / "rare")
    assert caught.value.hint.endswith("or with training.clip_norm")


def test_a_loss_far_above_that_of_guesses_ends_a_training(tmp_path):
    recipe, prepared = toy_data(
        tmp_path,
        training={"learning_rate": 1000.0, "warmup_steps": 1, "max_steps": 40, "log_every": 4},
    )
    with pytest.raises(NmtError, match=r"^the training has diverged: the loss is \d+.* at step \d"):
        train(recipe, prepared, tmp_path / "run")


def test_weights_that_are_not_finite_are_not_saved(tmp_path, untrained):
    run = untrained
    model = compiled_model(run)
    model.weights[0].assign(model.weights[0] * np.float32("inf"))
    with pytest.raises(NmtError, match=r"target_embedding/matrix is not finite after step 4"):
        save_checkpoint(tmp_path / "x.npz", model, TrainingState(step=4))
    assert not (tmp_path / "x.npz").exists()


def test_patience_ends_a_run(tmp_path, caplog):
    # With a learning rate of zero, nothing improves.
    recipe, prepared = toy_data(
        tmp_path,
        training={"learning_rate": 0.0, "validate_every": 1, "patience": 2, "metric": "loss"},
    )
    run = train(recipe, prepared, tmp_path / "run")
    assert read_checkpoint(run.last)[1].step == 3
    assert "no better loss in 2 validations: stopping" in caplog.messages
    assert read_checkpoint(run.best)[1].step == 1
    train(recipe, prepared, run.folder, resume=True)
    assert caplog.messages[-1].startswith("trained 3 steps")


@pytest.mark.slow
def test_the_moving_average_is_used_for_translation(tmp_path):
    recipe, prepared = toy_data(
        tmp_path, training={"ema": 0.15, "max_steps": 3, "checkpoint_every": 1}
    )
    run = train(recipe, prepared, tmp_path / "run")
    raw = [read_checkpoint(path)[0] for path in run.checkpoints()]
    model, _ = trained_model(run, run.last)
    for weight in model.weights:
        first, second, third = (arrays[f"weights/{weight.path}"] for arrays in raw)
        assert not np.array_equal(second, third)
        # It starts with the weights of the first step; its first decay is 1/10.
        expected = 0.15 * (0.1 * first + 0.9 * second) + 0.85 * third
        np.testing.assert_allclose(np.array(weight), expected, atol=1e-6)


def test_accumulated_batches_make_one_step_of_their_mean_gradient(tmp_path):
    # Compute the gradients of both batches separately, and their mean by hand.
    recipe, prepared = toy_data(
        tmp_path, model={"dropout": 0.0}, training={"accumulate": 2, "max_steps": 1}
    )
    model = compiled_model(Run.create(tmp_path / "run", recipe, prepared))
    batches = list(islice(training_batches(recipe, prepared).starting_at(Position()), 2))
    fed = list(BatchFeed(lambda: batches).arrays())
    import tensorflow as tf

    gradients = []
    for inputs, target, weights in fed:
        with tf.GradientTape() as tape:
            loss = model.loss(target, model(inputs, training=True), sample_weight=weights)
        gradients.append(tape.gradient(loss, [each.value for each in model.trainable_weights]))
    dense = [[np.array(tf.convert_to_tensor(each)) for each in side] for side in gradients]
    before = [np.array(each) for each in model.trainable_weights]
    for inputs, target, weights in fed:
        model.train_on_batch(inputs, target, sample_weight=weights)
    # Adam's first step is the learning rate times the negative sign of the gradient.
    rate = recipe.model.d_model**-0.5 * recipe.training.warmup_steps**-1.5
    for old, new, one, other in zip(before, model.trainable_weights, *dense, strict=True):
        clear = np.abs(one + other) > 1e-6  # far above Adam's epsilon
        assert clear.mean() >= 0.5  # biases of keys have no gradient
        moved = (np.array(new) - old) / rate
        np.testing.assert_allclose(moved[clear], -np.sign(one + other)[clear], atol=0.05)


def test_training_moves_every_weight(whole):
    before = compiled_model(whole.run)
    after, _ = trained_model(whole.run, whole.run.last)
    for old, new in zip(before.weights, after.weights, strict=True):
        assert not np.array_equal(old, new), f"{old.path} did not move"


def test_mixed_precision_training_saves_float32(tmp_path):
    recipe, prepared = toy_data(tmp_path, training={"precision": "mixed_bfloat16", "max_steps": 1})
    run = train(recipe, prepared, tmp_path / "run")
    model, _ = trained_model(run, run.last)
    assert {weight.dtype for weight in model.weights} == {"float32"}


def test_max_minutes_ends_a_run(tmp_path, caplog):
    recipe, prepared = toy_data(tmp_path, training={"max_minutes": 0.0001, "max_steps": 5000})
    run = train(recipe, prepared, tmp_path / "run")
    _, progress = trained_model(run, run.last)
    assert progress.step == 1
    assert caplog.messages[-1].startswith("trained 1 steps in ")
    assert caplog.messages[-1].endswith(" minutes (training.max_minutes)")


def assert_finished(caplog, recipe, prepared, folder, steps):
    """Resuming reports that there is nothing to do, and changes nothing; returns the message."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    train(recipe, prepared, folder, resume=True)
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert caplog.messages[-1].startswith(f"{folder}: already trained for {steps} steps; ")
    return caplog.messages[-1]


def test_a_finished_run_is_not_resumed(whole, caplog):
    said = assert_finished(caplog, whole.recipe, whole.prepared, whole.run.folder, 12)
    assert said.endswith("; raise training.max_steps to continue")


def test_a_finished_schedule_cannot_be_extended(tmp_path, caplog):
    training = {"max_steps": 2, "warmup_steps": 1, "schedule": "cosine"}
    recipe, prepared = toy_data(tmp_path, training=training)
    train(recipe, prepared, tmp_path / "run")
    said = assert_finished(caplog, recipe, prepared, tmp_path / "run", 2)
    assert said.endswith("; its cosine schedule ends there; only a new run can be longer")


def test_a_training_starts_from_another_run(tmp_path, untrained):
    """With a learning rate of 0, the weights stay those of the other run."""
    (tmp_path / "text").mkdir()
    write_toy_corpus(tmp_path / "text", pairs=250, seed=1)
    model, training = {"decoder_layers": 2}, {"learning_rate": 0.0, "max_steps": 1}
    recipe = toy_recipe(tmp_path / "text", model=model, training=training)
    options = TrainOptions(
        output=tmp_path / "tuned", prepared=tmp_path / "data", init_from=untrained.folder
    )
    folder = run_training(recipe, options)
    (source, others), initial = (
        Run.open(folder).provenance()[key] for key in ("sources", "initial")
    )
    assert (source["corpus"], others) == ("train", untrained.provenance()["sources"][0])
    assert initial == {"name": "toy-xx-yy", "steps": 1}
    names = sorted(path.name for path in (untrained.folder / "tokenizer").iterdir())
    for name in names:
        content = (folder / "tokenizer" / name).read_bytes()
        assert content == (untrained.folder / "tokenizer" / name).read_bytes()
    before, after = (
        inference_weights(read_checkpoint(run.last)[0]) for run in (untrained, Run.open(folder))
    )
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    longer = toy_recipe(tmp_path / "text", model=model, training=training | {"max_steps": 2})
    run_training(longer, replace(options, init_from=None, resume=True))
    assert read_checkpoint(Run.open(folder).last, only_state=True)[1].step == 2
    deeper = toy_recipe(tmp_path / "text", model={"decoder_layers": 3}, training=training)
    with pytest.raises(ModelError):
        run_training(deeper, replace(options, force=True))


def test_a_different_recipe_is_not_resumed(tmp_path):
    run = untrained_run(tmp_path)
    model = {"dropout": 0.3, "decoder_layers": run.recipe.model.decoder_layers}
    other = toy_recipe(tmp_path, model=model, training={"warmup_steps": 7})
    prepared = prepare(other, tmp_path / "prepared")
    with pytest.raises(ModelError, match=r"changed .* in model.dropout, training.warmup_steps"):
        train(other, prepared, run.folder, resume=True)


def test_different_data_is_not_resumed(tmp_path):
    run = untrained_run(tmp_path)
    with (tmp_path / "train.xx").open("a") as more, (tmp_path / "train.yy").open("a") as too:
        more.write("pão pão\n")
        too.write("pão pão\n")
    prepared = prepare(run.recipe, tmp_path / "prepared")
    with pytest.raises(ModelError, match="the prepared data changed"):
        train(run.recipe, prepared, run.folder, resume=True)


def test_a_checkpoint_of_a_different_model_is_refused(tmp_path, untrained):
    run = untrained
    deeper = toy_recipe(tmp_path, model={"encoder_layers": 2, "embeddings": "target-softmax"})
    other = replace(run, recipe=deeper)
    with pytest.raises(NmtError) as caught:
        trained_model(other, run.last)
    assert "checkpoint of a different model" in str(caught.value)
    assert "only the model has weights/encoder_1/" in caught.value.hint


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(untrained, share):
    run = untrained
    whole = run.last.read_bytes()
    run.last.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelError, match="damaged checkpoint"):
        trained_model(run, run.last)


def test_a_flipped_bit_in_a_checkpoint_is_noticed(tmp_path, untrained):
    run = untrained
    content = bytearray(run.last.read_bytes())
    content[len(content) // 2] ^= 4
    run.last.write_bytes(bytes(content))
    with pytest.raises(ModelError, match="damaged checkpoint"):
        trained_model(run, run.last)


def test_a_checkpoint_restores_everything(tmp_path, untrained):
    run = untrained
    model = compiled_model(run)
    for variable in [*model.variables, *model.optimizer.variables]:
        variable.assign(variable + 1)
    saved = TrainingState(
        step=7, epoch=2, index=5, seconds=1.5, best_score=12.0, validated=6, worse=1
    )
    save_checkpoint(tmp_path / "all.npz", model, saved)
    other = compiled_model(run)
    assert load_checkpoint(tmp_path / "all.npz", other, training=True) == saved
    for left, right in zip(
        [*model.variables, *model.optimizer.variables],
        [*other.variables, *other.optimizer.variables],
        strict=True,
    ):
        np.testing.assert_array_equal(left, right)
