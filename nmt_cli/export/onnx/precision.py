"""Convert graphs to int8 and float16, with standard ONNX operators.

Int8: a product ``x W`` of float rows becomes ``s_x (q_x Q_W) s_w``. Each column of W has a scale,
computed here. All rows of x share a constant one if the size of their values is known from
calibration; otherwise each has its own, computed at run time. The integer product is exact, and a
row's result depends only on that row: a sentence's translation does not depend on its batch.
(ONNX Runtime's own dynamic quantization uses one scale for a whole batch.)

Weights keep 7 bits, -64 to 64. Processors with AVX2 but no VNNI add pairs of products of unsigned
activations and signed weights in 16 bits, with saturation; ``2 * 255 * 64 < 2^15`` never saturates,
so that every processor computes the same integers.

Calibration measures, on text, the sizes of the activations that each product reads. Larger values
are clipped, so the size chosen is not the largest but the one with the least mean square error
(Banner et al. 2019, https://arxiv.org/abs/1810.05723, section 3).

Float16 is for processors that compute in it, such as GPUs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
from numpy.typing import NDArray
from onnx_ir.passes.common import ShapeInferencePass
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST

from nmt_cli.bundle import ENCODER
from nmt_cli.export.onnx.library import Ops, serialized, substitute, tidy
from nmt_cli.recipe.model import ModelConfig
from nmt_cli.text.tokenizer import START_ID
from nmt_cli.training.run import Quantized

MAX_WEIGHT = 64
# Signed activations are stored with 128 added; those after a ReLU use all 256 steps.
ZERO_POINT, MAX_SIGNED, MAX_UNSIGNED = 128, 127, 255
# Prevents a scale of zero for a column of zeros.
TINY = 1e-30
# Candidate sizes, as fractions of the maximum.
SHARES = np.linspace(0.2, 1.0, 33)
# A product whose mean square error exceeds this share of the mean square keeps a scale per row.
MAX_ERROR = 1e-3

Pairs = Iterable[tuple[list[int], list[int]]]
Rows = NDArray[np.float32]


def quantize(
    model: ir.Model,
    sizes: Mapping[str, float] | None = None,
    given: Mapping[str, Quantized] | None = None,
) -> ir.Model:
    """Rewrite every product with a constant matrix, and every embedding, in 8 bits.

    Args:
        sizes: by name of the matrix, the size of the values it is multiplied with.
        given: by the same name, the form of matrices that had 8 bits before. They keep all of them,
            so that processors with AVX2 but no VNNI may saturate sums, as Firefox's engine does.
    """
    quantizer = _Quantizer(model.graph, sizes or {}, given or {})
    for node, matrix in [*_products(model.graph)]:
        substitute(node.outputs[0], quantizer.product(node, matrix))
    for node in [node for node in model.graph if node.op_type == "Gather"]:
        matrix, axis = node.inputs[0], node.attributes.get_int("axis", 0)
        is_embedding = matrix.is_initializer() and matrix.shape.rank() == 2 and axis == 0
        if is_embedding and matrix.dtype == ir.DataType.FLOAT:
            substitute(node.outputs[0], quantizer.look_up(*node.inputs))
    tidy(model)
    return model


def quantized_columns(
    matrix: NDArray[np.float32], given: Quantized | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return an int8 matrix and the scales of its columns, whose product approximates a matrix."""
    scales = np.maximum(np.abs(matrix).max(axis=0), TINY) / MAX_WEIGHT
    if given:
        steps = np.maximum(given.steps, TINY)
        scales = np.repeat(steps, matrix.shape[1] // len(steps))
    return np.round(matrix / scales).astype(np.int8), scales.astype(np.float32)


class _Quantizer:
    """Adds integer products to a graph. A matrix that is used twice is stored once.

    Every product has a row for each token of the graph's first input.
    """

    def __init__(
        self, graph: ir.Graph, sizes: Mapping[str, float], given: Mapping[str, Quantized]
    ) -> None:
        self._op, self._tokens, self._sizes, self._given = Ops(graph), graph.inputs[0], sizes, given
        self._weights: dict[str, Any] = {}

    def product(self, node: ir.Node, weight: Any) -> Any:
        """Return the product of rows and a matrix, which may be an embedding transposed."""
        if weight is node.inputs[1]:
            given = self._given.get(weight.name)
            values, scales = quantized_columns(weight.const_value.numpy(), given)
            matrix = self._weight(f"{weight.name}_int8", values)
        else:
            values, stored = self._rows(weight)
            matrix = self._op.Transpose(values, perm=[1, 0])  # when the graph is loaded
            scales = stored.const_value.numpy()
        return self._scaled(node.inputs[0], matrix, scales, weight.name)

    def look_up(self, weight: Any, ids: Any) -> Any:
        """Return rows of an embedding."""
        op, (values, scales) = self._op, self._rows(weight)
        vectors = op.Cast(op.Gather(values, ids, axis=0), to=ir.DataType.FLOAT)
        return op.Mul(vectors, op.Unsqueeze(op.Gather(scales, ids, axis=0), [-1]))

    def _rows(self, weight: Any) -> tuple[Any, Any]:
        """Return an embedding [V, d] as int8 [V, d] and scales [V]."""
        given = self._given.get(weight.name)
        values, scales = quantized_columns(weight.const_value.numpy().T, given)
        rows = self._weight(f"{weight.name}_int8", np.ascontiguousarray(values.T))
        return rows, self._weight(f"{weight.name}_scales", scales)

    def _weight(self, name: str, values: NDArray[Any]) -> Any:
        if name not in self._weights:
            self._weights[name] = self._op.weight(name, values)
        return self._weights[name]

    def _scaled(self, x: Any, matrix: Any, scales: NDArray[np.float32], name: str) -> Any:
        """Return ``x W`` of rows [N, d], given an int8 matrix and the scales of its columns."""
        op = self._op
        given, size = self._given.get(name), self._sizes.get(name)
        zero, largest = (0, MAX_UNSIGNED) if _is_positive(x) else (ZERO_POINT, MAX_SIGNED)
        if given:
            zero, largest, size = ZERO_POINT, MAX_SIGNED, given.size
        zero_point = op.value(np.uint8(zero))
        if size is None:
            sizes = op.ReduceMax(x if zero == 0 else op.Abs(x), [-1], keepdims=1)
            # A row of zeros has size 0 and arbitrary integers: the result is 0.
            x, step = op.Div(x, sizes), 1.0 / largest  # sizes [N, 1]
        else:
            step = size / largest
        integers = op.QuantizeLinear(x, np.float32(step), zero_point)
        factors = self._weight(f"{name}_factors", scales * np.float32(step))
        product = op.Cast(op.MatMulInteger(integers, matrix, zero_point), to=ir.DataType.FLOAT)
        # ONNX Runtime fuses a product, its cast and a scale if the scale is a number computed at
        # run time (here 1) times a constant.
        one = op.Min(op.Size(self._tokens), np.int64(1))
        scaled = op.Mul(product, op.Mul(op.Cast(one, to=ir.DataType.FLOAT), factors))
        return scaled if size is not None else op.Mul(scaled, sizes)


def _is_positive(x: Any) -> bool:
    node = x.producer()
    while node is not None and node.op_type == "Reshape":
        node = node.inputs[0].producer()
    return node is not None and node.op_type == "Relu"


def calibrate(
    models: Mapping[str, ir.Model],
    config: ModelConfig,
    pairs: Pairs,
    largest_error: float = MAX_ERROR,
) -> dict[str, dict[str, float]]:
    """Return the sizes to represent, by file name and name of the matrix.

    Products with a larger error are left out.

    Args:
        models: by file name: the encoder, and the decoder's steps, which all get the same inputs.
        pairs: source ids with END and target ids without, some 1,000 tokens or more.
    """
    products = {
        name: {matrix.name: node.inputs[0].name for node, matrix in _products(model.graph)}
        for name, model in models.items()
    }
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
    for source, target in pairs:
        encoded = run(ENCODER, {"source": np.array([source], np.int32)})
        columns = len(target) + 1
        caches = {
            name: np.zeros((1, heads, columns, size), np.float32)
            for name, (_, heads, _, size) in config.caches().items()
        }
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
        if error <= largest_error:
            best[name][matrix] = size
    return best


def _products(graph: ir.Graph) -> Iterator[tuple[ir.Node, Any]]:
    """Yield each product of rows and a constant matrix, and the matrix as it is stored."""
    for node in graph:
        if node.op_type != "MatMul":
            continue
        matrix = node.inputs[1]
        if matrix.producer() and matrix.producer().op_type == "Transpose":
            matrix = matrix.producer().inputs[0]
        if matrix.is_initializer() and matrix.shape.rank() == 2:
            yield node, matrix


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


# Stay in float32: float16 cannot represent all positions above 2,048, and search sums
# log-probabilities. ONNX Runtime lacks float16 kernels for its own list of operators.
_WIDE_OPERATORS = {*DEFAULT_OP_BLOCK_LIST, "Sin", "Cos", "LogSoftmax"}
_WIDE_OUTPUTS = ("scores", "log_probs")
_FLOAT, _HALF = ir.DataType.FLOAT, ir.DataType.FLOAT16


def half(model: ir.Model) -> ir.Model:
    """Convert a graph to float16, encoder output and caches included."""
    ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(model)
    graph, wide = model.graph, _wide_nodes(model.graph)
    for value in graph.initializers.values():
        if value.dtype == _FLOAT and any(node not in wide for node in value.consumers()):
            value.const_value = _half_tensor(value.const_value)
            value.dtype = _HALF
    narrow = [node for node in graph if node not in wide]
    for value in [*graph.inputs, *(value for node in narrow for value in node.outputs)]:
        value.dtype = _HALF if value.dtype == _FLOAT else value.dtype
    for node in narrow:
        for name, attribute in list(node.attributes.items()):
            if attribute.type == ir.AttributeType.TENSOR and attribute.value.dtype == _FLOAT:
                node.attributes[name] = ir.AttrTensor(name, _half_tensor(attribute.value))
        if node.op_type == "Cast" and node.attributes["to"].as_int() == _FLOAT:
            node.attributes["to"] = ir.AttrInt64("to", _HALF)
    op, casts = Ops(graph), {}

    def as_type(value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """Return a float value as this type, cast once for all readers; any other as it is."""
        if value is None or value.dtype not in (_FLOAT, _HALF) or value.dtype == dtype:
            return value
        if value not in casts:
            source, node = value, value.producer()
            if node is not None and node.op_type == "Cast" and dtype == _FLOAT:
                source = node.inputs[0]  # float16 in between would round
            casts[value] = op.Cast(source, to=dtype)
            casts[value].dtype, casts[value].shape = dtype, value.shape
        return casts[value]

    for node in list(graph):
        for index, value in enumerate(node.inputs):
            node.replace_input_with(index, as_type(value, _FLOAT if node in wide else _HALF))
    for index, value in enumerate(list(graph.outputs)):
        name = value.name
        cast = as_type(value, _FLOAT if name in _WIDE_OUTPUTS else _HALF)
        if cast is not value:
            value.name, cast.name = f"{name}_before_cast", name
            graph.outputs[index] = cast
    tidy(model)
    return model


def _wide_nodes(graph: ir.Graph) -> set[ir.Node]:
    """Return the nodes that stay in float32, with those that read log-probabilities, directly or
    indirectly."""
    # ONNX Runtime has no float16 kernels for recurrent operators on the CPU, and 1.31 crashes when
    # it loads a graph that mixes them with other float16 operators than the embedding.
    if any(node.op_type in ("LSTM", "GRU") for node in graph):
        return {node for node in graph if node.op_type != "Gather"}
    wide: set[ir.Node] = set()
    log_probs: set[Any] = set()
    for node in graph:
        follows = node.op_type == "LogSoftmax" or not log_probs.isdisjoint(node.inputs)
        if follows:
            log_probs.update(node.outputs)
        if follows or node.op_type in _WIDE_OPERATORS:
            wide.add(node)
    return wide


def _half_tensor(tensor: Any) -> Any:
    """Convert a tensor; what float16 cannot represent becomes the number nearest to it but 0."""
    values, info = tensor.numpy(), np.finfo(np.float16)
    sizes = np.clip(np.abs(values), info.smallest_subnormal, info.max)
    exact = (values == 0) | ~np.isfinite(values)
    return ir.tensor(np.where(exact, values, np.copysign(sizes, values)).astype(np.float16))
