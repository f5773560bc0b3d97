"""``nmt train``: compile, fit, and the run folder that comes of it."""

import math
from collections.abc import Callable
from pathlib import Path

import keras

from nmt_cli.data.batches import Batches, Position
from nmt_cli.data.prepare import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.model.transformer import build_transformer
from nmt_cli.recipe import Recipe
from nmt_cli.training.checkpoint import Progress, load_checkpoint
from nmt_cli.training.feed import Feed
from nmt_cli.training.loss import MaskedAccuracy, MaskedCrossEntropy
from nmt_cli.training.run import Run
from nmt_cli.training.schedule import WarmUp
from nmt_cli.training.validation import Validator
from nmt_cli.training.watch import Watch


def train(
    recipe: Recipe,
    prepared: Prepared,
    folder: Path,
    resume: bool = False,
    say: Callable[[str], None] = print,
) -> Run:
    """Train a model into a run folder.

    Args:
        recipe: what to train and how.
        prepared: the data.
        folder: of the run; an old run there is replaced, or gone on with by ``resume``.
        resume: go on from the folder's last checkpoint.
        say: receives lines for people.

    Raises:
        NmtError: nothing to resume, or another recipe; the loss is not finite; the folder
            cannot be written.
        KeyboardInterrupt: SIGINT or SIGTERM came; the checkpoint is saved.
    """
    if resume:
        run = Run.open(folder).check_resumable(recipe, prepared)
        if not run.last.exists():
            raise NmtError(f"{folder}: has no checkpoint yet", "start anew with --force")
    else:
        run = Run.create(folder, recipe, prepared)
    model = compiled_model(run)
    start = load_checkpoint(run.last, model, training=True) if resume else Progress()
    if resume:
        say(f"resuming at step {start.step:,}")
    return _fit(run, model, prepared, start, say)


def compiled_model(run: Run) -> keras.Model:
    """The run's training model with its loss and optimizer, freshly initialised."""
    recipe = run.recipe
    keras.config.set_dtype_policy(recipe.training.precision)
    model = build_transformer(recipe.model, run.source_vocab, run.target_vocab, recipe.seed)
    training = recipe.training
    optimizer = keras.optimizers.Adam(
        WarmUp(recipe.model.d_model, training.warmup_steps, training.learning_rate),
        beta_1=training.beta_1,
        beta_2=training.beta_2,
        epsilon=training.adam_epsilon,
    )
    # Half-precision gradients underflow without scaling; bfloat16 has float32's range.
    if training.precision == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(
        optimizer=optimizer,
        loss=MaskedCrossEntropy(training.label_smoothing),
        metrics=[MaskedAccuracy()],
        jit_compile=keras.backend.backend() != "tensorflow",  # XLA is slower on CPU there
    )
    optimizer.build(model.trainable_variables)
    return model


def trained_model(run: Run, checkpoint: Path) -> tuple[keras.Model, Progress]:
    """The run's model in float32 with the weights of a checkpoint, and how far that was.

    Raises:
        NmtError: no such checkpoint, or a damaged one.
    """
    keras.config.set_dtype_policy("float32")
    model = build_transformer(run.recipe.model, run.source_vocab, run.target_vocab, run.recipe.seed)
    return model, load_checkpoint(checkpoint, model, training=False)


def _fit(
    run: Run,
    model: keras.Model,
    prepared: Prepared,
    start: Progress,
    say: Callable[[str], None],
) -> Run:
    config = run.recipe.training
    batches = Batches(*prepared.arrays("train"), config.batch_tokens, run.recipe.seed)
    if start.step >= config.max_steps:
        raise NmtError(
            f"{run.folder}: already trained for {start.step:,} steps",
            "raise training.max_steps to go on",
        )
    say(
        f"{model.count_params():,} parameters, {batches.steps_per_epoch():,} steps an epoch, "
        f"{100 * batches.efficiency():.0f}% of the target cells are tokens"
    )
    feed = Feed(batches.forever(Position(start.epoch, start.index)))
    has_dev = len(prepared.arrays("dev")[0]) > 0
    if not has_dev:
        say("no development pair is short enough: training goes on without validation")
    validator = Validator(model, run.recipe, prepared) if has_dev else None
    watch = Watch(run, start, batches, feed, validator, say)
    with watch.signals():
        model.fit(
            feed.dataset(),
            steps_per_epoch=config.validate_every,
            initial_epoch=start.step // config.validate_every,
            epochs=math.ceil(config.max_steps / config.validate_every) + 1,
            callbacks=[watch],
            shuffle=False,  # the batcher has its own order
            verbose=0,
        )
    if watch.interrupted:
        raise KeyboardInterrupt(watch.progress.step)
    say(f"trained {watch.progress.step:,} steps in {watch.progress.seconds / 60:.1f} minutes")
    return run
