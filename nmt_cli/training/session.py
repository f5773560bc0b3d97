"""The Keras callback that logs, validates, saves and stops a training."""

import logging
import math
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import keras
from tqdm import tqdm

from nmt_cli.data.batches import Epochs, Position
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path
from nmt_cli.training.checkpoint import (
    TrainingState,
    average_checkpoints,
    read_checkpoint,
    save_checkpoint,
    undamaged,
    write_checkpoint,
)
from nmt_cli.training.devices import BatchFeed, BatchRecord, Devices, on_tensorflow, strategy_scope
from nmt_cli.training.distributed import any_of
from nmt_cli.training.log import TrainingLog
from nmt_cli.training.run import Run
from nmt_cli.training.validation import ValidationResult, Validator

logger = logging.getLogger(__name__)

# A training has diverged if its loss is this many times that of equal chances for all tokens.
DIVERGED = 10
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _ValidationStopped(Exception):
    """A signal arrived during a validation."""


class Session(keras.callbacks.Callback):
    """One session of a training, from its start or resumption to its end or interruption.

    To Keras, a session is one epoch. Values are fetched from the device only every ``log_every``
    steps and before a checkpoint. Several processes agree on what to do every ``log_every`` steps.
    A signal to this process sets ``signalled``; one to any process sets ``_interrupted``.
    """

    def __init__(
        self,
        run: Run,
        prepared: Prepared,
        epochs: Epochs,
        model: keras.Model,
        start: TrainingState,
        devices: Devices,
    ) -> None:
        super().__init__()
        self.set_model(model)
        self._run, self._epochs, self._devices = run, epochs, devices
        self._start, self.state, self._config = start, start, run.recipe.training
        self._validator = Validator(model, run, prepared, devices)
        first = Position(start.epoch, start.index)
        self._feed = BatchFeed(lambda: epochs.starting_at(first), devices, self._config.copies)
        folder = run.folder if devices.is_main else None
        validated = start.validated >= start.step
        self._log = TrainingLog(folder, start.step, self._config.max_steps, validated)
        self._began = time.monotonic()
        self._batches = 0
        self._restart_interval()
        self._validating = False
        self.signalled = False
        self._interrupted = False

    def train(self) -> None:
        """Train until nothing is left to do. After a signal, raises KeyboardInterrupt(step)."""
        config, batches, total = self._config, self._epochs.batches(0), self._devices.total
        logger.info(
            f"{self.model.count_params():,} parameters, "
            f"at most {config.max_steps - self.state.step:,} steps, "
            f"{len(batches.order(0)):,} batches per epoch, "
            f"{100 * batches.efficiency():.0f}% of the target cells are tokens"
            + (f", {total} devices share each batch" if total > 1 else "")
        )
        with closing(self._log), self._signals():
            # A TensorFlow model knows its strategy.
            with nullcontext() if on_tensorflow() else strategy_scope(self._devices):
                self._fit()
            if config.average and not self._interrupted:
                self._average()
        if self._interrupted:
            raise KeyboardInterrupt(self.state.step)
        seconds = self.state.seconds
        is_late = config.max_minutes and seconds >= 60 * config.max_minutes
        logger.info(
            f"trained {self.state.step:,} steps in {seconds / 60:.1f} minutes"
            + (" (training.max_minutes)" if is_late else "")
        )

    def _fit(self) -> None:
        config, start = self._config, self._start
        left = config.max_steps - start.step
        # A run that was stopped between a checkpoint and its validation starts with the validation.
        if (start.step % config.validate_every == 0 or left <= 0) and start.validated < start.step:
            self._validate()
        if left > 0 and not self._interrupted and not self._out_of_patience():
            self.model.fit(
                self._feed.dataset(),
                steps_per_epoch=left * config.accumulate,
                epochs=1,
                callbacks=AsyncCallbacks([self], add_history=True, model=self.model),
                shuffle=False,  # the batches have their own order
                verbose=0,
            )

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count the batch; after a complete step log, save, validate or stop when due."""
        record = self._feed.records.popleft()
        self._interval.append(record)
        self._losses.append((logs or {})["loss"])  # still on the device
        self._batches += 1
        if self._batches % self._config.accumulate:
            return
        self.state = replace(
            self.state,
            step=self.state.step + 1,
            epoch=record.next.epoch,
            index=record.next.index,
            seconds=self._start.seconds + time.monotonic() - self._began,
        )
        step, config = self.state.step, self._config
        self._log.step(step, self.state.seconds - self._start.seconds)
        done = step >= config.max_steps or self._is_time_up(step)
        if step % config.log_every == 0 or done:
            self._log_step()
        if self._interrupted:
            self.save()
        elif done or step % config.validate_every == 0:
            self.save()
            self._validate()
        elif self._run.is_due(step):
            self.save()
        if done or self._interrupted or self._out_of_patience():
            self.model.stop_training = True

    def save(self) -> None:
        """Write the step's checkpoint and delete old ones; fail if the training has diverged."""
        self._check_loss()
        self._write(self._run.checkpoint(self.state.step))
        if self._devices.is_main:
            self._run.prune()

    def _write(self, path: Path) -> None:
        model = self.model  # on JAX, this gathers its state from all processes
        if self._devices.is_main:
            save_checkpoint(path, model, self.state)

    def _validate(self) -> None:
        """Validate the model, note that in its checkpoint, and keep the model if it is the best."""
        result = self._validated()
        if result is None:
            return
        self._restart_interval()
        is_best = self._record(result)
        worse = 0 if is_best else self.state.worse + 1
        self.state = replace(self.state, worse=worse, validated=self.state.step)
        # The state is saved last: a run that is killed before then validates again.
        if is_best:
            self._write(self._run.best)
        self.save()

    def _average(self) -> None:
        """Write and validate the mean of the newest checkpoints, and keep it if it is the best.

        A resumed training has to beat its score, but ``worse`` does not change. The mean gets its
        name at the very end, which shows that nothing is left to do.
        """
        run, unfinished, count = self._run, self._run.folder / ".average.npz", 0
        if self._devices.is_main:
            with tqdm.external_write_mode():
                paths = undamaged(run.regular_checkpoints(), self._config.average)
            average_checkpoints(paths, unfinished)
            count = len(paths)
        result = self._validated(unfinished)
        if result is None:
            return
        self._log.message(f"average of the last {count} checkpoints:")
        is_best = self._record(result)
        if not self._devices.is_main:
            return
        if is_best:
            with replacing_path(run.best) as copy:
                shutil.copyfile(unfinished, copy)
            # The model may hold the average by now, so only the state is written.
            path = run.checkpoint(self.state.step)
            write_checkpoint(path, read_checkpoint(path)[0], self.state)
        unfinished.replace(run.average)

    def _record(self, result: ValidationResult) -> bool:
        """Log a validation and keep its score; return whether it is the best so far."""
        best, metric = self.state.best_score, self._config.metric
        score = -result.loss if metric == "loss" else getattr(result, metric)
        is_best = best is None or score > best
        self.state = replace(self.state, best_score=score if is_best else best)
        self._log.validation(self.state.step, self.state.seconds, result, is_best)
        return is_best

    def _validated(self, checkpoint: Path | None = None) -> ValidationResult | None:
        """Validate the model or a checkpoint in process 0; return None if a signal stopped the
        validation, which the resumed run repeats."""
        result = None
        if self._devices.is_main:
            with suppress(_ValidationStopped):
                self._validating = True
                if not self.signalled:  # after the last check
                    result = self._validator.validate(checkpoint)
                self._validating = False
        result = self._validator.broadcast(result)
        self._interrupted = self._interrupted or result is None
        return result

    def _is_time_up(self, step: int) -> bool:
        """Return whether max_minutes have passed; also set ``_interrupted`` after a signal."""
        minutes = self._config.max_minutes
        late = bool(minutes) and self.state.seconds >= 60 * minutes
        if self._devices.processes > 1 and step % self._config.log_every:
            return False
        self._interrupted, late = any_of(self._devices, [self.signalled, late])
        return late

    def _out_of_patience(self) -> bool:
        patience = self._config.patience
        if not patience or self.state.worse < patience:
            return False
        self._log.message(f"no better {self._config.metric} in {patience} validations: stopping")
        return True

    def _restart_interval(self) -> None:
        self._interval: list[BatchRecord] = []
        self._losses: list[Any] = []
        self._interval_began = time.monotonic()

    def _check_loss(self) -> None:
        """Raise NmtError if a loss since the last log line is NaN, infinite or far too high."""
        limit = DIVERGED * math.log(self.model.output_shape[-1])
        # Keras' running mean stays infinite or NaN, so the last one shows whether any was.
        if not self._losses or _to_float(self._losses[-1]) <= limit:
            return
        losses = [_to_float(loss) for loss in self._losses]
        first = next(index for index, loss in enumerate(losses) if not loss <= limit)
        before = self._batches - len(losses) + first
        step = self._start.step + before // self._config.accumulate + 1
        position = self._interval[first].position
        _, rows = self._epochs.order(position.epoch)[position.index]
        lines = ", ".join(str(row + 1) for row in rows)
        kept = f"; {self._run.last} is good" if self._run.checkpoints() else ""
        where = f"at step {step:,}, batch {position.index + 1} of epoch {position.epoch + 1}"
        reason = f"the training has diverged: the loss is {losses[first]:g} {where}: "
        reason += f"lines {lines} of the prepared training text"
        hint = "start again with a lower training.learning_rate or with training.clip_norm"
        raise NmtError(reason, hint + kept)

    def _log_step(self) -> None:
        self._check_loss()
        seconds = max(time.monotonic() - self._interval_began, 1e-9)
        values = {
            "tokens_per_second": sum(record.tokens for record in self._interval) / seconds,
            # As a share of wall time (batches are built in parallel to the steps).
            "input_share": sum(record.seconds for record in self._interval) / seconds,
        }
        # The step's logs are means over devices under MirroredStrategy; these are over tokens.
        metrics = self.model.get_metrics_result()
        values |= {name: _to_float(value) for name, value in metrics.items()}
        values["learning_rate"] = _to_float(self.model.optimizer.learning_rate)
        state, config = self.state, self._config
        self._log.record(state.step, state.seconds, values)
        pace = (state.seconds - self._start.seconds) / max(1, state.step - self._start.step)
        left = pace * (config.max_steps - state.step)
        if config.max_minutes:
            left = min(left, 60 * config.max_minutes - state.seconds)
        self._log.progress(state.step, state.epoch, values, max(0.0, left))
        self.model.reset_metrics()
        self._restart_interval()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Make SIGINT or SIGTERM stop the training after its step; a second one interrupts."""

        def stop(number: int, frame: FrameType | None) -> None:
            restore()
            self.signalled = True
            if self._validating:
                raise _ValidationStopped

        def restore() -> None:
            for number, handler in handlers.items():
                signal.signal(number, handler)

        handlers = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            restore()


def _to_float(value: Any) -> float:
    return float(keras.ops.convert_to_numpy(value))


class AsyncCallbacks(keras.callbacks.CallbackList):
    """Callbacks that receive losses on the device. Keras' own list converts them to floats, and so
    waits for the device at every step."""

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs)
