"""The log of a training: a progress line or plain lines on the terminal, and files.

log.jsonl has one JSON object per log line or validation; tensorboard/ has the same numbers and
the sample translations if TensorFlow and TensorBoard are installed.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from nmt_cli.errors import NmtError, Say
from nmt_cli.files import replacing

if TYPE_CHECKING:
    from nmt_cli.training.validation import ValidationResult

FILE = "log.jsonl"


def read_log(run: Path) -> list[dict[str, Any]]:
    """Read the records of a run's log.jsonl; lines that are damaged or incomplete are skipped.

    Lines end at LF only: sample translations may contain other line breaks of Unicode.

    Raises:
        NmtError: the file cannot be read.
    """
    path = run / FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    found = []
    for line in text.split("\n"):
        with suppress(ValueError, KeyError, TypeError):
            record = json.loads(line)
            found += [record] if type(record["step"]) is int else []
    return found


class TrainingLog:
    """The log of one session of a training.

    Args:
        run: run folder; None: write nothing, as in all processes but the first.
        start: first step of the session; records of later steps are removed, as these steps are
            repeated.
        validated: whether the validation at that step is done; else its record is removed, too.
    """

    def __init__(self, run: Path | None, start: int, validated: bool, say: Say) -> None:
        self._run, self._say = run, say
        # disable=None: show it on a terminal only.
        self._bar = tqdm(disable=None if run else True, bar_format="{desc}", dynamic_ncols=True)
        self._writer: Any = None
        if run:
            with suppress(ImportError):
                import tensorboard  # noqa: F401  summaries need it, but fail late
                import tensorflow as tf

                self._writer = tf.summary.create_file_writer(str(run / "tensorboard"))
        if run and (run / FILE).exists():
            records = read_log(run)
            with replacing(run / FILE) as out:
                for each in records:
                    repeated = each["step"] == start and "validation_loss" in each and not validated
                    if each["step"] <= start and not repeated:
                        out.write(_line(each))

    def close(self) -> None:
        """End the progress line and write what TensorBoard's writer still holds."""
        self._bar.close()
        if self._writer:
            self._writer.flush()

    def message(self, line: str) -> None:
        """Print a message above the progress line."""
        with tqdm.external_write_mode():
            self._say(line)

    def progress(self, step: int, epoch: int, values: dict[str, float], seconds: float) -> None:
        """Update the progress line, with the seconds left; without a terminal, print a line."""
        minutes, rest = divmod(int(seconds), 60)
        line = (
            f"step {step:>6,}  epoch {epoch + 1}  loss {values['loss']:.3f}  "
            f"accuracy {values['accuracy']:.3f}  {values['tokens_per_second']:,.0f} tokens/s  "
            f"rate {values['learning_rate']:.2e}  "
            f"left {minutes // 60}:{minutes % 60:02}:{rest:02}"
        )
        if self._bar.disable:
            self._say(line)
        else:
            self._bar.set_description_str(line)

    def validation(self, step: int, seconds: float, result: "ValidationResult", best: bool) -> None:
        """Print and record a validation: its scores and sample translations."""
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
        """Add a line to log.jsonl and the numbers to TensorBoard.

        Raises:
            NmtError: the log cannot be written.
        """
        if self._run is None:
            return
        path, line = self._run / FILE, {"step": step, "seconds": round(seconds, 1), **values}
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(_line(line))
        except OSError as error:
            raise NmtError(
                f"{path}: cannot be written ({error.strerror})",
                "the newest checkpoint is complete; continue with --resume",
            ) from None
        if self._writer:
            import tensorflow as tf

            with self._writer.as_default(step):
                for name, each in values.items():
                    if isinstance(each, float):
                        tf.summary.scalar(name, each)
                if "samples" in values:
                    rows = [["source", "reference", "translation"], ["---"] * 3]
                    for sample in values["samples"]:
                        rows.append([cell.replace("|", "\\|") for cell in sample.values()])
                    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
                    tf.summary.text("samples", table)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
