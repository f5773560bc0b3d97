"""The description of a run in plain values, as nmt_cli.bundle.card has of bundles."""

import math
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle.card import LICENCE, describe_system
from nmt_cli.errors import NmtError
from nmt_cli.training.checkpoint import read_checkpoint
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
    files = {}
    for path in sorted(folder.rglob("*")):
        # Names with a dot in front are half-written; a training may delete checkpoints meanwhile.
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
                _, progress = read_checkpoint(path, only_progress=True)
                row |= {"step": progress.step, "seconds": progress.seconds}
            checkpoints.append(row)
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
        reached = [each for each in records if isinstance(each.get(key), float)]
        reached = [each for each in reached if math.isfinite(each[key])]
        if reached:
            best = max(reached, key=lambda each: sign * each[key])
            row = {"set": "validation", "metric": name, "value": best[key], "step": best["step"]}
            scores.append(row)
    return scores
