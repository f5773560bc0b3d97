"""Checkpoints: one file each, written beside and renamed, without pickle.

A checkpoint is an .npz archive (its members carry CRC-32 sums, so truncation and bit rot
are noticed):

    weights/PATH      float32, each weight of the model
    random/N          state of the N-th dropout's random generator
    optimizer/PATH    each variable of the optimizer
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
        seconds: of training so far, all sittings together.
        best_bleu: of the validations so far; -1 before the first.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0


def save_checkpoint(path: Path, model: Any, progress: Progress) -> None:
    """Write model, optimizer and progress.

    Raises:
        NmtError: it cannot be written; the old file stays whole.
    """
    arrays = {name: np.asarray(variable) for name, variable in _variables(model).items()}
    arrays["progress"] = np.frombuffer(json.dumps(asdict(progress)).encode(), np.uint8)
    with replacing_path(path) as beside, beside.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_checkpoint(path: Path, model: Any, training: bool) -> Progress:
    """Set a model's weights, and with ``training`` its random and optimizer states.

    Raises:
        NmtError: the file is missing or damaged, or is another model's; then the hint
            lists what only the file and only the model has.
    """
    arrays = _read(path)
    progress = arrays.pop("progress", np.zeros(0, np.uint8))
    wanted = _variables(model)
    if not training:
        wanted = {name: each for name, each in wanted.items() if name.startswith("weights/")}
        arrays = {name: each for name, each in arrays.items() if name.startswith("weights/")}
    _check_match(path, wanted, arrays)
    for name, variable in wanted.items():
        variable.assign(arrays[name])
    try:
        return Progress(**json.loads(progress.tobytes()))
    except (AttributeError, TypeError, ValueError):
        raise NmtError(f"{path}: damaged checkpoint (no progress record)") from None


def _read(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise NmtError(f"{path}: no such checkpoint", "train first, with nmt train") from None
    except Exception as error:  # whatever zipfile and numpy stumble over in a damaged file
        raise NmtError(
            f"{path}: damaged checkpoint ({str(error).partition(chr(10))[0] or error!r})",
            "use the other checkpoint of the run, or train again",
        ) from None


def _variables(model: Any) -> dict[str, Any]:
    """All state of a compiled or bare model under stable names."""
    named = {f"weights/{each.path}": each for each in model.weights}
    weights = {id(each) for each in model.weights}
    # Paths of seed generators count up within a process; their order does not change.
    random = [each for each in model.variables if "seed_generator" in each.path]
    random = [each for each in random if id(each) not in weights]
    named |= {f"random/{number}": each for number, each in enumerate(random)}
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        named |= {f"optimizer/{_shorter(each.path)}": each for each in optimizer.variables}
    return named


def _shorter(path: str) -> str:
    """An optimizer variable's path without the optimizer's own name, which may be numbered."""
    return path.partition("/")[2] or path


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
