"""The log of a training: progress messages or a progress line, and files.

log.jsonl has one JSON object per log line or validation; tensorboard/ has the same numbers and
the sample translations if TensorFlow and TensorBoard are installed.
"""

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from nmt_cli.errors import ModelError, OutputError
from nmt_cli.files import replacing

if TYPE_CHECKING:
    from nmt_cli.training.validation import ValidationResult

logger = logging.getLogger(__name__)

FILE = "log.jsonl"


def read_log(run: Path) -> list[dict[str, Any]]:
    """Read the records of a run's log.jsonl without damaged or incomplete lines.
    Lines end at LF only: sample translations may contain other line breaks of Unicode."""
    path = run / FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    records = []
    for line in text.split("\n"):
        with suppress(ValueError, KeyError, TypeError):
            record = json.loads(line)
            records += [record] if type(record["step"]) is int else []
    return records


class TrainingLog:
    """The log of one session of a training, from the step ``start`` to ``last``, in a run folder or
    nowhere.

    Records of steps that the session repeats are removed, as is that of an incomplete validation.
    """

    def __init__(self, run: Path | None, start: int, last: int, validated: bool) -> None:
        self._run, self._start = run, start
        self._bar = tqdm(
            total=last,
            initial=start,
            disable=None if run else True,  # None: show it on a terminal only
            bar_format="step {n_fmt}/{total_fmt}  {desc}",
            dynamic_ncols=True,
        )
        self._writer: Any = None
        if run:
            with suppress(ImportError):
                import tensorboard  # noqa: F401  summaries need it, but fail late
                import tensorflow as tf

                self._writer = tf.summary.create_file_writer(str(run / "tensorboard"))
        if run and (run / FILE).exists():
            records = read_log(run)
            with replacing(run / FILE) as out:
                for record in records:
                    is_validation = record["step"] == start and "validation_loss" in record
                    if record["step"] <= start and (validated or not is_validation):
                        out.write(_line(record))

    def close(self) -> None:
        """End the progress line and write what TensorBoard's writer still holds."""
        self._bar.close()
        if self._writer:
            self._writer.flush()

    def message(self, line: str) -> None:
        """Log a message above the progress line."""
        with tqdm.external_write_mode():
            logger.info(line)

    def step(self, step: int, seconds: float) -> None:
        """Count a step on the progress line; log how long the first step of the session took."""
        self._bar.update()
        if step == self._start + 1:
            self.message(f"the first step took {seconds:.0f} s, including compilation")

    def progress(self, step: int, epoch: int, values: dict[str, float], seconds: float) -> None:
        """Update the progress line, with the seconds left; without a terminal, log a line."""
        minutes, seconds_left = divmod(int(seconds), 60)
        line = (
            f"epoch {epoch + 1}  loss {values['loss']:.3f}  "
            f"accuracy {values['accuracy']:.3f}  {values['tokens_per_second']:,.0f} tokens/s  "
            f"rate {values['learning_rate']:.2e}  "
            f"left {minutes // 60}:{minutes % 60:02}:{seconds_left:02}"
        )
        if self._bar.disable:
            logger.info(f"step {step:>6,}  {line}")
        else:
            self._bar.set_description_str(line)

    def validation(self, step: int, seconds: float, result: "ValidationResult", best: bool) -> None:
        """Log and record a validation: its scores and sample translations."""
        self.message(
            f"step {step:>6,}  validation loss {result.loss:.3f}  "
            f"accuracy {result.accuracy:.3f}  BLEU {result.bleu:.2f}  "
            f"chrF {result.chrf:.2f}" + ("  (best so far)" if best else "")
        )
        for sample in result.samples[:1]:
            self.message(f"    {sample['source']} -> {sample['translation']}")
        names = ("loss", "accuracy", "bleu", "chrf")
        values = {f"validation_{name}": getattr(result, name) for name in names}
        self.record(step, seconds, {**values, "samples": result.samples})

    def record(self, step: int, seconds: float, values: dict[str, Any]) -> None:
        """Add a line to log.jsonl and the numbers to TensorBoard."""
        if self._run is None:
            return
        path, line = self._run / FILE, {"step": step, "seconds": round(seconds, 1), **values}
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(_line(line))
        except OSError as error:
            hint = "the newest checkpoint is complete; continue with `resume`"
            raise OutputError(f"{path}: cannot be written ({error.strerror})", hint) from None
        if self._writer:
            import tensorflow as tf

            with self._writer.as_default(step):
                for name, value in values.items():
                    if isinstance(value, float):
                        tf.summary.scalar(name, value)
                if "samples" in values:
                    rows = [["source", "reference", "translation"], ["---"] * 3]
                    for sample in values["samples"]:
                        rows.append([cell.replace("|", "\\|") for cell in sample.values()])
                    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
                    tf.summary.text("samples", table)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
