"""The callback that logs, validates, saves and stops a training."""

import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import keras

from nmt_cli.data.batches import Batches, Position
from nmt_cli.errors import NmtError
from nmt_cli.recipe import TrainingConfig
from nmt_cli.training.checkpoint import Progress, save_checkpoint
from nmt_cli.training.feed import Feed
from nmt_cli.training.run import Run
from nmt_cli.training.validation import Validator


class Watch(keras.callbacks.Callback):
    """Follows one sitting of a training, from its first step to its last.

    A Keras "epoch" is here the stretch from one validation to the next.

    Attributes:
        progress: how far the training has come, all sittings together.
        interrupted: whether a signal asked to stop.
    """

    def __init__(
        self,
        run: Run,
        start: Progress,
        batches: Batches,
        feed: Feed,
        validator: Validator | None,
        say: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._run, self._batches, self._feed = run, batches, feed
        self._validator, self._say = validator, say
        self._start, self.progress = start, start
        self._began = time.monotonic()
        self._window_began, self._window_tokens = self._began, 0
        self.interrupted = False

    @property
    def _config(self) -> TrainingConfig:
        return self._run.recipe.training

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count the step; log at intervals; stop at the limits or when asked to."""
        self._window_tokens += self._feed.taken()
        self._advance()
        step = self.progress.step
        if step % self._config.log_every == 0:
            self._log(logs or {})
        if step >= self._config.max_steps or self.interrupted or self._out_of_time():
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, then validate (unless told to stop at once)."""
        self.save()
        if self._validator and not self.interrupted:
            self._validate()

    def save(self) -> None:
        """Write last.npz."""
        save_checkpoint(self._run.last, self.model, self.progress)

    def _advance(self) -> None:
        steps = self.progress.step + 1 - self._start.step
        start = Position(self._start.epoch, self._start.index)
        position = self._batches.advance(start, steps)
        self.progress = Progress(
            self.progress.step + 1,
            position.epoch,
            position.index,
            self._start.seconds + time.monotonic() - self._began,
            self.progress.best_bleu,
        )

    def _out_of_time(self) -> bool:
        minutes = self._config.max_minutes
        return bool(minutes) and self.progress.seconds >= 60 * minutes

    def _log(self, logs: dict[str, Any]) -> None:
        loss, accuracy = float(logs["loss"]), float(logs["accuracy"])
        if not math.isfinite(loss):
            raise NmtError(
                f"the loss is {loss} at step {self.progress.step}",
                f"lower training.learning_rate; {self._run.last} is the last good checkpoint",
            )
        now = time.monotonic()
        speed = self._window_tokens / max(now - self._window_began, 1e-9)
        self._window_began, self._window_tokens = now, 0
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        self._record(loss=loss, accuracy=accuracy, tokens_per_second=speed, learning_rate=rate)
        self._say(
            f"step {self.progress.step:>6,}  epoch {self.progress.epoch + 1}  loss {loss:.3f}  "
            f"accuracy {accuracy:.3f}  {speed:,.0f} tokens/s  rate {rate:.2e}  "
            f"left {self._left()}"
        )

    def _left(self) -> str:
        """Time to the nearer limit, as h:mm:ss."""
        steps = max(1, self.progress.step - self._start.step)
        pace = (self.progress.seconds - self._start.seconds) / steps
        seconds = pace * (self._config.max_steps - self.progress.step)
        if self._config.max_minutes:
            seconds = min(seconds, 60 * self._config.max_minutes - self.progress.seconds)
        minutes, rest = divmod(int(max(0.0, seconds)), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"

    def _validate(self) -> None:
        assert self._validator is not None
        judgement = self._validator.judge()
        self._record(
            validation_loss=judgement.loss,
            validation_accuracy=judgement.accuracy,
            validation_bleu=judgement.bleu,
        )
        better = judgement.bleu > self.progress.best_bleu
        self._say(
            f"step {self.progress.step:>6,}  validation loss {judgement.loss:.3f}  "
            f"accuracy {judgement.accuracy:.3f}  BLEU {judgement.bleu:.2f}"
            + ("  (best so far)" if better else "")
        )
        if better:
            self.progress = replace(self.progress, best_bleu=judgement.bleu)
            save_checkpoint(self._run.best, self.model, self.progress)
            self.save()  # so that a resumed run knows the score to beat
        self._window_began, self._window_tokens = time.monotonic(), 0

    def _record(self, **values: float) -> None:
        line = {"step": self.progress.step, "seconds": round(self.progress.seconds, 1), **values}
        path = self._run.folder / "log.jsonl"
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        except OSError as error:
            raise NmtError(
                f"{path}: cannot be written ({error.strerror})",
                f"{self._run.last} is the last good checkpoint",
            ) from None

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into a stop after the current step; a second one kills."""

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            for each, handler in before.items():
                signal.signal(each, handler)

        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask_to_stop) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
