"""What a training tells: one line on a terminal, plain lines in a log, files for later.

log.jsonl has one JSON object a log line or validation; tensorboard/ the same numbers and
the sample translations, where TensorFlow is installed to write them.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing
from nmt_cli.training.checkpoint import Progress
from nmt_cli.training.run import read_log
from nmt_cli.training.validation import Judgement


class Journal:
    """The account of one sitting.

    Args:
        folder: of the run.
        start: step that the sitting starts at; what the log says of later ones is dropped,
            for it will happen again.
        judged: whether the validation of that step, if any, is over; else it happens again too.
        steps: at which the training ends.
        say: receives lines for people.
    """

    def __init__(
        self, folder: Path, start: int, judged: bool, steps: int, say: Callable[[str], None]
    ) -> None:
        self._log = folder / "log.jsonl"
        self._say = say
        # Shown on a terminal alone (disable=None).
        self._bar = tqdm(
            total=steps, initial=start, disable=None, bar_format="{desc}", dynamic_ncols=True
        )
        self._writer = _tensorboard(folder / "tensorboard", self.say)
        self._cut(start, judged)

    def close(self) -> None:
        """Finish the terminal's line and the files."""
        self._bar.close()
        if self._writer:
            self._writer.close()

    def say(self, line: str) -> None:
        """A line for people, above the progress line."""
        if self._bar.disable:
            self._say(line)
        else:
            self._bar.clear()
            self._say(line)
            self._bar.refresh()

    def progress(self, step: int, epoch: int, values: dict[str, float], left: str) -> None:
        """How training goes: the progress line on a terminal, else a line of its own.

        Args:
            step: taken so far.
            epoch: from 0.
            values: loss (nats a token), accuracy, tokens_per_second, learning_rate.
            left: time to the end, for people.
        """
        line = (
            f"step {step:>6,}  epoch {epoch + 1}  loss {values['loss']:.3f}  "
            f"accuracy {values['accuracy']:.3f}  {values['tokens_per_second']:,.0f} tokens/s  "
            f"rate {values['learning_rate']:.2e}  left {left}"
        )
        if self._bar.disable:
            self._say(line)
        else:
            self._bar.set_description_str(line)

    def judged(self, progress: Progress, judgement: Judgement, better: bool) -> None:
        """A validation: scores, and a few translations."""
        step, samples = progress.step, judgement.samples
        self.say(
            f"step {step:>6,}  validation loss {judgement.loss:.3f}  "
            f"accuracy {judgement.accuracy:.3f}  BLEU {judgement.bleu:.2f}  "
            f"chrF {judgement.chrf:.2f}" + ("  (best so far)" if better else "")
        )
        for sample in samples[:1]:
            self.say(f"    {sample.source} -> {sample.translation}")
        values = {
            "validation_loss": judgement.loss,
            "validation_accuracy": judgement.accuracy,
            "validation_bleu": judgement.bleu,
            "validation_chrf": judgement.chrf,
            "samples": [asdict(each) for each in samples],
        }
        self.record(step, progress.seconds, values)
        rows = [
            f"| {_cell(each.source)} | {_cell(each.reference)} | {_cell(each.translation)} |"
            for each in samples
        ]
        head = ["| source | reference | translation |", "|---|---|---|"]
        if self._writer:
            self._writer.text("samples", "\n".join(head + rows), step)

    def record(self, step: int, seconds: float, values: dict[str, Any]) -> None:
        """Add a line to log.jsonl and the numbers to TensorBoard.

        Raises:
            NmtError: the log cannot be written.
        """
        line = {"step": step, "seconds": round(seconds, 1), **values}
        try:
            with self._log.open("a", encoding="utf-8") as stream:
                stream.write(_line(line))
        except OSError as error:
            raise _unwritable(self._log, error) from None
        if self._writer:
            numbers = {name: each for name, each in values.items() if isinstance(each, float)}
            self._writer.scalars(numbers, step)

    def _cut(self, start: int, judged: bool) -> None:
        """Leave nothing in the log that will happen again, and no broken line."""
        if not self._log.exists():
            return
        kept = [
            record
            for record in read_log(self._log)
            if record["step"] < start
            or (record["step"] == start and (judged or "validation_loss" not in record))
        ]
        with replacing(self._log) as out:
            out.writelines(_line(each) for each in kept)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _unwritable(path: Path, error: OSError) -> NmtError:
    return NmtError(
        f"{path}: cannot be written ({error.strerror})",
        "the newest checkpoint is whole; go on with --resume",
    )


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


class SilentJournal(Journal):
    """For the processes of a training that leave the telling to process 0."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        """Nothing to close."""

    def say(self, line: str) -> None:
        """Say nothing."""

    def progress(self, step: int, epoch: int, values: dict[str, float], left: str) -> None:
        """Show nothing."""

    def judged(self, progress: Progress, judgement: Judgement, better: bool) -> None:
        """Write nothing."""

    def record(self, step: int, seconds: float, values: dict[str, Any]) -> None:
        """Write nothing."""


class _TensorBoard:
    """TensorFlow's writer of event files. Nothing hangs on them: a failure ends the writing."""

    def __init__(self, tf: Any, folder: Path, say: Callable[[str], None]) -> None:
        self._tf, self._say = tf, say
        self._folder = folder
        self._writer: Any = tf.summary.create_file_writer(str(folder))

    def scalars(self, values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            self._try(partial(self._tf.summary.scalar, name, value, step))

    def text(self, name: str, value: str, step: int) -> None:
        self._try(lambda: self._tf.summary.text(name, value, step))
        self._try(self._tf.summary.flush)

    def close(self) -> None:
        self._try(self._tf.summary.flush)

    def _try(self, write: Callable[[], object]) -> None:
        if self._writer is None:
            return
        try:
            with self._writer.as_default():
                write()
        except self._tf.errors.OpError as error:
            self._writer = None
            self._say(f"{self._folder}: written no further ({error.message})")


def _tensorboard(folder: Path, say: Callable[[str], None]) -> _TensorBoard | None:
    try:
        import tensorboard  # noqa: F401  TensorFlow's summaries need it, and say so late
        import tensorflow as tf
    except ImportError:  # with JAX alone
        return None
    return _TensorBoard(tf, folder, say)
