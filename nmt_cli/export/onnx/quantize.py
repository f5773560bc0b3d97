"""Compute matrix products in 8-bit integers, with standard ONNX operators.

A product ``x W`` of float rows becomes ``s_x (q_x Q_W) s_w``. Each column of W has a scale,
computed here. All rows of x share a constant one if the size of their values is known from
calibration; otherwise each has its own, computed at run time. The integer product is exact, and a
row's result depends only on that row: a sentence's translation does not depend on its batch.
(ONNX Runtime's own dynamic quantization uses one scale for a whole batch.)

Weights keep 7 bits, -64 to 64. Processors with AVX2 but no VNNI add pairs of products of unsigned
activations and signed weights in 16 bits, with saturation; ``2 * 255 * 64 < 2^15`` never saturates,
so that every processor computes the same integers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray
from onnx_ir.passes.common import CommonSubexpressionEliminationPass, RemoveUnusedNodesPass
from onnxscript.rewriter import RewriteRuleSet, rewrite

from nmt_cli.export.onnx.ops import Ops, rule

MAX_WEIGHT = 64
# Signed activations are stored with 128 added; those after a ReLU use all 256 steps.
ZERO_POINT, MAX_SIGNED, MAX_UNSIGNED = 128, 127, 255
# Prevents a scale of zero for a column of zeros.
TINY = 1e-30


def quantize(model: ir.Model, sizes: Mapping[str, float] | None = None) -> ir.Model:
    """Rewrite every product with a constant matrix, and every embedding, in 8 bits.

    ``sizes`` has, by name of the matrix, the size of the values it is multiplied with.
    """
    model = rewrite(model, _Quantizer(model.graph.inputs[0], sizes or {}).rules())
    CommonSubexpressionEliminationPass()(model)
    RemoveUnusedNodesPass()(model)
    return model


def quantized_columns(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return an int8 matrix and the scales of its columns, whose product approximates a matrix."""
    scales = np.maximum(np.abs(matrix).max(axis=0), TINY) / MAX_WEIGHT
    return np.round(matrix / scales).astype(np.int8), scales.astype(np.float32)


def _is_matrix(context: Any, weight: Any, **rest: Any) -> bool:
    value = weight.const_value
    return value is not None and len(value.shape) == 2 and value.dtype == ir.DataType.FLOAT


class _Quantizer:
    """The rewriting rules. An embedding that is used twice is stored once.

    Every product has a row for each of the ``tokens``, the graph's first input.
    """

    def __init__(self, tokens: Any, sizes: Mapping[str, float]) -> None:
        self._tokens, self._sizes = tokens, sizes
        self._embeddings: dict[str, tuple[Any, Any]] = {}

    def rules(self) -> RewriteRuleSet:
        """Return the rules for products, with embeddings transposed, too, and for look-ups."""
        return RewriteRuleSet(
            [
                rule(lambda op, x, weight: op.MatMul(x, weight), self._product, _is_matrix),
                rule(
                    lambda op, x, weight: op.MatMul(x, op.Transpose(weight, perm=[1, 0])),
                    self._transposed_product,
                    _is_matrix,
                ),
                rule(
                    lambda op, weight, ids: op.Gather(weight, ids, axis=0),
                    self._look_up,
                    _is_matrix,
                ),
            ]
        )

    def _product(self, op: Ops, x: Any, weight: Any) -> Any:
        values, scales = quantized_columns(weight.const_value.numpy())
        matrix = op.weight(f"{weight.name}_int8", values)
        return self._scaled(op, x, matrix, scales, weight.name)

    def _transposed_product(self, op: Ops, x: Any, weight: Any) -> Any:
        values, scales = self._rows(op, weight)
        matrix = op.Transpose(values, perm=[1, 0])  # when the graph is loaded
        return self._scaled(op, x, matrix, scales.const_value.numpy(), weight.name)

    def _look_up(self, op: Ops, weight: Any, ids: Any) -> Any:
        values, scales = self._rows(op, weight)
        vectors = op.Cast(op.Gather(values, ids, axis=0), to=ir.DataType.FLOAT)
        return op.Mul(vectors, op.Unsqueeze(op.Gather(scales, ids, axis=0), [-1]))

    def _rows(self, op: Ops, weight: Any) -> tuple[Any, Any]:
        """Return an embedding [V, d] as int8 [V, d] and scales [V]."""
        if weight.name not in self._embeddings:
            values, scales = quantized_columns(weight.const_value.numpy().T)
            self._embeddings[weight.name] = (
                op.weight(f"{weight.name}_int8", np.ascontiguousarray(values.T)),
                op.weight(f"{weight.name}_scales", scales),
            )
        return self._embeddings[weight.name]

    def _scaled(self, op: Ops, x: Any, matrix: Any, scales: NDArray[np.float32], name: str) -> Any:
        """Return ``x W`` of rows [N, d], given an int8 matrix and the scales of its columns."""
        zero, largest = (0, MAX_UNSIGNED) if _is_positive(x) else (ZERO_POINT, MAX_SIGNED)
        zero_point = op.value(np.uint8(zero))
        size = self._sizes.get(name)
        if size is None:
            sizes = op.ReduceMax(x if zero == 0 else op.Abs(x), [-1], keepdims=1)
            # A row of zeros has size 0 and arbitrary integers: the result is 0.
            x, step = op.Div(x, sizes), 1.0 / largest  # sizes [N, 1]
        else:
            step = size / largest
        integers = op.QuantizeLinear(x, np.float32(step), zero_point)
        factors = op.weight(f"{name}_factors", scales * np.float32(step))
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
