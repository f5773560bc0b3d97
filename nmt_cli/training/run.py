"""A run: the folder that holds everything about one training.

run.json       format version, vocabulary sizes, key and pairs of the prepared data, devices
recipe.toml    the recipe that was used, with every default
tokenizer/     a copy of the tokenizers
held_out.*     development lines, used to verify exports
checkpoints/   the newest checkpoints: step-00001000.npz etc.
best.npz       the checkpoint with the best validation score
average.npz    the mean of the newest checkpoints, with training.average
log.jsonl      one JSON object per log line or validation
tensorboard/   the same for TensorBoard, with sample translations
"""

import math
import shutil
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.card import LICENCE, describe_system
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, NmtError, OptionError, OutputError
from nmt_cli.files import locked, read_record, replacing_folder, write_json
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.lines import read_lines, write_lines
from nmt_cli.text.tokenizer import TokenizerPair, load_tokenizers
from nmt_cli.training import RUN
from nmt_cli.training.checkpoint import average_checkpoints, read_checkpoint
from nmt_cli.training.log import read_log

FORMAT = 2
HELD_OUT = ("held_out.source.txt", "held_out.target.txt")
HELD_OUT_LINES = 1000

# Step of an early checkpoint, for trainings that are killed before the first scheduled one, which
# replaces it.
FIRST_CHECKPOINT = 20

# Keys that may change when a run is resumed; None: the whole table.
SAFE_TO_CHANGE = {
    "training": (
        "max_steps",  # these two: unless the schedule ends there
        "max_epochs",
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
    # The key of the prepared data covers these.
    "data": ("root", "tfds_dir", "train", "synthetic", "dev", "test", "tsv_columns", "sources"),
}

# Validation scores in log.jsonl: their names, and 1 if larger is better, else -1.
_SCORES = {
    "validation_bleu": ("BLEU", 1),
    "validation_chrf": ("chrF", 1),
    "validation_accuracy": ("accuracy", 1),
    "validation_loss": ("loss", -1),
}


@dataclass(frozen=True)
class Quantized:
    """The 8 bits of a matrix, of 1 sign, as the file had them that a model was imported from.

    Attributes:
        size: of its inputs' values; larger ones are clipped.
        steps: between the numbers that it has, for each of several equal parts of its columns.
    """

    size: float
    steps: list[float]


@dataclass(frozen=True)
class _Record:
    """The content of run.json, beside its format.

    Attributes:
        prepared_key: key of the data that the run trains on.
        devices: number of devices, of all processes, that the run began on.
        pairs: number of training pairs from each corpus.
        initial: "name", "steps" and "sources" of the run whose weights this one began with.
        quantization: by name of the weight, of an imported model that was stored in 8 bits.
    """

    source_vocab: int
    target_vocab: int
    prepared_key: str
    devices: int = 1
    pairs: dict[str, int] = field(default_factory=dict)
    initial: dict[str, Any] = field(default_factory=dict)
    quantization: dict[str, Quantized] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Run(_Record):
    """A run folder."""

    folder: Path
    recipe: Recipe

    @classmethod
    def create(
        cls,
        folder: Path,
        recipe: Recipe,
        prepared: Prepared,
        devices: int = 1,
        initial: dict[str, Any] | None = None,
    ) -> "Run":
        """Make a new run folder, replacing an existing one."""
        pair = prepared.tokenizers()
        sizes = pair.source.vocab_size, pair.target.vocab_size
        record = *sizes, prepared.key, devices, prepared.pairs, initial or {}
        run = cls(*record, folder=folder, recipe=recipe)
        dev = prepared.text("dev")
        with replacing_folder(folder, RUN) as work:
            tokenizer = prepared.folder / "tokenizer"
            replace(run, folder=work).write(tokenizer, dev.source, dev.target)
        return run

    def write(self, tokenizer: Path, source: Sequence[str], target: Sequence[str]) -> None:
        """Fill the empty run folder: record, recipe, tokenizers and the first held-out lines."""
        values = {item.name: getattr(self, item.name) for item in fields(_Record)}
        values["quantization"] = {path: asdict(form) for path, form in self.quantization.items()}
        shutil.copytree(tokenizer, self.folder / "tokenizer")
        write_lines(self.folder / HELD_OUT[0], source[:HELD_OUT_LINES])
        write_lines(self.folder / HELD_OUT[1], target[:HELD_OUT_LINES])
        (self.folder / "recipe.toml").write_text(self.recipe.dump(), encoding="utf-8")
        write_json(self.folder / RUN, {"format": FORMAT, **values})

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run folder."""
        hint = "train first, with nmt train"
        if (folder / MANIFEST).exists():
            hint = "it is a bundle; nmt import makes a run of it"
        record = read_record(folder / RUN, _Record, FORMAT, "a run", hint)
        return cls(**vars(record), folder=folder, recipe=load_recipe(folder / "recipe.toml"))

    def checkpoint(self, step: int) -> Path:
        """Return the path of a step's checkpoint."""
        return self.folder / "checkpoints" / f"step-{step:08}.npz"

    def checkpoints(self) -> list[Path]:
        """Return the checkpoints of single steps, oldest first."""
        return sorted(self.folder.glob(f"checkpoints/step-{'[0-9]' * 8}.npz"))

    def regular_checkpoints(self) -> list[Path]:
        """Return the newest checkpoint and the scheduled ones before it, oldest first.

        A checkpoint that a signal left between two scheduled ones does not count once there is a
        newer one: a training without interruptions would not have it.
        """
        *older, newest = self.checkpoints()
        return [*(path for path in older if self._is_scheduled(int(path.stem[5:]))), newest]

    def is_due(self, step: int) -> bool:
        """Whether a checkpoint is written after a step."""
        return step == FIRST_CHECKPOINT or self._is_scheduled(step)

    def _is_scheduled(self, step: int) -> bool:
        training = self.recipe.training
        periods = training.validate_every, training.checkpoint_every
        return any(period and step % period == 0 for period in periods)

    def prune(self) -> None:
        """Delete incomplete files, and old checkpoints beyond ``training.keep``."""
        # Keep both sets: the checkpoint of a signal must not replace a scheduled one, and a change
        # of the schedule must not remove all checkpoints before it.
        keep, checkpoints = self.recipe.training.keep, self.checkpoints()
        regular = self.regular_checkpoints()
        early = {self.checkpoint(FIRST_CHECKPOINT)}.difference(regular)
        kept = {*checkpoints[-keep:], *regular[-keep:]} - early
        incomplete = [*self.folder.glob("checkpoints/.*.npz*"), *self.folder.glob(".*.npz*")]
        for path in [*incomplete, *(path for path in checkpoints if path not in kept)]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()

    @property
    def weights(self) -> int:
        """Number of the model's weights."""
        return self.recipe.model.count_parameters(self.source_vocab, self.target_vocab)

    @property
    def last(self) -> Path:
        """The newest checkpoint; the path of step 0 if there is none."""
        return (self.checkpoints() or [self.checkpoint(0)])[-1]

    @property
    def best(self) -> Path:
        """The checkpoint with the best validation score."""
        return self.folder / "best.npz"

    @property
    def average(self) -> Path:
        """The mean of the newest checkpoints."""
        return self.folder / "average.npz"

    @property
    def preferred(self) -> Path:
        """The checkpoint to use by default: the best, the average, or the last."""
        existing = [path for path in (self.best, self.average) if path.exists()]
        return existing[0] if existing else self.last

    def provenance(self) -> dict[str, Any]:
        """Return what the weights were trained on: corpora, pairs, licences, seed.
        "sources" include those of the initial weights."""
        data = self.recipe.data
        names = dict.fromkeys([*self.pairs, *data.sources])
        sources = [
            {"corpus": name, "pairs": self.pairs.get(name), "source": data.sources.get(name)}
            for name in names
        ]
        # Different text may have the same name; text of the same origin is listed once.
        known = {(row["corpus"], row["source"]) for row in sources if row["source"]}
        sources += [
            row
            for row in self.initial.get("sources", ())
            if row not in sources and (row["corpus"], row["source"]) not in known
        ]
        record = {"corpora": [*data.train, *data.synthetic], "sources": sources}
        if self.initial:
            record["initial"] = {name: self.initial[name] for name in ("name", "steps")}
        return {**record, "seed": self.recipe.seed}

    def tokenizers(self) -> TokenizerPair:
        """Load the run's copy of the tokenizers."""
        return load_tokenizers(self.folder / "tokenizer")

    def held_out(self) -> tuple[list[str], list[str]]:
        """Read source and target lines that training does not use."""
        return read_lines(self.folder / HELD_OUT[0]), read_lines(self.folder / HELD_OUT[1])

    def check_resumable(self, recipe: Recipe, prepared_key: str) -> "Run":
        """Return the run with a new recipe to resume it with."""
        if not recipe.training.batch_tokens:  # 0: keep the size that was measured
            tokens = self.recipe.training.batch_tokens
            recipe = replace(recipe, training=replace(recipe.training, batch_tokens=tokens))
        old, new = _guarded(self.recipe), _guarded(recipe)
        differing = [key for key, value in new.items() if old.get(key) != value]
        if differing:
            reason = f"the recipe changed since the checkpoint in {', '.join(differing)}"
            hint = "change it back, or start a new run with `force`"
            raise ModelError(f"{self.folder}: {reason}", hint)
        if self.prepared_key != prepared_key:
            reason = f"{self.folder}: the prepared data changed since the checkpoint"
            raise ModelError(reason, "restore it, or start a new run with `force`")
        return replace(self, recipe=recipe)


def _guarded(recipe: Recipe) -> dict[str, object]:
    """Return the keys that must not change when a run is resumed."""
    guarded: dict[str, object] = {}
    for section, value in asdict(recipe).items():
        safe = SAFE_TO_CHANGE.get(section, ())
        if not isinstance(value, dict):
            guarded[section] = value
        elif safe is not None:
            guarded |= {f"{section}.{key}": value[key] for key in value if key not in safe}
    if recipe.training.schedule_ends:
        guarded["training.max_steps"] = recipe.training.max_steps
        guarded["training.max_epochs"] = recipe.training.max_epochs
    return guarded


def average_run(
    run: Run,
    last: int | None = None,
    checkpoints: Sequence[Path] = (),
    output: Path | None = None,
    force: bool = False,
) -> tuple[Path, list[Path]]:
    """Average ``checkpoints`` or a run's newest (Vaswani et al. 2017, section 6.1). Returns the
    file written, by default the run's average.npz, and the checkpoints averaged."""
    if last and checkpoints:
        raise OptionError("give one of `last` and `checkpoint`")
    paths = list(checkpoints) or run.checkpoints()[-(last or 0) :]
    needed = max(2, last or 0)
    if len(paths) < needed:
        reason = f"{run.folder}: {len(paths)} checkpoint(s) to average, {needed} needed"
        hint = "train with a larger training.keep, or name files with `checkpoint`"
        raise ModelError(reason, hint)
    output = output or run.average
    is_inside = run.folder.resolve() in output.resolve().parents
    with locked(run.folder) if is_inside else nullcontext():
        if output.exists() and not force:
            raise OutputError(f"{output}: already exists", "replace it with `force`")
        average_checkpoints(paths, output)
    return output, paths


def describe_run(folder: Path) -> dict[str, Any]:
    """Describe a run and its training, for JSON.

    Weights are not read: "damaged" lists checkpoints whose step cannot be read. "steps" and
    "seconds" are those of the checkpoint with the most steps, None if there is none.
    """
    run = Run.open(folder)
    recipe = run.recipe
    vocabulary = {"source": run.source_vocab, "target": run.target_vocab}
    languages = recipe.data.source, recipe.data.target
    files = {}
    for path in sorted(folder.rglob("*")):
        # Names that begin with a dot are half-written; a training may delete checkpoints meanwhile.
        with suppress(FileNotFoundError):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and "/." not in f"/{name}":
                files[name] = path.stat().st_size
    checkpoints: list[dict[str, Any]] = []
    for path in (*run.checkpoints(), run.average, run.best):
        name = path.relative_to(folder).as_posix()
        if name in files:
            row = {"file": name, "bytes": files[name], "step": None, "seconds": None}
            with suppress(NmtError):
                _, state = read_checkpoint(path, only_state=True)
                row |= {"step": state.step, "seconds": state.seconds}
            checkpoints.append(row)
    readable = [row for row in checkpoints if row["step"] is not None]
    last = max(readable, key=lambda row: row["step"], default={"step": None, "seconds": None})
    return {
        "path": str(folder),
        "kind": "run",
        "name": recipe.label,
        **describe_system(recipe.model, recipe.decoding, languages, vocabulary),
        "precision": recipe.training.precision,
        "bytes": sum(files.values()),
        "files": files,
        "damaged": [row["file"] for row in checkpoints if row["step"] is None],
        "steps": last["step"],
        "seconds": last["seconds"],
        "checkpoints": checkpoints,
        "preferred": run.preferred.relative_to(folder).as_posix() if checkpoints else None,
        "scores": _best_scores(folder),
        "provenance": run.provenance(),
        "licence": LICENCE,
        "data": asdict(recipe.data),
        "tokenizer": asdict(recipe.tokenizer),
        "training": asdict(recipe.training),
    }


def _best_scores(folder: Path) -> list[dict[str, Any]]:
    """Return the best value of each validation score and the first step that reached it."""
    records, scores = read_log(folder), []
    for key, (name, sign) in _SCORES.items():
        values = [record for record in records if isinstance(record.get(key), float)]
        values = [record for record in values if math.isfinite(record[key])]
        if values:
            best = max(values, key=lambda record: sign * record[key])
            row = {"set": "validation", "metric": name, "value": best[key], "step": best["step"]}
            scores.append(row)
    return scores
