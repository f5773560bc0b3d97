"""Checkpoints: one file each, written beside and renamed, without pickle.

A checkpoint is an .npz archive (its members carry CRC-32 sums, so truncation and bit rot
are noticed):

    weights/PATH      float32, each weight of the model
    average/PATH      float32, its moving average, where the recipe asks for one
    random/N          state of the N-th random generator
    optimizer/PATH    each other variable of the optimizer
    progress          JSON (uint8): step, batch position, seconds, best score
"""

import json
from collections.abc import Mapping, Sequence
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
        seconds: of training so far, all sittings together.
        best_score: of the validations so far, larger is better; None before the first.
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
        NmtError: a weight is not finite, or the file cannot be written; the old one stays
            whole.
    """
    arrays = {name: np.asarray(variable) for name, variable in _variables(model).items()}
    _check_finite(arrays, progress.step)
    _write(path, arrays, progress)


def note_progress(path: Path, progress: Progress) -> None:
    """Write another progress into a checkpoint, and leave its arrays as they are.

    Raises:
        NmtError: the file is missing or damaged, or cannot be written.
    """
    _write(path, read_checkpoint(path)[0], progress)


def load_checkpoint(path: Path, model: Any, training: bool) -> Progress:
    """Set a model's weights, and with ``training`` its random and optimizer states.

    Without ``training`` the moving averages take the weights' place where there are any.

    Raises:
        NmtError: the file is missing or damaged, or is another model's; then the hint
            lists what only the file and only the model has.
    """
    arrays, progress = read_checkpoint(path)
    wanted = _variables(model)
    if not training:
        wanted = {name: each for name, each in wanted.items() if name.startswith("weights/")}
        arrays = inference_weights(arrays)
    _check_match(path, wanted, arrays)
    for name, variable in wanted.items():
        variable.assign(arrays[name])
    return progress


def read_checkpoint(path: Path) -> tuple[Arrays, Progress]:
    """The arrays of a file, and its progress.

    Raises:
        NmtError: the file is missing or damaged.
    """
    arrays = _read(path)
    return arrays, _progress(path, arrays.pop("progress", None))


def read_progress(path: Path) -> Progress:
    """The progress of a file alone, which takes no time, however large the file.

    Raises:
        NmtError: the file is missing or damaged, as far as was read.
    """
    return _progress(path, _read(path, ("progress",)).get("progress"))


def inference_weights(arrays: Arrays) -> Arrays:
    """The weights to translate with: the moving averages where there are any."""
    weights = {name: each for name, each in arrays.items() if name.startswith("weights/")}
    averages = {
        name.replace("average/", "weights/", 1): each
        for name, each in arrays.items()
        if name.startswith("average/")
    }
    return weights | averages


def moving_averages(optimizer: Any) -> list[Any]:
    """A Keras optimizer's moving averages of the trainable weights, in their order, if any."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(inner, "_model_variables_moving_average", []))


def average_checkpoints(paths: Sequence[Path], output: Path) -> Progress:
    """Write the mean of several checkpoints' weights (Vaswani et al. 2017, section 6.1).

    Args:
        paths: oldest first; the progress is the last one's.
        output: a checkpoint to translate with and export, not to train on.

    Raises:
        NmtError: a file is missing, damaged or another model's; it cannot be written.
    """
    total: dict[str, NDArray[np.float64]] = {}
    progress = Progress()
    for path in paths:
        arrays, progress = read_checkpoint(path)
        weights = inference_weights(arrays)
        if total:
            _check_match(path, total, weights)
        for name, each in weights.items():
            total[name] = total.get(name, 0.0) + each.astype(np.float64) / len(paths)
    _write(output, {name: each.astype(np.float32) for name, each in total.items()}, progress)
    return progress


def _write(path: Path, arrays: Arrays, progress: Progress) -> None:
    record = np.frombuffer(json.dumps(asdict(progress)).encode(), np.uint8)
    with replacing_path(path) as beside, beside.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays, progress=record)


def _read(path: Path, wanted: Sequence[str] = ()) -> Arrays:
    """The arrays of a file; those wanted alone, if any are named."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if not wanted or name in wanted}
    except FileNotFoundError:
        raise NmtError(f"{path}: no such checkpoint", "train first, with nmt train") from None
    except Exception as error:  # whatever zipfile and numpy stumble over in a damaged file
        raise NmtError(
            f"{path}: damaged checkpoint ({str(error).partition(chr(10))[0] or error!r})",
            "use another checkpoint of the run, or train again",
        ) from None


def _progress(path: Path, record: NDArray[Any] | None) -> Progress:
    try:
        return Progress(**_renamed(json.loads(b"" if record is None else record.tobytes())))
    except (AttributeError, TypeError, ValueError):
        raise NmtError(f"{path}: damaged checkpoint (no progress record)") from None


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    """A progress record with the names of today: runs of format 1 scored by BLEU alone."""
    if "best_bleu" in record:
        record["best_score"] = record.pop("best_bleu")
    return record


def _variables(model: Any) -> dict[str, Any]:
    """All state of a compiled or bare model under stable names."""
    named = {f"weights/{each.path}": each for each in model.weights}
    weights = {id(each) for each in model.weights}
    # Paths of seed generators count up within a process; their order does not change.
    random = [each for each in model.variables if "seed_generator" in each.path]
    random = [each for each in random if id(each) not in weights]
    named |= {f"random/{number}": each for number, each in enumerate(random)}
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return named
    averages = moving_averages(optimizer)
    pairs = zip(model.trainable_weights, averages, strict=True) if averages else ()
    named |= {f"average/{weight.path}": average for weight, average in pairs}
    averaged = {id(each) for each in averages}
    others = [each for each in optimizer.variables if id(each) not in averaged]
    return named | _optimizer_variables(others)


def _optimizer_variables(variables: list[Any]) -> dict[str, Any]:
    """Optimizer variables by names that are the same in every process.

    Their paths begin with the optimizer's own name, which may be numbered; some (Nadam's) have
    no name but a number, and only their order can be relied on.
    """
    named: dict[str, Any] = {}
    for variable in variables:
        name = variable.path.partition("/")[2]
        named[f"optimizer/{name or f'unnamed_{len(named)}'}"] = variable
    return named


def _check_finite(arrays: Arrays, step: int) -> None:
    for name, each in arrays.items():
        if name.startswith("weights/") and not np.isfinite(each).all():
            raise NmtError(
                f"{name.removeprefix('weights/')} is not finite after step {step:,}",
                "begin anew with a lower training.learning_rate or a training.clip_norm",
            )


def _check_match(path: Path, wanted: Mapping[str, Any], arrays: Arrays) -> None:
    only_file = sorted(arrays.keys() - wanted.keys())
    only_model = sorted(wanted.keys() - arrays.keys())
    shapes = [
        f"{name} {tuple(arrays[name].shape)} against {tuple(wanted[name].shape)}"
        for name in sorted(wanted.keys() & arrays.keys())
        if tuple(arrays[name].shape) != tuple(wanted[name].shape)
    ]
    if only_file or only_model or shapes:
        parts = [
            f"only the file has {_some(only_file)}" if only_file else "",
            f"only the model has {_some(only_model)}" if only_model else "",
            f"shapes differ: {_some(shapes)}" if shapes else "",
        ]
        raise NmtError(
            f"{path}: the checkpoint of another model", "; ".join(part for part in parts if part)
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
