"""Write imported models as runs, and import bundles."""

import logging
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from nmt_cli.bundle import DECODER, ENCODER, TOKENIZER, WEIGHTS
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.data.corpus import read_held_out
from nmt_cli.errors import ModelError, OutputError
from nmt_cli.files import locked, replacing_folder
from nmt_cli.host import import_keras
from nmt_cli.recipe.config import DataConfig, Recipe
from nmt_cli.text.tokenizer import load_tokenizers
from nmt_cli.training import RUN
from nmt_cli.training.run import Quantized, Run

Weights = dict[str, NDArray[np.float32]]
Shapes = Mapping[str, tuple[int, ...]]

# Git stores such a text in place of a large file, and Git LFS replaces it.
_POINTER = b"version https://git-lfs.github.com/spec/"

logger = logging.getLogger(__name__)


@contextmanager
def naming_pointers() -> Iterator[None]:
    """Say so where the file that an error begins with is a pointer of Git LFS."""
    try:
        yield
    except ModelError as error:
        path = Path(error.message.partition(": ")[0])
        if path.is_file():
            with path.open("rb") as stream:
                if stream.read(len(_POINTER)) == _POINTER:
                    reason = f"{path}: a Git LFS pointer in place of the file"
                    raise ModelError(reason, "fetch it, e.g. with git lfs pull") from None
        raise


def import_bundle(
    folder: Path, output: Path | None = None, dev: str | None = None, force: bool = False
) -> Path:
    """Make a run of a bundle, to train it further or to export it again; returns the run's folder.

    Raises:
        ModelError: the bundle is damaged, or does not record where its graphs store the weights.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    source, target = manifest.source_language, manifest.target_language
    recipe = Recipe(
        name=manifest.name.removesuffix(f"{source}-{target}").rstrip("-"),
        data=DataConfig(source=source, target=target),
        model=manifest.architecture,
        decoding=manifest.decoding,
    )
    provenance = manifest.provenance
    steps = provenance.get("steps", 0) + provenance.get("initial", {}).get("steps", 0)
    return write_run(
        folder,
        recipe,
        (manifest.vocabulary["source"], manifest.vocabulary["target"]),
        lambda target: shutil.copytree(folder / TOKENIZER, target, dirs_exist_ok=True),
        lambda shapes: bundle_weights(folder, manifest, shapes),
        sum(record.bytes for record in manifest.files.values()),
        output,
        dev,
        force,
        {"name": manifest.name, "steps": steps, "sources": provenance.get("sources", [])},
    )


def bundle_weights(folder: Path, manifest: Manifest, shapes: Shapes) -> Weights:
    """Read weights of a bundle, whose files have been checked, given their names and shapes."""
    graphs = {file: ir.load(folder / file).graph for file in (ENCODER, DECODER)}
    stored, weights = manifest.stored_weights, Weights()
    for name, shape in shapes.items():
        file, _, tensor = stored.tensors.get(name, "").partition(":")
        if not file:
            raise ModelError(
                f"{folder}: does not record where its graphs store {name}",
                "only Transformers with attention in the decoder can be imported; train from its "
                "run, with nmt train --init-from RUN",
            )
        try:
            values = _weight(graphs[file].initializers, tensor, math.prod(shape))
        except (KeyError, ValueError):
            raise ModelError(f"{folder}: {file} does not store {name} as recorded") from None
        if columns := stored.scaled.get(name):
            values[..., columns.start : columns.end] /= columns.factor
        if values.shape != shape:
            raise ModelError(f"{folder}: {name} has shape {values.shape}, not {shape}")
        weights[name] = values
    return weights


def _weight(tensors: dict[str, Any], name: str, size: int) -> NDArray[np.float32]:
    """Return a tensor of at most ``size`` numbers, given the initializers of its graph."""

    def array(suffix: str = "") -> NDArray[np.float32]:
        tensor = tensors[name + suffix].const_value
        if tensor.size > size or getattr(tensor, "location", WEIGHTS) != WEIGHTS:
            raise ValueError
        return tensor.numpy().astype(np.float32)

    if name in tensors:
        return array()
    if f"{name}_scales" in tensors:  # an embedding; each row has a scale
        return array("_int8") * array("_scales")[:, None]
    # A matrix; the scale of a column includes the scale of the input.
    product, *_ = tensors[f"{name}_int8"].consumers()  # several in tied layers
    scale = ir.convenience.get_const_tensor(product.inputs[0].producer().inputs[1])
    return array("_int8") * (array("_factors") / scale.numpy())


def _check_tokenizers(folder: Path, imported: Path) -> None:
    try:
        load_tokenizers(folder)
    except ModelError as error:
        reason = error.message.partition(": ")[2]
        raise ModelError(f"{imported}: its vocabulary {reason}", error.hint) from None


def write_run(
    imported: Path,
    recipe: Recipe,
    sizes: tuple[int, int],
    write_tokenizers: Callable[[Path], object],
    read_weights: Callable[[Shapes], Weights],
    stored: int,
    output: Path | None,
    dev: str | None,
    force: bool,
    initial: dict[str, Any] | None = None,
    quantization: dict[str, Quantized] | None = None,
) -> Path:
    """Write an imported model as a run; returns the run's folder.

    Args:
        imported: the folder of that model.
        sizes: of the source and target vocabularies.
        write_tokenizers: fills an empty folder.
        read_weights: returns the model's weights, given their names and shapes.
        stored: the number of values in the model's files.
        output: folder to write; None for one under runs/, named after the model.
        dev: corpus whose lines calibrate and verify exports of the run, as in data.dev.
        initial, quantization: see Run.
    """
    needed = recipe.model.count_parameters(*sizes)
    if needed > 4 * stored:  # before Keras takes memory for them
        reason = f"its settings need {needed:,} weights, its files have {stored:,} values"
        raise ModelError(f"{imported}: {reason}", "the files are damaged, or of different models")
    held_out = read_held_out(dev, recipe.data)
    folder = output or Path("runs", recipe.label)
    with locked(folder):
        if (folder / RUN).exists() and not force:
            raise OutputError(f"{folder}: a run already exists", "replace it with `force`")
        with replacing_folder(folder, RUN) as work, TemporaryDirectory() as tokenizers:
            write_tokenizers(Path(tokenizers))
            _check_tokenizers(Path(tokenizers), imported)
            details = initial or {}, quantization or {}
            run = Run(*sizes, "", 1, {}, *details, folder=work, recipe=recipe)
            run.write(Path(tokenizers), *held_out)
            import_keras()
            from nmt_cli.training.checkpoint import TrainingState, save_checkpoint
            from nmt_cli.training.model import new_model

            model = new_model(run)
            values = read_weights({weight.path: tuple(weight.shape) for weight in model.weights})
            for weight in model.weights:
                if not np.isfinite(values[weight.path]).all():
                    reason = f"{imported}: the values of {weight.path} are not finite"
                    raise ModelError(reason, "copy the model again")
                weight.assign(values[weight.path])
            save_checkpoint(run.best, model, TrainingState())
    logger.info(f"{sizes[1]:,} target tokens, {run.weights:,} weights")
    return folder
