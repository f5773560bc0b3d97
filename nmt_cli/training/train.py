"""Training on prepared data: start or resume a run, fit, average."""

from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from nmt_cli.data.batches import Position
from nmt_cli.data.epochs import training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError, Say, silent
from nmt_cli.files import replacing
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.batch_size import largest_batch_tokens
from nmt_cli.training.checkpoint import Progress, check_size, load_checkpoint, read_checkpoint
from nmt_cli.training.cluster import check_same, wait
from nmt_cli.training.devices import ONE_DEVICE, Devices, fitting, on_tensorflow, separate_seeds
from nmt_cli.training.feed import Feed
from nmt_cli.training.log import TrainingLog
from nmt_cli.training.model import compiled_model
from nmt_cli.training.run import Run
from nmt_cli.training.session import Session
from nmt_cli.training.validation import Validator


def train(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    resume: bool = False,
    say: Say = print,
    devices: Devices = ONE_DEVICE,
    initial: Run | None = None,
) -> Run:
    """Train a model into a run folder.

    Args:
        recipe, prepared: what to train, and on what.
        folder: run folder; an existing run is replaced unless ``resume`` is set.
        resume: continue from the folder's newest undamaged checkpoint; it has one.
        devices: from nmt_cli.training.cluster.set_up. Every process calls this with the same recipe
            and data and reads the folder; process 0 writes it.
        initial: the run whose preferred checkpoint a new run starts with.

    Raises:
        NmtError: the run cannot be resumed with this recipe; the checkpoint is of another model;
            the loss is not finite; the folder cannot be written; another process was lost.
        KeyboardInterrupt: SIGINT or SIGTERM stopped the training after it saved a checkpoint;
            the argument is the step.
    """
    check_same(devices, f"{recipe.dump()} {prepared.key} {devices.count} {resume}")
    if resume:
        run = Run.open(folder).check_resumable(recipe, prepared.key)
    elif devices.is_main:
        if not recipe.training.batch_tokens:
            say("training.batch_tokens = 0: finding the largest batch that fits")
            pair = prepared.tokenizers()
            sizes = pair.source.vocab_size, pair.target.vocab_size
            # JAX tries it on one device, whose largest batch is never too large for several.
            sharing = devices.count if on_tensorflow() else 1
            found = largest_batch_tokens(recipe, *sizes, sharing)
            say(f"training.batch_tokens = {found:,}")
            recipe = replace(recipe, training=replace(recipe.training, batch_tokens=found))
        run = Run.create(folder, recipe, prepared, devices.total, _origin(initial))
    wait(devices)  # process 0 writes to the folder from now on
    if not resume and not devices.is_main:
        run = Run.open(folder)
    say = say if devices.is_main else silent
    weights = initial.preferred if initial else None
    return _train(run, prepared, resume, say, devices, weights)


def _origin(initial: Run | None) -> dict[str, Any]:
    """What the record of a run says about the one it starts from."""
    if not initial:
        return {}
    steps = read_checkpoint(initial.preferred, only_progress=True)[1].step
    if initial.initial:
        steps += initial.initial["steps"]
    sources = initial.provenance()["sources"]
    return {"name": initial.recipe.label, "steps": steps, "sources": sources}


def _train(
    run: Run, prepared: Prepared, resume: bool, say: Say, devices: Devices, weights: Path | None
) -> Run:
    epochs, written = training_batches(run.recipe, prepared), run.recipe.dump()
    batches = epochs.batches(0)
    run = replace(run, recipe=_within_epochs(run.recipe, len(batches.epoch(0))))
    config = run.recipe.training
    model = compiled_model(run, devices)
    if weights and not resume:
        check_size(weights, run.weights)
        load_checkpoint(weights, model, training=False)
    start = _load_newest(run, model, say) if resume else Progress()
    if devices.total != run.devices:
        say(
            f"this run began on {run.devices} device{'s' * (run.devices > 1)} and continues on "
            f"{devices.total}: results are equivalent, but not bit-identical"
        )
    check_same(devices, str(replace(start, seconds=0.0)))
    separate_seeds(devices, model)
    if _is_finished(run, start):
        longer = f"its {config.schedule} schedule ends there: to train longer, use --force"
        if config.schedule == "inverse-sqrt":
            either = " or max_epochs" if config.max_epochs else ""
            longer = f"raise training.max_steps{either} to continue"
        # No error: a loop that restarts a killed training ends here.
        say(f"{run.folder}: already trained for {start.step:,} steps; {longer}")
        return run
    if resume and devices.is_main:
        with replacing(run.folder / "recipe.toml") as stream:
            stream.write(written)
    say(
        f"{model.count_params():,} parameters, at most {config.max_steps - start.step:,} steps, "
        f"{len(batches.epoch(0)):,} batches per epoch, "
        f"{100 * batches.efficiency():.0f}% of the target cells are tokens"
        + (f", {devices.total} devices share each batch" if devices.total > 1 else "")
    )
    validator = Validator(model, run, prepared, devices)
    feed = Feed(lambda: epochs.from_(Position(start.epoch, start.index)), devices, batches.copies)
    folder, validated = run.folder if devices.is_main else None, start.validated >= start.step
    with closing(TrainingLog(folder, start.step, validated, say)) as log:
        session = Session(run, start, epochs, feed, validator, log, devices)
        session.set_model(model)
        with session.signals():
            with fitting(devices):
                _fit(session, model, feed)
            if config.average and not session.interrupted:
                session.average()
        if session.interrupted:
            raise KeyboardInterrupt(session.progress.step)
    late = config.max_minutes and session.progress.seconds >= 60 * config.max_minutes
    say(
        f"trained {session.progress.step:,} steps in {session.progress.seconds / 60:.1f} minutes"
        + (" (training.max_minutes)" if late else "")
    )
    return run


def _within_epochs(recipe: Recipe, batches: int) -> Recipe:
    """Lower ``max_steps`` to the steps of ``max_epochs`` epochs of so many batches.

    Raises:
        NmtError: a schedule that ends there would have no step after the warm-up.
    """
    config = recipe.training
    steps = -(-config.max_epochs * batches // config.accumulate)
    if not config.max_epochs or steps >= config.max_steps:
        return recipe
    if config.schedule != "inverse-sqrt" and config.warmup_steps >= steps:
        raise NmtError(
            f"training.max_epochs = {config.max_epochs} makes {steps:,} steps: "
            f"training.warmup_steps = {config.warmup_steps:,} leaves none for the "
            f"{config.schedule} schedule",
            "raise max_epochs or lower warmup_steps",
        )
    return replace(recipe, training=replace(config, max_steps=steps))


def _load_newest(run: Run, model: keras.Model, say: Say) -> Progress:
    """Load the newest undamaged checkpoint; the steps after it are repeated exactly."""
    paths = run.checkpoints()
    while True:
        path = paths.pop()
        try:
            check_size(path, run.weights)
            start = load_checkpoint(path, model, training=True)
        except NmtError as error:
            if not paths:
                raise
            say(f"{error.message}; using the previous checkpoint")
        else:
            say(f"resuming at step {start.step:,}")
            return start


def _is_finished(run: Run, start: Progress) -> bool:
    """Whether nothing is left to do: a run may have been killed in its last validation."""
    config, averaged = run.recipe.training, None
    with suppress(NmtError):  # the average is missing or damaged
        averaged = read_checkpoint(run.average, only_progress=True)[1].step
    return (
        start.step >= config.max_steps
        and start.validated >= start.step
        and (averaged == start.step or not config.average)
    )


def _fit(session: Session, model: keras.Model, feed: Feed) -> None:
    config, start = session.config, session.progress
    left = config.max_steps - start.step
    # A run that was stopped between a checkpoint and its validation starts with the validation.
    if (start.step % config.validate_every == 0 or left <= 0) and start.validated < start.step:
        session.validate()
    if left > 0 and not session.interrupted and not session.out_of_patience():
        model.fit(
            feed.dataset(),
            steps_per_epoch=left * config.accumulate,
            epochs=1,
            callbacks=AsyncCallbacks([session], add_history=True, model=model),
            shuffle=False,  # the batches have their own order
            verbose=0,
        )


class AsyncCallbacks(keras.callbacks.CallbackList):
    """Callbacks that get losses as values on the device. Keras' own list converts them to floats
    and so waits for the device at every step."""

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        for each in self.callbacks:
            each.on_train_batch_end(batch, logs)
