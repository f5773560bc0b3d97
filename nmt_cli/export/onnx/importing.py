"""The job of ``nmt import`` for a bundle: its weights become those of a run.

Which tensor of a graph holds which weight depends on the architecture and on the graph pass. So a
model of the same config with random weights is converted in the same way, and its weights are
looked up in its graphs by value. The bundle's tensors of the same names hold the trained weights,
in int8 rounded to multiples of a scale.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from nmt_cli.bundle import DECODER, ENCODER, TOKENIZER
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_folder
from nmt_cli.frameworks import import_keras
from nmt_cli.lock import locked
from nmt_cli.recipe.config import DataConfig, Recipe
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.training import RUN
from nmt_cli.training.run import Run, read_held_out

Arrays = dict[str, NDArray[np.float32]]


def import_bundle(
    folder: Path,
    output: Path | None = None,
    dev: str | None = None,
    force: bool = False,
    say: Callable[[str], None] = print,
) -> Path:
    """Make a run of a bundle, to train it further or to export it again; returns the run's folder.

    Args:
        folder: the bundle.
        output: run folder to write; None for one under runs/, named after the model.
        dev: corpus whose lines calibrate and verify exports of the run, as in data.dev.
        force: replace an existing run.
        say: receives messages for the user.

    Raises:
        NmtError: the bundle is damaged, is not that of a Transformer with attention in its decoder,
            or was made by a version of nmt that wrote different graphs; ``dev`` cannot be read;
            the run exists already, is in use, or cannot be written.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    config = manifest.architecture
    if not (isinstance(config, TransformerConfig) and config.decoder == "attention"):
        raise NmtError(
            f"{folder}: only Transformers with attention in the decoder can be imported",
            "train from its run, with nmt train --init-from RUN",
        )
    recipe = _recipe(manifest)
    held_out = read_held_out(dev, recipe.data)
    place = output or Path("runs", recipe.label)
    with locked(place):
        if (place / RUN).exists() and not force:
            raise NmtError(f"{place}: a run already exists", "replace it with --force")
        with replacing_folder(place, RUN) as work:
            sizes = manifest.vocabulary["source"], manifest.vocabulary["target"]
            run = Run(work, recipe, *sizes, prepared_key="", initial=_origin(manifest))
            run.write(folder / TOKENIZER, *held_out)
            _write_weights(run, folder)
    say(f"{run.weights:,} weights, stored in {manifest.precision}")
    return place


def _origin(manifest: Manifest) -> dict[str, Any]:
    """What the weights were trained on, as a run records it."""
    known = manifest.provenance
    steps = known.get("steps", 0) + known.get("initial", {}).get("steps", 0)
    return {"name": manifest.name, "steps": steps, "sources": known.get("sources", [])}


def _recipe(manifest: Manifest) -> Recipe:
    """A recipe with what a bundle records of its own."""
    source, target = manifest.source_language, manifest.target_language
    return Recipe(
        name=manifest.name.removesuffix(f"{source}-{target}").rstrip("-"),
        data=DataConfig(source=source, target=target),
        model=manifest.architecture,
        decoding=manifest.decoding,
    )


def _write_weights(run: Run, folder: Path) -> None:
    """Build the run's model, set its weights and save them as its best checkpoint."""
    import_keras()
    from nmt_cli.export.onnx.graphs import make_graphs
    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.training.checkpoint import Progress, save_checkpoint
    from nmt_cli.training.model import new_model

    model, random = new_model(run), np.random.default_rng(0)
    for weight in model.weights:  # all different, unlike initial biases
        weight.assign(random.uniform(1, 2, weight.shape))
    graphs, _ = make_graphs(KerasStepModel(model).graph)
    ours = {name: _weights_of(graphs[name]) for name in (ENCODER, DECODER)}
    theirs = {name: _weights_of(onnx.load(folder / name)) for name in ours}
    for weight in model.weights:
        found = [
            (theirs[name][key], scale)
            for name, arrays in ours.items()
            for key, array in arrays.items()
            if (scale := _scale(array, np.asarray(weight))) is not None and key in theirs[name]
        ]
        if not found or found[0][0].shape != weight.shape:
            raise NmtError(
                f"{folder}: its graphs lack {weight.path} where this version of nmt writes it",
                "import it with the version that exported it (see its MODEL_CARD.md)",
            )
        values, scale = found[0]
        weight.assign(values / scale)
    save_checkpoint(run.best, model, Progress())


def _weights_of(proto: onnx.ModelProto) -> Arrays:
    """The float tensors of a graph by name, those in int8 or float16 as the floats they represent.

    Names have the number of a layer's call, which depends on what the process has built before;
    its rank is kept.
    """
    tensors = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    tensors |= {
        node.output[0]: numpy_helper.to_array(node.attribute[0].t)
        for node in proto.graph.node
        if node.op_type == "Constant"
    }
    steps = {
        node.output[0]: node.input[1]
        for node in proto.graph.node
        if node.op_type == "QuantizeLinear"
    }
    products = {
        node.input[1]: tensors[steps[node.input[0]]]
        for node in proto.graph.node
        if node.op_type == "MatMulInteger"
    }
    found = {}
    for name, values in tensors.items():
        plain = name.removesuffix("_int8")
        if plain == name and values.dtype in (np.float32, np.float16):
            found[name] = values.astype(np.float32)
        elif f"{plain}_scales" in tensors:  # an embedding; each row has a scale
            found[plain] = values * tensors[f"{plain}_scales"][:, None]
        elif f"{plain}_factors" in tensors:  # a matrix; each column's includes its input's
            found[plain] = values * (tensors[f"{plain}_factors"] / products[name])
    return _ranked(found)


def _ranked(arrays: Arrays) -> Arrays:
    """The arrays with the numbers in their names replaced by ranks."""
    numbers: dict[str, list[str]] = {}
    for name in sorted(arrays, key=lambda each: [int(part) for part in re.findall(r"\d+", each)]):
        numbers.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    return {
        f"{pattern} {rank}": arrays[name]
        for pattern, names in numbers.items()
        for rank, name in enumerate(names)
    }


def _scale(tensor: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """What a random weight's columns are multiplied with in a tensor; None: it is another's."""
    if tensor.shape != weight.shape:
        return None
    ratios = (tensor / weight).reshape(-1, weight.shape[-1] if weight.ndim else 1)
    scale = np.median(ratios, axis=0)
    few = len(np.unique(np.round(scale, 4))) <= 2  # attention's scale, and 1
    return scale if few and np.allclose(ratios, scale, rtol=1e-3) else None
