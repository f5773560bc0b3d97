"""Sizes of the activations that each product reads, measured on text.

With them, quantized graphs have one constant scale per product. Whatever is larger is clipped, so
the size chosen is not the largest but the one with the least mean square error (Banner et al. 2019,
https://arxiv.org/abs/1810.05723, section 3). A row's result still depends only on that row.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle import ENCODER
from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.export.onnx.quantize import LARGEST_SIGNED, LARGEST_UNSIGNED
from nmt_cli.recipe.model import ModelConfig
from nmt_cli.text.tokenizer import START_ID

# Of the largest value seen.
SHARES = np.linspace(0.2, 1.0, 33)
# A product whose mean square error exceeds this share of the mean square keeps a scale per row.
LARGEST_ERROR = 1e-3

Pairs = Iterable[tuple[list[int], list[int]]]
Rows = NDArray[np.float32]


def calibrate(
    protos: Mapping[str, onnx.ModelProto], config: ModelConfig, pairs: Pairs
) -> dict[str, dict[str, float]]:
    """Measure the activations of float graphs.

    Args:
        protos: by file name: the encoder, and the decoder's steps, which all get the same inputs.
        config: the recipe's [model] table.
        pairs: framed source ids and target ids without END, some 1,000 tokens or more.

    Returns:
        By file name and name of the matrix: the size to represent. Products with a large error are
        left out.
    """
    products = {name: dict(_products(proto)) for name, proto in protos.items()}
    sessions = {name: _session(proto, products[name].values()) for name, proto in protos.items()}
    seen: dict[tuple[str, str], list[Rows]] = {}

    def run(name: str, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        session = sessions[name]
        taken = {each.name: inputs[each.name] for each in session.get_inputs()}
        names = [each.name for each in session.get_outputs()]
        found = dict(zip(names, session.run(names, taken), strict=True))
        for matrix, value in products[name].items():
            rows = found[value].reshape(-1, found[value].shape[-1])
            seen.setdefault((name, matrix), []).append(rows)
        return found

    steps = [*protos.keys() - {ENCODER}]
    shapes = config.caches()
    specs = [TensorSpec(name, "float", shape) for name, shape in shapes.items()]
    for source, target in pairs:
        encoded = run(ENCODER, {"source": np.array([source], np.int32)})
        columns = len(target) + 1
        sizes = {"B": 1, "P": columns}
        caches = {each.name: np.zeros(each.sized(sizes), np.float32) for each in specs}
        for step, token in enumerate([START_ID, *target]):
            inputs = {
                "tokens": np.array([[token]], np.int32),
                "position": np.array([step], np.int32),
                "ancestry": np.arange(columns)[None, None] <= step,
                "write_at": np.array([step], np.int64),
            }
            found = [run(name, {**encoded, **caches, **inputs}) for name in steps]
            caches = {name: found[0][f"new_{name}"] for name in caches}
    best: dict[str, dict[str, float]] = {name: {} for name in protos}
    for (name, matrix), rows in seen.items():
        size, error = best_size(np.concatenate(rows))
        if error <= LARGEST_ERROR:
            best[name][matrix] = size
    return best


def _products(proto: onnx.ModelProto) -> Iterator[tuple[str, str]]:
    """Names of each constant matrix and of the value that it is multiplied with."""
    matrices = {each.name: each.name for each in proto.graph.initializer if len(each.dims) == 2}
    for node in proto.graph.node:
        if node.op_type == "Transpose" and node.input[0] in matrices:
            matrices[node.output[0]] = node.input[0]
        elif node.op_type == "MatMul" and node.input[1] in matrices:
            yield matrices[node.input[1]], node.input[0]


def _session(proto: onnx.ModelProto, values: Iterable[str]) -> Any:
    """ONNX Runtime's session of a graph that also returns these values."""
    observed = onnx.ModelProto()
    observed.CopyFrom(proto)
    for name in {*values} - {each.name for each in proto.graph.output}:
        observed.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # values without a known shape are no concern
    return onnxruntime.InferenceSession(
        observed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def best_size(values: Rows) -> tuple[float, float]:
    """The size with the least mean square error, and the error as a share of the mean square."""
    largest = LARGEST_UNSIGNED if values.min() >= 0 else LARGEST_SIGNED
    top, power = float(np.abs(values).max()), float(np.square(values).mean())
    if not top:
        return 1.0, 0.0

    def error(size: float) -> float:
        step = np.float32(size / largest)
        steps = np.clip(np.rint(values / step), -largest - 1, largest)
        return float(np.square(values - steps * step).mean())

    size = min((float(share * top) for share in SHARES), key=error)
    return size, error(size) / power
