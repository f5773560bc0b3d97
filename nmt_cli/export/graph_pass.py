"""What tf2onnx emits, brought into the forms that ONNX Runtime fuses.

Each rule is a pattern and what stands for it; `benchmarks/graph_pass.py` measures each. The
result is standard ONNX still, and is verified like any other graph.
"""

from collections.abc import Sequence
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass
from onnxscript.rewriter import RewriteRule, RewriteRuleSet, rewrite
from onnxscript.rewriter.rules.common import reshape_reshape_rule

# Patterns are written with the operators' own names, as methods of `op`. A constant is a
# variable of the pattern, looked at by the rule's check.


def _layer_norm(op: Any, x: Any, epsilon: Any, scale: Any, offset: Any, axes: Any) -> Any:
    centred = op.Sub(x, op.ReduceMean(x, axes, keepdims=1, _allow_other_attributes=True))
    squares = op.Mul(centred, centred)
    variance = op.ReduceMean(squares, axes, keepdims=1, _allow_other_attributes=True)
    return op.Div(centred, op.Sqrt(variance + epsilon)) * scale + offset


def _fused_layer_norm(op: Any, x: Any, epsilon: Any, scale: Any, offset: Any, axes: Any) -> Any:
    """Nine operators, of which ONNX Runtime fuses none as tf2onnx writes them."""
    value = float(epsilon.const_value.numpy())
    return op.LayerNormalization(x, scale, offset, axis=-1, epsilon=value)


def _is_layer_norm(context: Any, epsilon: Any, axes: Any, **rest: Any) -> bool:
    return _constant(axes) == [-1] and epsilon.const_value is not None


def _take(op: Any, matrix: Any, ids: Any, size: Any, zero: Any) -> Any:
    negative = op.Less(op.Cast(ids, to=ir.DataType.FLOAT), zero)
    wrapped = op.Cast(negative, to=ir.DataType.INT32) * (ids + size)
    kept = ids * op.Cast(op.Not(negative), to=ir.DataType.INT32)
    return op.Gather(matrix, wrapped + kept, axis=0)


def _plain_take(op: Any, matrix: Any, ids: Any, size: Any, zero: Any) -> Any:
    """keras.ops.take wraps negative ids by hand, which Gather does itself."""
    return op.Gather(matrix, ids, axis=0)


def _is_take(context: Any, matrix: Any, size: Any, zero: Any, **rest: Any) -> bool:
    rows = matrix.const_value.shape[0] if matrix.const_value is not None else None
    return rows is not None and _constant(size) == rows and _constant(zero) == 0


def _late_bias(op: Any, x: Any, weight: Any, shape: Any, bias: Any) -> Any:
    return op.Reshape(op.MatMul(x, weight), shape) + bias


def _early_bias(op: Any, x: Any, weight: Any, shape: Any, bias: Any) -> Any:
    """A bias beside its product is part of it (Gemm); behind a Reshape it is not."""
    return op.Reshape(op.Add(op.MatMul(x, weight), bias), shape)


def _is_bias(context: Any, weight: Any, bias: Any, shape: Any, **rest: Any) -> bool:
    if weight.const_value is None or bias.const_value is None:
        return False
    columns = weight.const_value.shape[-1]
    parted = _constant(shape) is not None and _constant(shape)[-1] not in (-1, columns)
    whole = len(weight.const_value.shape) == 2 and not parted
    return whole and list(bias.const_value.shape) == [columns]


def _late_relu(op: Any, x: Any, shape: Any) -> Any:
    return op.Relu(op.Reshape(x, shape))


def _early_relu(op: Any, x: Any, shape: Any) -> Any:
    """And an activation beside its product is part of it too."""
    return op.Reshape(op.Relu(x), shape)


RULES = {
    "layer norm": RewriteRule(_layer_norm, _fused_layer_norm, _is_layer_norm),
    "take": RewriteRule(_take, _plain_take, _is_take),
    "bias": RewriteRule(_late_bias, _early_bias, _is_bias),
    "activation": RewriteRule(_late_relu, _early_relu),
    "reshapes": reshape_reshape_rule,
}


def mend(proto: onnx.ModelProto, rules: Sequence[str] = tuple(RULES)) -> onnx.ModelProto:
    """Apply rules, by name, until none matches any more."""
    model = ir.from_proto(proto)
    if rules:
        model = rewrite(model, RewriteRuleSet([RULES[name] for name in rules], commute=True))
    CommonSubexpressionEliminationPass()(model)
    return ir.to_proto(model)


def _constant(value: Any) -> Any:
    """A constant's value as Python numbers; None for what is not constant."""
    return None if value.const_value is None else value.const_value.numpy().tolist()
