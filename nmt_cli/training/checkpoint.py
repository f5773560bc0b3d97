"""Checkpoints, the weights and the state of a training in one file each, and their averages.

A checkpoint is an .npz archive without pickle; CRC-32 sums reveal truncation and flipped bits.
It is written under another name, then renamed:

    weights/PATH      float32, each weight of the model
    average/PATH      float32, its moving average, with training.ema
    random/N          state of the N-th random generator
    optimizer/PATH    each other variable of the optimizer
    progress          JSON (uint8): step, batch position, seconds, best score
"""

import json
import logging
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import ModelError, NmtError, first_line
from nmt_cli.files import replacing_path

logger = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TrainingState:
    """How far a training has come: ``epoch`` and ``index`` are the position of the next batch,
    ``seconds`` is the time of all sessions, ``worse`` counts validations since the best one."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    validated: int = 0
    worse: int = 0


def save_checkpoint(path: Path, model: Any, state: TrainingState) -> None:
    """Write model, optimizer and state."""
    arrays = {name: np.asarray(variable) for name, variable in _variables(model).items()}
    for name, array in arrays.items():
        if name.startswith("weights/") and not np.isfinite(array).all():
            reason = f"{name.removeprefix('weights/')} is not finite after step {state.step:,}"
            hint = "start again with a lower training.learning_rate or with training.clip_norm"
            raise NmtError(reason, hint)
    write_checkpoint(path, arrays, state)


def load_checkpoint(path: Path, model: Any, training: bool) -> TrainingState:
    """Set a model's weights, and with ``training`` its random and optimizer states.
    Without ``training``, moving averages are used as weights if the file has any."""
    arrays, state = read_checkpoint(path)
    variables = _variables(model)
    if not training:
        variables = {f"weights/{weight.path}": weight for weight in model.weights}
        arrays = inference_weights(arrays)
    check_match(path, variables, arrays)
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return state


def check_size(path: Path, weights: int) -> None:
    """Check that a checkpoint is large enough for a model before the model is built: a recipe of a
    few lines could describe one that fills the memory."""
    with _failures(path), zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in _entries(archive))
    if size < 4 * weights:
        hint = f"it has {size:,} bytes, and the recipe's model has {weights:,} weights in float32"
        raise ModelError(f"{path}: checkpoint of a different model", hint)


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("is compressed")  # and could be larger than memory
    return entries


def read_checkpoint(path: Path, only_state: bool = False) -> tuple[Arrays, TrainingState]:
    """Read the arrays and the state of a checkpoint. Reading only the state is fast at any size."""
    with _failures(path), np.load(path, allow_pickle=False) as archive:
        _entries(archive.zip)
        state = TrainingState(**json.loads(archive["progress"].tobytes()))
        names = [] if only_state else [name for name in archive if name != "progress"]
        return {name: archive[name] for name in names}, state


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ModelError(f"{path}: no such checkpoint", "train first, with nmt train") from None
    except Exception as error:  # zipfile and numpy raise many types for damaged files
        reason = f"{path}: damaged checkpoint ({first_line(error)})"
        raise ModelError(reason, "use another checkpoint of the run, or train again") from None


def inference_weights(arrays: Arrays) -> Arrays:
    """Return the weights to translate with: the moving averages if there are any."""
    return {
        f"weights/{name.partition('/')[2]}": arrays[name]
        for prefix in ("weights/", "average/")  # averages replace weights of the same name
        for name in arrays
        if name.startswith(prefix)
    }


def moving_averages(optimizer: Any) -> list[Any]:
    """Return an optimizer's moving averages of the trainable weights, in their order, if any."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return list(getattr(inner, "_model_variables_moving_average", []))


def write_checkpoint(path: Path, arrays: Arrays, state: TrainingState) -> None:
    """Write arrays and state; see :func:`save_checkpoint`."""
    record = np.frombuffer(json.dumps(asdict(state)).encode(), np.uint8)
    with replacing_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays, progress=record)


def _variables(model: Any) -> dict[str, Any]:
    """Return all state of a model, compiled or not, under stable names."""
    variables = {f"weights/{weight.path}": weight for weight in model.weights}
    # Seed generators are numbered within a process; only their order is stable.
    seeds = [variable for variable in model.variables if "seed_generator" in variable.path]
    variables |= {f"random/{number}": seed for number, seed in enumerate(seeds)}
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return variables
    averages = moving_averages(optimizer)
    pairs = zip(model.trainable_weights, averages, strict=True) if averages else ()
    variables |= {f"average/{weight.path}": average for weight, average in pairs}
    averaged = {id(average) for average in averages}
    others = [variable for variable in optimizer.variables if id(variable) not in averaged]
    for number, variable in enumerate(others):
        # The path begins with the optimizer's name, which may be numbered. Some of Nadam's
        # variables have only a number as their name; their order is stable.
        name = variable.path.partition("/")[2] or f"unnamed_{number}"
        variables[f"optimizer/{name}"] = variable
    return variables


def check_match(path: Path, variables: Mapping[str, Any], arrays: Arrays) -> None:
    """Check that a checkpoint has an array of the same name and shape for each variable."""
    model, file = (
        {f"{name} {tuple(value.shape)}" for name, value in side.items()}
        for side in (variables, arrays)
    )
    different = {"only the file has": file - model, "only the model has": model - file}
    differences = [
        f"{label} {', '.join(sorted(names)[:3])}" + f" and {len(names) - 3} more" * (len(names) > 3)
        for label, names in different.items()
        if names
    ]
    if differences:
        raise ModelError(f"{path}: checkpoint of a different model", "; ".join(differences))


def average_checkpoints(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of several checkpoints' weights, with the state of the last one."""
    total: dict[str, NDArray[np.float64]] = {}
    state = TrainingState()
    for path in paths:
        arrays, state = read_checkpoint(path)
        weights = inference_weights(arrays)
        check_match(path, total or weights, weights)
        for name, weight in weights.items():
            total[name] = total.get(name, 0.0) + weight.astype(np.float64) / len(paths)
    mean = {name: weight.astype(np.float32) for name, weight in total.items()}
    write_checkpoint(output, mean, state)


def undamaged(paths: Sequence[Path], count: int) -> list[Path]:
    """Return the last ``count`` checkpoints that can be read, or the last path if none can."""
    readable: list[Path] = []
    for path in reversed(paths):
        try:
            read_checkpoint(path)
        except NmtError as error:
            logger.warning("%s; left out of the average", error.message)
        else:
            readable.insert(0, path)
        if len(readable) == count:
            break
    return readable or list(paths[-1:])
