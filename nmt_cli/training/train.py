"""``nmt train``: compile, fit, and the run folder that comes of it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import keras

from nmt_cli.data.batches import Position
from nmt_cli.data.epochs import training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.model.build import build_model
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.batch_size import largest_batch_tokens
from nmt_cli.training.checkpoint import (
    Progress,
    average_checkpoints,
    load_checkpoint,
    read_checkpoint,
    read_progress,
)
from nmt_cli.training.cluster import check_alike, connect, disconnect, noticing_losses, wait
from nmt_cli.training.devices import (
    ALONE,
    Devices,
    building,
    check_options,
    check_present,
    fitting,
    part_seeds,
)
from nmt_cli.training.feed import Feed
from nmt_cli.training.journal import Journal, SilentJournal
from nmt_cli.training.loss import SmoothedCrossEntropy, TokenAccuracy
from nmt_cli.training.optimizer import make_optimizer
from nmt_cli.training.run import Run
from nmt_cli.training.validation import Validator
from nmt_cli.training.watch import Callbacks, Watch


def train(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    resume: bool = False,
    say: Callable[[str], None] = print,
    devices: Devices = ALONE,
) -> Run:
    """Train a model into a run folder.

    One of several processes trains once, and leaves the others when it is done.

    Args:
        recipe: what to train and how.
        prepared: the data.
        folder: of the run; an old run there is replaced, or gone on with by ``resume``.
        resume: go on from the folder's newest checkpoint that is whole.
        say: receives lines for people.
        devices: what to train on. Of several processes each calls this, with the same recipe
            and data; all read the folder, process 0 writes it.

    Raises:
        NmtError: nothing to resume, or another recipe; the loss is not finite; the folder
            cannot be written; devices are absent; another process was lost.
        KeyboardInterrupt: SIGINT or SIGTERM came; the checkpoint is saved.
    """
    check_options(devices)
    connect(devices)
    check_present(devices, recipe.training.accumulate)
    with noticing_losses(devices):
        run = _run(recipe, prepared, folder, resume, say, devices)
        try:
            run = _trained(run, prepared, resume, say if devices.leads else _nothing, devices)
        except KeyboardInterrupt as stop:
            if stop.args:  # all of them stop
                disconnect(devices)
            raise
        disconnect(devices)
    return run


def _run(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    resume: bool,
    say: Callable[[str], None],
    devices: Devices,
) -> Run:
    """The run folder, the same for all processes."""
    check_alike(devices, f"{recipe.dump()} {prepared.key} {devices.count}")
    if resume:
        run = Run.open(folder).check_resumable(recipe, prepared.key)
        if not run.checkpoints():
            raise NmtError(f"{folder}: has no checkpoint yet", "start anew with --force")
        wait(devices, "opened")  # before process 0 writes to it
        return run
    made = None
    if devices.leads:
        made = Run.create(
            folder, _with_batch_tokens(recipe, prepared, say, devices), prepared, devices.total
        )
    wait(devices, "created")
    return made or Run.open(folder)


def _trained(
    run: Run, prepared: Prepared, resume: bool, say: Callable[[str], None], devices: Devices
) -> Run:
    recipe = run.recipe
    model = compiled_model(run, devices)
    start = _load_newest(run, model, say) if resume else Progress()
    if devices.total != run.devices:
        say(
            f"begun on {run.devices} device{'s' * (run.devices > 1)}, going on on {devices.total}: "
            "the same training, but not the same bits"
        )
    check_alike(devices, str(replace(start, seconds=0.0)))
    part_seeds(devices, model)
    if _is_finished(run, prepared, start):
        schedule = recipe.training.schedule
        raise NmtError(
            f"{run.folder}: already trained for {start.step:,} steps",
            "raise training.max_steps to go on"
            if schedule == "inverse-sqrt"
            else f"its schedule, {schedule}, ends there: for more begin anew with --force",
        )
    if resume and devices.leads:
        run.note_recipe()
    return _fit(run, model, prepared, start, say, devices)


def compiled_model(run: Run, devices: Devices = ALONE) -> keras.Model:
    """The run's training model with its loss and optimizer, freshly initialised."""
    recipe = run.recipe
    on_tensorflow = keras.backend.backend() == "tensorflow"
    keras.config.set_dtype_policy(recipe.training.precision)
    with building(devices):
        model = build_model(recipe.model, run.source_vocab, run.target_vocab, recipe.seed)
        optimizer = make_optimizer(recipe, mirrored=on_tensorflow and devices.count > 1)
        model.compile(
            optimizer=optimizer,
            loss=SmoothedCrossEntropy(recipe.training.label_smoothing, recipe.training.r_drop),
            metrics=[TokenAccuracy()],
            jit_compile=not on_tensorflow,  # XLA is slower on CPU there
        )
        optimizer.build(model.trainable_variables)
    return model


def trained_model(run: Run, checkpoint: Path) -> tuple[keras.Model, Progress]:
    """The run's model in float32 with the weights of a checkpoint, and how far that was.

    Raises:
        NmtError: no such checkpoint, or a damaged one.
    """
    keras.config.set_dtype_policy("float32")
    model = build_model(run.recipe.model, run.source_vocab, run.target_vocab, run.recipe.seed)
    return model, load_checkpoint(checkpoint, model, training=False)


def _with_batch_tokens(
    recipe: Recipe, prepared: Prepared, say: Callable[[str], None], devices: Devices
) -> Recipe:
    """The recipe with the largest batches that fit, if it asks for them."""
    if recipe.training.batch_tokens:
        return recipe
    say("training.batch_tokens = 0: looking for the largest batch that fits")
    pair = prepared.tokenizers()
    # JAX's trial takes one device: what it finds is never too large for several.
    sharing = devices.count if keras.backend.backend() == "tensorflow" else 1
    found = largest_batch_tokens(recipe, pair.source.vocab_size, pair.target.vocab_size, sharing)
    say(f"training.batch_tokens = {found:,}")
    return replace(recipe, training=replace(recipe.training, batch_tokens=found))


def _load_newest(run: Run, model: keras.Model, say: Callable[[str], None]) -> Progress:
    """Go back to the newest checkpoint that is whole: from it on, all happens again alike."""
    for path in reversed(run.checkpoints()):
        try:
            start = load_checkpoint(path, model, training=True)
        except NmtError as error:
            if path == run.checkpoints()[0]:
                raise
            say(f"{error}; taking the one before")
        else:
            say(f"resuming at step {start.step:,}")
            return start
    raise AssertionError("the caller has seen a checkpoint")


def _newest_whole(paths: list[Path], count: int, say: Callable[[str], None]) -> list[Path]:
    """The last so many of the checkpoints that can be read; a damaged one is no end of a run."""
    whole: list[Path] = []
    for path in reversed(paths):
        try:
            read_checkpoint(path)
        except NmtError as error:
            say(f"{error}; the average does without it")
        else:
            whole = [path, *whole]
        if len(whole) == count:
            break
    return whole or paths[-1:]  # whose reading then tells what is wrong


def _fit(
    run: Run,
    model: keras.Model,
    prepared: Prepared,
    start: Progress,
    say: Callable[[str], None],
    devices: Devices,
) -> Run:
    config = run.recipe.training
    epochs = training_batches(run.recipe, prepared)
    batches = epochs.batches(0)
    say(
        f"{model.count_params():,} parameters, {batches.steps_per_epoch():,} batches an epoch, "
        f"{100 * batches.efficiency():.0f}% of the target cells are tokens"
        + (f", {devices.total} devices share each" if devices.total > 1 else "")
    )
    feed = Feed(lambda: epochs.from_(Position(start.epoch, start.index)), devices, batches.copies)
    has_dev = len(prepared.arrays("dev")[0]) > 0
    if not has_dev:
        say("no development pair is short enough: training goes on without validation")
    validator = Validator(model, run.recipe, prepared, devices) if has_dev else None
    journal: Journal = SilentJournal()
    if devices.leads:
        judged = start.validated >= start.step
        journal = Journal(run.folder, start.step, judged, config.max_steps, say)
    with closing(journal):
        watch = Watch(run, start, epochs, feed, validator, journal, devices)
        watch.set_model(model)
        with watch.signals():
            with fitting(devices):
                # Stopped between a checkpoint and its validation, a run begins with that.
                left = config.max_steps - start.step
                on_beat = start.step % config.validate_every == 0 or left <= 0
                if on_beat and start.validated < start.step:
                    watch.validate()
                if left > 0 and not watch.interrupted and not watch.out_of_patience():
                    model.fit(
                        feed.dataset(),
                        steps_per_epoch=left * config.accumulate,
                        epochs=1,
                        callbacks=Callbacks([watch], add_history=True, model=model),
                        shuffle=False,  # the batcher has its own order
                        verbose=0,
                    )
            if config.average and not watch.interrupted:
                _average(run, watch, devices, say)
        if watch.interrupted:
            raise KeyboardInterrupt(watch.progress.step)
    say(f"trained {watch.progress.step:,} steps in {watch.progress.seconds / 60:.1f} minutes")
    return run


def _average(run: Run, watch: Watch, devices: Devices, say: Callable[[str], None]) -> None:
    """Write and judge the mean of the newest checkpoints. It takes its place at the very end, by
    which a resumed run knows that nothing is left to do."""
    beside, count = run.folder / ".average.npz", 0
    if devices.leads:
        paths = _newest_whole(run.regular(), run.recipe.training.average, say)
        average_checkpoints(paths, beside)
        count = len(paths)
    watch.judge_average(beside, count)
    if devices.leads and not watch.interrupted:
        beside.replace(run.average)


def _is_finished(run: Run, prepared: Prepared, start: Progress) -> bool:
    """Whether nothing is left to do: a run may have been killed in its last validation."""
    config, has_dev = run.recipe.training, len(prepared.arrays("dev")[0]) > 0
    judged = start.validated >= start.step or not has_dev
    averaged = not config.average or _averaged_at(run) == start.step
    return start.step >= config.max_steps and judged and averaged


def _averaged_at(run: Run) -> int | None:
    """The step at which the run's average was made: one of a shorter training is no end."""
    try:
        return read_progress(run.average).step
    except NmtError:  # none, or damaged: it is made again
        return None


def _nothing(line: str) -> None:
    """What the processes but the first have to say."""
