"""The description of a run in plain values, as nmt_cli.bundle.description has of bundles."""

import math
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle.description import LICENCE, describe_system
from nmt_cli.errors import NmtError
from nmt_cli.training.checkpoint import read_progress
from nmt_cli.training.log import read_log
from nmt_cli.training.run import Run

# Validation scores in log.jsonl: their names, and 1 if larger is better, else -1.
_SCORES = {
    "validation_bleu": ("BLEU", 1),
    "validation_chrf": ("chrF", 1),
    "validation_accuracy": ("accuracy", 1),
    "validation_loss": ("loss", -1),
}


def describe_run(folder: Path) -> dict[str, Any]:
    """Describe a run and its training, for JSON.

    Weights are not read: "damaged" lists checkpoints whose step cannot be read. "steps" and
    "seconds" are those of the checkpoint with the most steps, None if there is none.

    Raises:
        NmtError: the folder is not a run, is damaged, or of a newer format.
    """
    run = Run.open(folder)
    recipe = run.recipe
    vocabulary = {"source": run.source_vocab, "target": run.target_vocab}
    languages = recipe.data.source, recipe.data.target
    files = _sizes(folder)
    checkpoints = _checkpoints(run, files)
    reached = [each for each in checkpoints if each["step"] is not None]
    last = max(reached, key=lambda each: each["step"], default={"step": None, "seconds": None})
    return {
        "path": str(folder),
        "kind": "run",
        "name": recipe.label,
        **describe_system(recipe.model, recipe.decoding, languages, vocabulary),
        "precision": recipe.training.precision,
        "bytes": sum(files.values()),
        "files": files,
        "damaged": [each["file"] for each in checkpoints if each["step"] is None],
        "steps": last["step"],
        "seconds": last["seconds"],
        "checkpoints": checkpoints,
        "preferred": _name(run, run.preferred) if checkpoints else None,
        "scores": _best_scores(folder),
        "provenance": {
            "corpora": [*recipe.data.train, *recipe.data.synthetic],
            "seed": recipe.seed,
        },
        "licence": LICENCE,
        "data": asdict(recipe.data),
        "tokenizer": asdict(recipe.tokenizer),
        "training": asdict(recipe.training),
    }


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of each file; files whose names begin with a dot are incomplete."""
    sizes = {}
    for path in sorted(folder.rglob("*")):
        # A running training may delete old checkpoints meanwhile.
        with suppress(FileNotFoundError):
            if path.is_file() and not path.name.startswith("."):
                sizes[path.relative_to(folder).as_posix()] = path.stat().st_size
    return sizes


def _checkpoints(run: Run, files: dict[str, int]) -> list[dict[str, Any]]:
    """List the checkpoints; step and seconds are None for damaged files."""
    found = []
    for path in (*run.checkpoints(), run.average, run.best):
        name = _name(run, path)
        if name not in files:
            continue
        row: dict[str, Any] = {"file": name, "bytes": files[name], "step": None, "seconds": None}
        with suppress(NmtError):
            progress = read_progress(path)
            row |= {"step": progress.step, "seconds": progress.seconds}
        found.append(row)
    return found


def _name(run: Run, path: Path) -> str:
    return path.relative_to(run.folder).as_posix()


def _best_scores(folder: Path) -> list[dict[str, Any]]:
    """Return the best value of each validation score and the first step that reached it."""
    best: dict[str, tuple[float, int]] = {}
    for record in read_log(folder):
        for key, (_, sign) in _SCORES.items():
            value = record.get(key)
            if not isinstance(value, float) or not math.isfinite(value):
                continue
            if key not in best or sign * value > sign * best[key][0]:
                best[key] = value, record["step"]
    return [
        {"set": "validation", "metric": name, "value": best[key][0], "step": best[key][1]}
        for key, (name, _) in _SCORES.items()
        if key in best
    ]
