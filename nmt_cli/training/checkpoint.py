"""Checkpoints: one file each, written under another name and renamed, without pickle.

A checkpoint is an .npz archive; CRC-32 sums of its members reveal truncation and flipped bits:

    weights/PATH      float32, each weight of the model
    average/PATH      float32, its moving average, with training.ema
    random/N          state of the N-th random generator
    optimizer/PATH    each other variable of the optimizer
    progress          JSON (uint8): step, batch position, seconds, best score
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Progress:
    """How far a training has come.

    Attributes:
        step: optimizer steps taken.
        epoch, index: position of the next batch.
        seconds: training time so far, over all sessions.
        best_score: best validation score so far, larger is better; None before the first.
        validated: step of the last validation.
        worse: validations since the best one.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    validated: int = 0
    worse: int = 0


def save_checkpoint(path: Path, model: Any, progress: Progress) -> None:
    """Write model, optimizer and progress.

    Raises:
        NmtError: a weight is not finite, or the file cannot be written; an old file is kept.
    """
    arrays = {name: np.asarray(variable) for name, variable in _variables(model).items()}
    for name, each in arrays.items():
        if name.startswith("weights/") and not np.isfinite(each).all():
            raise NmtError(
                f"{name.removeprefix('weights/')} is not finite after step {progress.step:,}",
                "start again with a lower training.learning_rate or with training.clip_norm",
            )
    write_checkpoint(path, arrays, progress)


def load_checkpoint(path: Path, model: Any, training: bool) -> Progress:
    """Set a model's weights, and with ``training`` its random and optimizer states.

    Without ``training``, moving averages are used as weights if the file has any.

    Raises:
        NmtError: the file is missing, damaged, or from another model; then the hint lists what
            only the file has and what only the model has.
    """
    arrays, progress = read_checkpoint(path)
    wanted = _variables(model)
    if not training:
        wanted = {name: each for name, each in wanted.items() if name.startswith("weights/")}
        arrays = inference_weights(arrays)
    check_match(path, wanted, arrays)
    for name, variable in wanted.items():
        variable.assign(arrays[name])
    return progress


def read_checkpoint(path: Path, only_progress: bool = False) -> tuple[Arrays, Progress]:
    """Read the arrays and the progress of a checkpoint; only the progress is fast for any size.

    Raises:
        NmtError: the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            progress = Progress(**json.loads(archive["progress"].tobytes()))
            names = [] if only_progress else [each for each in archive if each != "progress"]
            return {name: archive[name] for name in names}, progress
    except FileNotFoundError:
        raise NmtError(f"{path}: no such checkpoint", "train first, with nmt train") from None
    except Exception as error:  # zipfile and numpy raise many kinds for damaged files
        raise NmtError(
            f"{path}: damaged checkpoint ({str(error).partition(chr(10))[0] or error!r})",
            "use another checkpoint of the run, or train again",
        ) from None


def inference_weights(arrays: Arrays) -> Arrays:
    """Return the weights to translate with: the moving averages if there are any."""
    weights = {name: each for name, each in arrays.items() if name.startswith("weights/")}
    averages = {
        name.replace("average/", "weights/", 1): each
        for name, each in arrays.items()
        if name.startswith("average/")
    }
    return weights | averages


def moving_averages(optimizer: Any) -> list[Any]:
    """Return an optimizer's moving averages of the trainable weights, in their order, if any."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(inner, "_model_variables_moving_average", []))


def write_checkpoint(path: Path, arrays: Arrays, progress: Progress) -> None:
    """Write arrays and progress; see :func:`save_checkpoint`."""
    record = np.frombuffer(json.dumps(asdict(progress)).encode(), np.uint8)
    with replacing_path(path) as beside, beside.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays, progress=record)


def _variables(model: Any) -> dict[str, Any]:
    """Return all state of a model, compiled or not, under stable names."""
    named = {f"weights/{each.path}": each for each in model.weights}
    # Seed generators are numbered within a process; only their order is stable.
    random = [each for each in model.variables if "seed_generator" in each.path]
    named |= {f"random/{number}": each for number, each in enumerate(random)}
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return named
    averages = moving_averages(optimizer)
    pairs = zip(model.trainable_weights, averages, strict=True) if averages else ()
    named |= {f"average/{weight.path}": average for weight, average in pairs}
    averaged = {id(each) for each in averages}
    others = [each for each in optimizer.variables if id(each) not in averaged]
    for number, each in enumerate(others):
        # The path begins with the optimizer's name, which may be numbered. Some of Nadam's
        # variables have only a number as their name; their order is stable.
        name = each.path.partition("/")[2] or f"unnamed_{number}"
        named[f"optimizer/{name}"] = each
    return named


def check_match(path: Path, wanted: Mapping[str, Any], arrays: Arrays) -> None:
    """Fail unless a checkpoint has the wanted arrays in the wanted shapes."""
    ours, theirs = (
        {f"{name} {tuple(each.shape)}" for name, each in side.items()} for side in (wanted, arrays)
    )
    if ours == theirs:
        return
    found = {"only the file has": theirs - ours, "only the model has": ours - theirs}
    differences = [
        f"{what} {', '.join(sorted(names)[:3])}" + f" and {len(names) - 3} more" * (len(names) > 3)
        for what, names in found.items()
        if names
    ]
    raise NmtError(f"{path}: checkpoint of a different model", "; ".join(differences))
