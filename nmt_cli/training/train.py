"""Train on prepared data: start or resume a run, fit, average."""

import logging
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from nmt_cli.data.batches import training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, NmtError, RecipeError
from nmt_cli.files import replacing
from nmt_cli.host import without_warnings
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.checkpoint import TrainingState, load_checkpoint, read_checkpoint
from nmt_cli.training.devices import ONE_DEVICE, Devices, on_tensorflow, separate_seeds
from nmt_cli.training.distributed import check_same, wait
from nmt_cli.training.model import compiled_model, largest_batch_tokens
from nmt_cli.training.run import Run
from nmt_cli.training.session import Session

logger = logging.getLogger(__name__)


def train(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    resume: bool = False,
    devices: Devices = ONE_DEVICE,
    initial: Run | None = None,
) -> Run:
    """Train a model into a run folder.

    Args:
        folder: run folder; an existing run is replaced unless ``resume`` is set.
        resume: continue from the folder's newest undamaged checkpoint; there must be one.
        devices: from nmt_cli.training.distributed.set_up. Every process calls this with the same
            recipe and data and reads the folder; process 0 writes it.
        initial: the run whose preferred checkpoint a new run starts with.

    Raises:
        KeyboardInterrupt: a signal stopped the training after it saved a checkpoint; the argument
            is the step.
    """
    check_same(devices, f"{recipe.dump()} {prepared.key} {devices.count} {resume}")
    with nullcontext() if devices.is_main else without_warnings("training"):
        if not resume and devices.is_main:
            _create_run(recipe, prepared, folder, devices, initial)
        wait(devices)
        run = Run.open(folder)
        if resume:
            run = run.check_resumable(recipe, prepared.key)
        epochs, written = training_batches(run.recipe, prepared), run.recipe.dump()
        run = replace(run, recipe=_within_epochs(run.recipe, len(epochs.batches(0).order(0))))
        model = compiled_model(run, devices)
        start = _load_start(run, model, resume, initial)
        if devices.total != run.devices:
            logger.info(
                f"this run began on {run.devices} device{'s' * (run.devices > 1)} and continues on "
                f"{devices.total}: results are equivalent, but not bit-identical"
            )
        check_same(devices, str(replace(start, seconds=0.0)))
        separate_seeds(devices, model)
        if _is_finished(run, start):
            # No error: a loop that restarts a killed training ends here.
            logger.info(f"{run.folder}: already trained for {start.step:,} steps; {_advice(run)}")
            return run
        if resume and devices.is_main:
            with replacing(run.folder / "recipe.toml") as stream:
                stream.write(written)
        Session(run, prepared, epochs, model, start, devices).train()
    return run


def _create_run(
    recipe: Recipe, prepared: Prepared, folder: Path, devices: Devices, initial: Run | None
) -> None:
    """Create the run folder, after measuring the batch size if the recipe leaves it open."""
    if not recipe.training.batch_tokens:
        logger.info("training.batch_tokens = 0: finding the largest batch that fits")
        pair = prepared.tokenizers()
        sizes = pair.source.vocab_size, pair.target.vocab_size
        # JAX tries it on one device, whose largest batch is never too large for several.
        tokens = largest_batch_tokens(recipe, *sizes, devices.count if on_tensorflow() else 1)
        logger.info(f"training.batch_tokens = {tokens:,}")
        recipe = replace(recipe, training=replace(recipe.training, batch_tokens=tokens))
    Run.create(folder, recipe, prepared, devices.total, _origin(initial))


def _origin(initial: Run | None) -> dict[str, Any]:
    if not initial:
        return {}
    steps = read_checkpoint(initial.preferred, only_state=True)[1].step
    if initial.initial:
        steps += initial.initial["steps"]
    sources = initial.provenance()["sources"]
    return {"name": initial.recipe.label, "steps": steps, "sources": sources}


def _within_epochs(recipe: Recipe, batches: int) -> Recipe:
    """Lower ``max_steps`` to the steps of ``max_epochs`` epochs of ``batches`` batches."""
    config = recipe.training
    steps = -(-config.max_epochs * batches // config.accumulate)
    if not config.max_epochs or steps >= config.max_steps:
        return recipe
    if config.schedule_ends and (warm := config.warmup_steps) >= steps:
        reason = f"training.max_epochs = {config.max_epochs} makes {steps:,} steps: "
        reason += f"training.warmup_steps = {warm:,} leaves none for the {config.schedule} schedule"
        raise RecipeError(reason, "raise max_epochs or lower warmup_steps")
    return replace(recipe, training=replace(config, max_steps=steps))


def _load_start(run: Run, model: keras.Model, resume: bool, initial: Run | None) -> TrainingState:
    """Set the weights to start with. A resumed run repeats the steps after its newest undamaged
    checkpoint exactly."""
    if not resume:
        if initial:
            load_checkpoint(initial.preferred, model, training=False)
        return TrainingState()
    paths = run.checkpoints()
    while True:
        path = paths.pop()
        try:
            start = load_checkpoint(path, model, training=True)
        except ModelError as error:
            if not paths:
                raise
            logger.warning(f"{error.message}; using the previous checkpoint")
        else:
            logger.info(f"resuming at step {start.step:,}")
            return start


def _advice(run: Run) -> str:
    config = run.recipe.training
    if config.schedule_ends:
        return f"its {config.schedule} schedule ends there; only a new run can be longer"
    return f"raise training.max_steps{' or max_epochs' if config.max_epochs else ''} to continue"


def _is_finished(run: Run, start: TrainingState) -> bool:
    """Whether nothing is left to do: a run may have been killed in its last validation."""
    config, averaged = run.recipe.training, None
    with suppress(NmtError):  # the average is missing or damaged
        averaged = read_checkpoint(run.average, only_state=True)[1].step
    return (
        start.step >= config.max_steps
        and start.validated >= start.step
        and (averaged == start.step or not config.average)
    )
