"""Measure the sizes of the activations that each product reads, on text.

With them, quantized graphs have one constant scale per product. Whatever is larger is clipped, so
the size chosen is not the largest but the one with the least mean square error (Banner et al. 2019,
https://arxiv.org/abs/1810.05723, section 3). A row's result still depends only on that row.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle import ENCODER
from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.export.onnx.quantize import MAX_SIGNED, MAX_UNSIGNED
from nmt_cli.export.onnx.weights import serialized
from nmt_cli.recipe.model import ModelConfig
from nmt_cli.text.tokenizer import START_ID

# Candidate sizes, as fractions of the maximum.
SHARES = np.linspace(0.2, 1.0, 33)
# A product whose mean square error exceeds this share of the mean square keeps a scale per row.
MAX_ERROR = 1e-3

Pairs = Iterable[tuple[list[int], list[int]]]
Rows = NDArray[np.float32]


def calibrate(
    models: Mapping[str, ir.Model], config: ModelConfig, pairs: Pairs
) -> dict[str, dict[str, float]]:
    """Return the sizes to represent, by file name and name of the matrix.

    Products with a large error are left out.

    Args:
        models: by file name: the encoder, and the decoder's steps, which all get the same inputs.
        pairs: source ids with END and target ids without, some 1,000 tokens or more.
    """
    products = {name: dict(_products(model)) for name, model in models.items()}
    sessions = {name: _session(model, products[name].values()) for name, model in models.items()}
    seen: dict[tuple[str, str], list[Rows]] = {}

    def run(name: str, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        session = sessions[name]
        read = {value.name: inputs[value.name] for value in session.get_inputs()}
        names = [value.name for value in session.get_outputs()]
        outputs = dict(zip(names, session.run(names, read), strict=True))
        for matrix, value in products[name].items():
            rows = outputs[value].reshape(-1, outputs[value].shape[-1])
            seen.setdefault((name, matrix), []).append(rows)
        return outputs

    steps = [*models.keys() - {ENCODER}]
    shapes = config.caches()
    specs = [TensorSpec(name, "float", shape) for name, shape in shapes.items()]
    for source, target in pairs:
        encoded = run(ENCODER, {"source": np.array([source], np.int32)})
        columns = len(target) + 1
        sizes = {"B": 1, "P": columns}
        caches = {spec.name: np.zeros(spec.sized(sizes), np.float32) for spec in specs}
        for step, token in enumerate([START_ID, *target]):
            inputs = {
                "tokens": np.array([[token]], np.int32),
                "position": np.array([step], np.int32),
                "ancestry": np.arange(columns)[None, None] <= step,
                "write_at": np.array([step], np.int64),
            }
            outputs = [run(name, {**encoded, **caches, **inputs}) for name in steps]
            caches = {name: outputs[0][f"new_{name}"] for name in caches}
    best: dict[str, dict[str, float]] = {name: {} for name in models}
    for (name, matrix), rows in seen.items():
        size, error = best_size(np.concatenate(rows))
        if error <= MAX_ERROR:
            best[name][matrix] = size
    return best


def _products(model: ir.Model) -> Iterator[tuple[str, str]]:
    """Yield the names of each constant matrix and of the value that it is multiplied with."""
    for node in model.graph:
        if node.op_type != "MatMul":
            continue
        value, matrix = node.inputs
        if matrix.producer() and matrix.producer().op_type == "Transpose":
            matrix = matrix.producer().inputs[0]
        if matrix.is_initializer() and matrix.shape.rank() == 2:
            yield matrix.name, value.name


def _session(model: ir.Model, names: Iterable[str]) -> Any:
    observed = model.clone()
    values = ir.convenience.create_value_mapping(observed.graph)
    returned = {value.name for value in observed.graph.outputs}
    observed.graph.outputs.extend(values[name] for name in {*names} - returned)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # values without a known shape are no concern
    return onnxruntime.InferenceSession(
        serialized(observed), options, providers=["CPUExecutionProvider"]
    )


def best_size(values: Rows) -> tuple[float, float]:
    """Return the size with the least mean square error, and the error as a share of the mean
    square."""
    largest = MAX_UNSIGNED if values.min() >= 0 else MAX_SIGNED
    top, power = float(np.abs(values).max()), float(np.square(values).mean())
    if not top:
        return 1.0, 0.0

    def error(size: float) -> float:
        step = np.float32(size / largest)
        steps = np.clip(np.rint(values / step), -largest - 1, largest)
        return float(np.square(values - steps * step).mean())

    size = min((float(share * top) for share in SHARES), key=error)
    return size, error(size) / power
