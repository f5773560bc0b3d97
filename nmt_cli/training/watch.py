"""The callback that logs, validates, saves and stops a training."""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import keras

from nmt_cli.data.batches import Epochs, Position
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path
from nmt_cli.recipe.config import TrainingConfig
from nmt_cli.training.checkpoint import Progress, note_progress, save_checkpoint
from nmt_cli.training.cluster import any_of
from nmt_cli.training.devices import ALONE, Devices
from nmt_cli.training.feed import Feed
from nmt_cli.training.journal import Journal
from nmt_cli.training.run import Run
from nmt_cli.training.validation import Judgement, Validator
from nmt_cli.training.window import Window, number


class _StoppedValidating(Exception):
    """A signal came during a validation, which is not worth waiting for."""


class Watch(keras.callbacks.Callback):
    """Follows one sitting of a training, from its first step to its last.

    To Keras all of it is one epoch. Nothing is fetched from the device but every
    ``log_every`` steps and before a checkpoint. Several processes of a training each have one,
    and all take the same way: what only one of them knows is settled every ``log_every`` steps.

    Attributes:
        progress: how far the training has come, all sittings together.
        signalled: whether a signal came to this process.
        interrupted: whether one that came to any of the processes stops the training.
    """

    def __init__(
        self,
        run: Run,
        start: Progress,
        epochs: Epochs,
        feed: Feed,
        validator: Validator | None,
        journal: Journal,
        devices: Devices = ALONE,
    ) -> None:
        super().__init__()
        self._run, self._epochs, self._feed = run, epochs, feed
        self._validator, self._journal, self._devices = validator, journal, devices
        self._start, self.progress = start, start
        self._began = time.monotonic()
        self._window = Window()
        self._batches = 0
        self._validating = False
        self.signalled = False
        self.interrupted = False

    @property
    def _config(self) -> TrainingConfig:
        return self._run.recipe.training

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count the batch; after a whole step log, save, validate or stop if it is time to."""
        handed = self._feed.taken()
        self._window.add(handed, logs or {})
        self._batches += 1
        if self._batches % self._config.accumulate:
            return
        self._advance(handed.next)
        step, config = self.progress.step, self._config
        done = step >= config.max_steps or self._is_to_stop(step)
        if step % config.log_every == 0 or done:
            self._log()
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
        """Write the step's checkpoint, and drop what is too old.

        Raises:
            NmtError: the loss or a weight is not finite, or the file cannot be written.
        """
        self._check_loss()
        self._write(self._run.checkpoint(self.progress.step))
        if self._devices.leads:
            self._run.prune()

    def _write(self, path: Path) -> None:
        model = self.model  # on JAX all processes bring its state together
        if self._devices.leads:
            save_checkpoint(path, model, self.progress)

    def validate(self) -> None:
        """Judge the model as it is, note it in its checkpoint, and keep it if it is the best."""
        if self._validator is None:
            return
        judgement = self._judged(self._validator)
        if judgement is None:
            self.interrupted = True  # the resumed run will begin with this validation
            return
        self._window.restart()
        best, score = self.progress.best_score, judgement.score(self._config.metric)
        better = best is None or score > best
        self.progress = replace(
            self.progress,
            best_score=score if better else best,
            worse=0 if better else self.progress.worse + 1,
            validated=self.progress.step,
        )
        self._journal.judged(self.progress, judgement, better)
        # The note comes last: a run that is killed before it validates again when resumed.
        if better:
            self._write(self._run.best)
        self.save()

    def judge_average(self, average: Path, count: int) -> None:
        """Judge the mean of so many checkpoints; it is kept if it is the best.

        Its score is then the one to beat for a training that goes on. How many validations were
        no better stays as it is: a training that lost patience would go on for that alone.
        """
        if self._validator is None:
            return
        judgement = self._judged(self._validator, average)
        if judgement is None:
            self.interrupted = True  # the resumed run will judge it
            return
        best, score = self.progress.best_score, judgement.score(self._config.metric)
        better = best is None or score > best
        self._journal.say(f"the mean of the last {count} checkpoints:")
        self._journal.judged(self.progress, judgement, better)
        if not better:
            return
        self.progress = replace(self.progress, best_score=score)
        if self._devices.leads:
            with replacing_path(self._run.best) as beside:
                shutil.copyfile(average, beside)
            # The model may hold the average by now, and no more what the training goes on from.
            note_progress(self._run.checkpoint(self.progress.step), self.progress)

    def _judged(self, validator: Validator, checkpoint: Path | None = None) -> Judgement | None:
        """What process 0 finds; None if a signal stopped it."""
        judgement = None
        if self._devices.leads:
            self._validating = True
            try:
                if self.signalled:  # since the step was looked at
                    raise _StoppedValidating
                judgement = validator.judge_weights(checkpoint) if checkpoint else validator.judge()
            except _StoppedValidating:
                pass
            finally:
                self._validating = False
        return validator.shared(judgement)

    def _advance(self, position: Position) -> None:
        self.progress = replace(
            self.progress,
            step=self.progress.step + 1,
            epoch=position.epoch,
            index=position.index,
            seconds=self._start.seconds + time.monotonic() - self._began,
        )

    def _is_to_stop(self, step: int) -> bool:
        """Whether time is up; and note if a signal came."""
        minutes = self._config.max_minutes
        late = bool(minutes) and self.progress.seconds >= 60 * minutes
        if self._devices.processes > 1 and step % self._config.log_every:
            return False
        self.interrupted, late = any_of(self._devices, [self.signalled, late])
        return late

    def out_of_patience(self) -> bool:
        """Whether the last validations brought nothing better."""
        patience = self._config.patience
        if not patience or self.progress.worse < patience:
            return False
        self._journal.say(f"no better {self._config.metric} in {patience} validations: stopping")
        return True

    def _check_loss(self) -> None:
        """Fail if the loss of a batch since the last look is not finite."""
        bad = self._window.first_not_finite()
        if bad is None:
            return
        loss, handed, behind = bad
        step = self._start.step + (self._batches - behind - 1) // self._config.accumulate + 1
        lines = ", ".join(str(row + 1) for row in self._epochs.rows(handed.at))
        kept = f"; {self._run.last} is good" if self._run.checkpoints() else ""
        raise NmtError(
            f"the loss is {loss} at step {step:,}, batch {handed.at.index + 1} of epoch "
            f"{handed.at.epoch + 1}: lines {lines} of the prepared training text",
            f"begin anew with a lower training.learning_rate or a training.clip_norm{kept}",
        )

    def _log(self) -> None:
        self._check_loss()
        # Not of the step's logs: MirroredStrategy's are means over devices, not over tokens.
        means = self.model.get_metrics_result()
        values = self._window.values() | {name: number(each) for name, each in means.items()}
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        values["learning_rate"] = rate
        step, seconds = self.progress.step, self.progress.seconds
        self._journal.record(step, seconds, values)
        self._journal.progress(step, self.progress.epoch, values, self._left())
        self.model.reset_metrics()
        self._window.restart()

    def _left(self) -> str:
        """Time to the nearer limit, as h:mm:ss."""
        steps = max(1, self.progress.step - self._start.step)
        pace = (self.progress.seconds - self._start.seconds) / steps
        seconds = pace * (self._config.max_steps - self.progress.step)
        if self._config.max_minutes:
            seconds = min(seconds, 60 * self._config.max_minutes - self.progress.seconds)
        minutes, rest = divmod(int(max(0.0, seconds)), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into a stop after the current step; a second one kills."""

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            self.signalled = True
            for each, handler in before.items():
                signal.signal(each, handler)
            if self._validating:
                raise _StoppedValidating

        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask_to_stop) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Callbacks(keras.callbacks.CallbackList):
    """Hands the losses of a batch on as they are: Keras' own list makes numbers of them first, and
    so waits for the device at every step."""

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Tell all callbacks, with losses that may not be there yet."""
        for each in self.callbacks:
            each.on_train_batch_end(batch, logs)
