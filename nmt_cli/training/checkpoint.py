"""Checkpoints and their averages: one file each, written under another name, then renamed.

A checkpoint is an .npz archive without pickle; CRC-32 sums reveal truncation and flipped bits:

    weights/PATH      float32, each weight of the model
    average/PATH      float32, its moving average, with training.ema
    random/N          state of the N-th random generator
    optimizer/PATH    each other variable of the optimizer
    progress          JSON (uint8): step, batch position, seconds, best score
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError, OptionError, Say, first_line
from nmt_cli.files import replacing_path
from nmt_cli.lock import locked
from nmt_cli.training.run import Run

Arrays = dict[str, NDArray[Any]]

# Bytes for each weight: itself, its average, up to three states of the optimizer, accumulated
# gradients, all in float32.
_LARGEST = 4 * 6
_REST = 1 << 20  # bytes of all that is not a weight's


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


def check_size(path: Path, weights: int) -> None:
    """Compare the sizes that a checkpoint declares with a model's number of weights.

    An archive of little more than zeros could fill the memory, and a recipe of a few lines could
    describe a model that does.

    Raises:
        NmtError: the file is missing, damaged, or from another model.
    """
    most, ours = _LARGEST * weights + _REST, 0
    with _failures(path):
        size = path.stat().st_size
        if size <= most:  # otherwise, not even its table of contents is read
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
            size = sum(each.file_size for each in entries)
            ours = sum(each.file_size for each in entries if each.filename.startswith("weights/"))
    if size > most or ours < weights:  # a smaller difference is for check_match, which names it
        raise NmtError(
            f"{path}: checkpoint of a different model",
            f"it has {size:,} bytes, but the recipe's model has {weights:,} weights",
        )


def read_checkpoint(path: Path, only_progress: bool = False) -> tuple[Arrays, Progress]:
    """Read the arrays and the progress of a checkpoint; only the progress is fast for any size.

    Raises:
        NmtError: the file is missing or damaged.
    """
    with _failures(path), np.load(path, allow_pickle=False) as archive:
        if any(each.compress_type != zipfile.ZIP_STORED for each in archive.zip.infolist()):
            raise ValueError("is compressed")  # and could be larger than memory
        progress = Progress(**json.loads(archive["progress"].tobytes()))
        names = [] if only_progress else [each for each in archive if each != "progress"]
        return {name: archive[name] for name in names}, progress


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise NmtError(f"{path}: no such checkpoint", "train first, with nmt train") from None
    except Exception as error:  # zipfile and numpy raise many kinds for damaged files
        raise NmtError(
            f"{path}: damaged checkpoint ({first_line(error)})",
            "use another checkpoint of the run, or train again",
        ) from None


def inference_weights(arrays: Arrays) -> Arrays:
    """Return the weights to translate with: the moving averages if there are any."""
    return {
        f"weights/{name.partition('/')[2]}": arrays[name]
        for kind in ("weights/", "average/")  # of the same name, the later one is kept
        for name in arrays
        if name.startswith(kind)
    }


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


def average_run(
    run: Run,
    last: int | None = None,
    checkpoints: Sequence[Path] = (),
    output: Path | None = None,
    force: bool = False,
) -> tuple[Path, list[Path]]:
    """Average checkpoints of a run (Vaswani et al. 2017, section 6.1).

    Args:
        last: number of its newest checkpoints to average; None: all.
        checkpoints: average these files instead.
        output: checkpoint to write; None: the run's average.npz.
        force: replace an existing file.

    Returns:
        The file written, and the checkpoints averaged.

    Raises:
        OptionError: both ``last`` and ``checkpoints`` are given.
        NmtError: there are too few checkpoints; the output exists; it is in the run's folder and
            that is in use; as :func:`average_checkpoints`.
    """
    if last and checkpoints:
        raise OptionError("give one of `last` and `checkpoint`")
    paths = list(checkpoints) or run.checkpoints()[-(last or 0) :]
    needed = max(2, last or 0)
    if len(paths) < needed:
        raise NmtError(
            f"{run.folder}: {len(paths)} checkpoint(s) to average, {needed} needed",
            "train with a larger training.keep, or name files with --checkpoint",
        )
    for path in paths:
        check_size(path, run.weights)
    place = output or run.average
    inside = run.folder.resolve() in place.resolve().parents
    with locked(run.folder) if inside else nullcontext():
        if place.exists() and not force:
            raise NmtError(f"{place}: already exists", "replace it with --force")
        average_checkpoints(paths, place)
    return place, paths


def average_checkpoints(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of several checkpoints' weights, for translation and export only.

    The progress is that of the last checkpoint.

    Raises:
        NmtError: a file is missing, damaged, or of a different model; the output cannot be
            written.
    """
    total: dict[str, NDArray[np.float64]] = {}
    progress = Progress()
    for path in paths:
        arrays, progress = read_checkpoint(path)
        weights = inference_weights(arrays)
        check_match(path, total or weights, weights)
        for name, each in weights.items():
            total[name] = total.get(name, 0.0) + each.astype(np.float64) / len(paths)
    mean = {name: each.astype(np.float32) for name, each in total.items()}
    write_checkpoint(output, mean, progress)


def undamaged(paths: Sequence[Path], count: int, say: Say) -> list[Path]:
    """Return the last ``count`` of the checkpoints that can be read; the last one if none can."""
    found: list[Path] = []
    for path in reversed(paths):
        try:
            read_checkpoint(path)
        except NmtError as error:
            say(f"{error.message}; left out of the average")
        else:
            found.insert(0, path)
        if len(found) == count:
            break
    return found or list(paths[-1:])
