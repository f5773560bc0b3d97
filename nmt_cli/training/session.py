"""The Keras callback that logs, validates, saves and stops a training."""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import keras

from nmt_cli.data.batches import Position
from nmt_cli.data.epochs import Epochs
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path
from nmt_cli.recipe.config import TrainingConfig
from nmt_cli.training.checkpoint import Progress, replace_progress, save_checkpoint
from nmt_cli.training.cluster import any_of
from nmt_cli.training.devices import ONE_DEVICE, Devices
from nmt_cli.training.feed import Feed, LogInterval, to_float
from nmt_cli.training.log import TrainingLog
from nmt_cli.training.run import Run
from nmt_cli.training.validation import ValidationResult, Validator


class _ValidationStopped(Exception):
    """A signal came during a validation."""


class Session(keras.callbacks.Callback):
    """One session of a training, from its start or resumption to its end or interruption.

    To Keras, a session is one epoch. Values are fetched from the device only every ``log_every``
    steps and before a checkpoint. Several processes agree on what to do every ``log_every`` steps.

    Attributes:
        progress: progress of the training over all sessions.
        signalled: whether this process received a signal.
        interrupted: whether a signal, to any of the processes, stops the training.
    """

    def __init__(
        self,
        run: Run,
        start: Progress,
        epochs: Epochs,
        feed: Feed,
        validator: Validator,
        log: TrainingLog,
        devices: Devices = ONE_DEVICE,
    ) -> None:
        super().__init__()
        self._run, self._epochs, self._feed = run, epochs, feed
        self._validator, self._log, self._devices = validator, log, devices
        self._start, self.progress = start, start
        self._began = time.monotonic()
        self._interval = LogInterval()
        self._batches = 0
        self._validating = False
        self.signalled = False
        self.interrupted = False

    @property
    def config(self) -> TrainingConfig:
        """The recipe's [training] table."""
        return self._run.recipe.training

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count the batch; after a complete step log, save, validate or stop when due."""
        fed = self._feed.pop()
        self._interval.add(fed, (logs or {})["loss"])
        self._batches += 1
        if self._batches % self.config.accumulate:
            return
        self._advance(fed.next)
        step, config = self.progress.step, self.config
        done = step >= config.max_steps or self._is_time_up(step)
        if step % config.log_every == 0 or done:
            self._log_step()
        if self.interrupted:
            self.save()
        elif done or step % config.validate_every == 0:
            self.save()
            self.validate()
        elif config.checkpoint_every and step % config.checkpoint_every == 0:
            self.save()
        if done or self.interrupted or self.out_of_patience():
            self.model.stop_training = True

    def save(self) -> None:
        """Write the step's checkpoint and delete old ones; fail if the loss is not finite."""
        self._check_loss()
        self._write(self._run.checkpoint(self.progress.step))
        if self._devices.is_main:
            self._run.prune()

    def _write(self, path: Path) -> None:
        model = self.model  # on JAX, this gathers its state from all processes
        if self._devices.is_main:
            save_checkpoint(path, model, self.progress)

    def validate(self) -> None:
        """Validate the model, note that in its checkpoint, and keep the model if it is the best."""
        result = self._validated()
        if result is None:
            return
        self._interval.restart()
        better = self._note(result)
        worse = 0 if better else self.progress.worse + 1
        self.progress = replace(self.progress, worse=worse, validated=self.progress.step)
        # The progress is saved last: a run that is killed before validates again.
        if better:
            self._write(self._run.best)
        self.save()

    def validate_average(self, average: Path, count: int) -> None:
        """Validate the mean of ``count`` checkpoints, and keep it if it is the best.

        A resumed training then has to beat its score. The count of validations without
        improvement does not change, so that a training without patience left stays finished.
        """
        result = self._validated(average)
        if result is None:
            return
        self._log.message(f"average of the last {count} checkpoints:")
        if self._note(result) and self._devices.is_main:
            with replacing_path(self._run.best) as unfinished:
                shutil.copyfile(average, unfinished)
            # The model may hold the average by now, so only the progress is written.
            replace_progress(self._run.checkpoint(self.progress.step), self.progress)

    def _note(self, result: ValidationResult) -> bool:
        """Log a validation and note its score; return whether it is the best so far."""
        best, score = self.progress.best_score, result.score(self.config.metric)
        better = best is None or score > best
        self.progress = replace(self.progress, best_score=score if better else best)
        self._log.validation(self.progress.step, self.progress.seconds, result, better)
        return better

    def _validated(self, checkpoint: Path | None = None) -> ValidationResult | None:
        """Validate the model or a checkpoint in process 0.

        Returns:
            The result; None if a signal stopped the validation, which the resumed run repeats.
        """
        result = None
        if self._devices.is_main:
            with suppress(_ValidationStopped):
                self._validating = True
                if not self.signalled:  # after the last check
                    result = self._validator.validate(checkpoint)
                self._validating = False
        result = self._validator.broadcast(result)
        self.interrupted = self.interrupted or result is None
        return result

    def _advance(self, position: Position) -> None:
        self.progress = replace(
            self.progress,
            step=self.progress.step + 1,
            epoch=position.epoch,
            index=position.index,
            seconds=self._start.seconds + time.monotonic() - self._began,
        )

    def _is_time_up(self, step: int) -> bool:
        """Return whether max_minutes have passed; also set ``interrupted`` after a signal."""
        minutes = self.config.max_minutes
        late = bool(minutes) and self.progress.seconds >= 60 * minutes
        if self._devices.processes > 1 and step % self.config.log_every:
            return False
        self.interrupted, late = any_of(self._devices, [self.signalled, late])
        return late

    def out_of_patience(self) -> bool:
        """Whether the last ``patience`` validations brought no improvement."""
        patience = self.config.patience
        if not patience or self.progress.worse < patience:
            return False
        self._log.message(f"no better {self.config.metric} in {patience} validations: stopping")
        return True

    def _check_loss(self) -> None:
        bad = self._interval.first_not_finite()
        if bad is None:
            return
        loss, fed, after = bad
        step = self._start.step + (self._batches - after - 1) // self.config.accumulate + 1
        _, rows = self._epochs.order(fed.at.epoch)[fed.at.index]
        lines = ", ".join(str(row + 1) for row in rows)
        kept = f"; {self._run.last} is good" if self._run.checkpoints() else ""
        raise NmtError(
            f"the loss is {loss} at step {step:,}, batch {fed.at.index + 1} of epoch "
            f"{fed.at.epoch + 1}: lines {lines} of the prepared training text",
            f"start again with a lower training.learning_rate or with training.clip_norm{kept}",
        )

    def _log_step(self) -> None:
        self._check_loss()
        # The step's logs are means over devices under MirroredStrategy; these are over tokens.
        means = self.model.get_metrics_result()
        values = self._interval.speed() | {name: to_float(each) for name, each in means.items()}
        values["learning_rate"] = to_float(self.model.optimizer.learning_rate)
        step, seconds = self.progress.step, self.progress.seconds
        self._log.record(step, seconds, values)
        self._log.progress(step, self.progress.epoch, values, self._seconds_left())
        self.model.reset_metrics()
        self._interval.restart()

    def _seconds_left(self) -> float:
        """Estimate the seconds to the end of the training."""
        steps = max(1, self.progress.step - self._start.step)
        pace = (self.progress.seconds - self._start.seconds) / steps
        seconds = pace * (self.config.max_steps - self.progress.step)
        if self.config.max_minutes:
            seconds = min(seconds, 60 * self.config.max_minutes - self.progress.seconds)
        return max(0.0, seconds)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Make SIGINT and SIGTERM stop the training after the current step; a second one kills."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.signalled = True
            for each, handler in before.items():
                signal.signal(each, handler)
            if self._validating:
                raise _ValidationStopped

        before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
