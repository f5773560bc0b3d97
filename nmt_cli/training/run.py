"""A run folder: everything about one training.

run.json       format version, vocabulary sizes, key of the prepared data, number of devices
recipe.toml    the recipe as it was used, every default written out
tokenizer/     a copy of the tokenizers
checkpoints/   the newest checkpoints, step-00001000.npz and so on
best.npz       the checkpoint with the best validation score
average.npz    the mean of the newest, where training.average asks for it
log.jsonl      one JSON object a log line or validation
tensorboard/   the same for TensorBoard, with sample translations
"""

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing, replacing_folder
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.lines import read_lines, write_lines
from nmt_cli.text.tokenizer import TokenizerPair, load_tokenizers

FORMAT = 2  # 2: checkpoints/ instead of one last.npz
HELD_OUT = ("held_out.source.txt", "held_out.target.txt")
HELD_OUT_LINES = 500

# What may differ when a run is resumed: how long, how often to look, how to decode.
SAFE_TO_CHANGE = {
    "training": (
        "max_steps",  # but for schedules that end there
        "max_minutes",
        "average",
        "keep",
        "checkpoint_every",
        "validate_every",
        "validate_sentences",
        "patience",
        "log_every",
    ),
    "decoding": None,
    # The prepared data's key guards these.
    "data": ("root", "tfds_dir", "train", "synthetic", "dev", "test", "tsv_columns"),
}


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes:
        source_vocab, target_vocab: sizes of the vocabularies.
        prepared_key: of the data it was trained on.
        devices: of all processes, that it was begun on.
    """

    folder: Path
    recipe: Recipe
    source_vocab: int
    target_vocab: int
    prepared_key: str
    devices: int = 1

    @classmethod
    def create(cls, folder: Path, recipe: Recipe, prepared: Prepared, devices: int = 1) -> "Run":
        """Make a new run folder, in place of an old one.

        Raises:
            NmtError: it cannot be written.
        """
        tokenizers = prepared.tokenizers()
        run = cls(
            folder,
            recipe,
            tokenizers.source.vocab_size,
            tokenizers.target.vocab_size,
            prepared.key,
            devices,
        )
        record = {
            "format": FORMAT,
            "source_vocab": run.source_vocab,
            "target_vocab": run.target_vocab,
            "prepared_key": run.prepared_key,
            "devices": run.devices,
        }
        dev = prepared.text("dev")
        with replacing_folder(folder, "run.json") as work:
            shutil.copytree(prepared.folder / "tokenizer", work / "tokenizer")
            write_lines(work / HELD_OUT[0], dev.source[:HELD_OUT_LINES])
            write_lines(work / HELD_OUT[1], dev.target[:HELD_OUT_LINES])
            (work / "recipe.toml").write_text(recipe.dump(), encoding="utf-8")
            (work / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run folder.

        Raises:
            NmtError: it is missing, damaged, or of a newer format.
        """
        path = folder / "run.json"
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["format"] > FORMAT:
                raise NmtError(
                    f"{folder}: a run of a newer nmt (format {record['format']}, this one reads "
                    f"up to {FORMAT})",
                    "upgrade nmt",
                )
            sizes = int(record["source_vocab"]), int(record["target_vocab"])
            key, devices = str(record["prepared_key"]), int(record.get("devices", 1))
        except (FileNotFoundError, NotADirectoryError):
            raise NmtError(f"{folder}: not a run folder", "train first, with nmt train") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NmtError(f"{path}: damaged ({error})", "train again") from None
        return cls(folder, load_recipe(folder / "recipe.toml"), *sizes, key, devices)

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step stands."""
        return self.folder / "checkpoints" / f"step-{step:08}.npz"

    def checkpoints(self) -> list[Path]:
        """The newest checkpoints, oldest first."""
        old = self.folder / "last.npz"  # of format 1
        return [old] * old.exists() + sorted((self.folder / "checkpoints").glob("step-*.npz"))

    def note_recipe(self) -> None:
        """Write down the recipe as it is now, which may differ from the one it was begun with.

        Raises:
            NmtError: it cannot be written.
        """
        with replacing(self.folder / "recipe.toml") as stream:
            stream.write(self.recipe.dump())

    def regular(self) -> list[Path]:
        """The newest checkpoint and those of the training's beat, oldest first.

        What a signal left between two beats is not among them, once there is a newer one: a
        training that was never stopped does not have it.
        """
        *older, newest = self.checkpoints() or [self.checkpoint(0)]
        return [*filter(self._on_beat, older), newest]

    def _on_beat(self, checkpoint: Path) -> bool:
        training, step = self.recipe.training, checkpoint.stem.removeprefix("step-")
        beats = [each for each in (training.validate_every, training.checkpoint_every) if each]
        return step.isdigit() and any(int(step) % beat == 0 for beat in beats)

    def prune(self) -> None:
        """Delete all but the newest ``training.keep``, those that an average will need, and what
        is half-written."""
        # A signal's may not push out one of the beat, nor a new beat (it may change) all others.
        keep, checkpoints = self.recipe.training.keep, self.checkpoints()
        kept = {*checkpoints[-keep:], *self.regular()[-keep:]}
        unwanted = [path for path in checkpoints if path not in kept]
        unwanted += (self.folder / "checkpoints").glob(".*.npz")
        unwanted += self.folder.glob(".*.npz")
        for path in unwanted:
            with suppress(OSError):
                path.unlink()

    @property
    def last(self) -> Path:
        """The newest checkpoint; the first one's place if there is none."""
        return (self.checkpoints() or [self.checkpoint(0)])[-1]

    @property
    def best(self) -> Path:
        """The checkpoint of the best validation score."""
        return self.folder / "best.npz"

    @property
    def average(self) -> Path:
        """The mean of the newest checkpoints."""
        return self.folder / "average.npz"

    @property
    def preferred(self) -> Path:
        """The checkpoint to use when none is named: the best, the average, the last."""
        found = [path for path in (self.best, self.average) if path.exists()]
        return found[0] if found else self.last

    def tokenizers(self) -> TokenizerPair:
        """The run's own copy of the tokenizers."""
        return load_tokenizers(self.folder / "tokenizer")

    def held_out(self) -> tuple[list[str], list[str]]:
        """Source and target lines that training never saw.

        Raises:
            NmtError: the files are missing.
        """
        return read_lines(self.folder / HELD_OUT[0]), read_lines(self.folder / HELD_OUT[1])

    def check_resumable(self, recipe: Recipe, prepared_key: str) -> "Run":
        """The same run under a recipe that differs only where it safely may.

        Args:
            recipe: to go on with.
            prepared_key: of the data to go on with.

        Raises:
            NmtError: keys differ that would make it another training, or the data did.
        """
        if not recipe.training.batch_tokens:  # found when the run began
            found = self.recipe.training.batch_tokens
            recipe = replace(recipe, training=replace(recipe.training, batch_tokens=found))
        old, new = _guarded(self.recipe), _guarded(recipe)
        differing = [
            f"{section}.{key}" if section else key
            for section, keys in new.items()
            for key, value in keys.items()
            if old[section].get(key) != value
        ]
        if differing:
            raise NmtError(
                f"{self.folder}: the recipe changed since the checkpoint in "
                + ", ".join(differing),
                "set them back, or start a new run without --resume",
            )
        if self.prepared_key != prepared_key:
            raise NmtError(
                f"{self.folder}: the prepared data changed since the checkpoint",
                "restore it, or start a new run without --resume",
            )
        return replace(self, recipe=recipe)


def read_log(path: Path) -> list[dict[str, Any]]:
    """A log.jsonl's records, but for a line that is just being written or is damaged.

    Lines end at LF alone: sample translations may hold what ``str.splitlines`` splits at too.

    Raises:
        NmtError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    found = []
    for line in text.split("\n"):
        try:
            record = json.loads(line)
            found += [record] if type(record["step"]) is int else []
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _guarded(recipe: Recipe) -> dict[str, dict[str, object]]:
    """The recipe's keys that may not change on resume, by section ("" for its top)."""
    guarded: dict[str, dict[str, object]] = {"": {}}
    ends = recipe.training.schedule != "inverse-sqrt"
    for section, value in asdict(recipe).items():
        if not isinstance(value, dict):
            guarded[""][section] = value
            continue
        safe = SAFE_TO_CHANGE.get(section, ())
        if safe is not None:
            guarded[section] = {key: each for key, each in value.items() if key not in safe}
    if ends:
        guarded["training"]["max_steps"] = recipe.training.max_steps
    return guarded
