"""Rewrite the output of tf2onnx into forms that ONNX Runtime fuses.

Each rule is a pattern and its replacement; `benchmarks/graph_pass.py` measures each. The result
is standard ONNX, and is verified like any other graph.
"""

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass
from onnxscript.rewriter import RewriteRule, RewriteRuleSet, rewrite

from nmt_cli.export.onnx.library import Ops, substitute, tidy


def _layer_norm(op: Any, x: Any, epsilon: Any, scale: Any, offset: Any, axes: Any) -> Any:
    centred = op.Sub(x, op.ReduceMean(x, axes, keepdims=1, _allow_other_attributes=True))
    squares = op.Mul(centred, centred)
    variance = op.ReduceMean(squares, axes, keepdims=1, _allow_other_attributes=True)
    return op.Div(centred, op.Sqrt(variance + epsilon)) * scale + offset


def _fused_layer_norm(op: Any, x: Any, epsilon: Any, scale: Any, offset: Any, axes: Any) -> Any:
    value = float(epsilon.const_value.numpy())
    return op.LayerNormalization(x, scale, offset, axis=-1, epsilon=value)


def _is_layer_norm(context: Any, epsilon: Any, axes: Any, **rest: Any) -> bool:
    return _constant(axes) == [-1] and epsilon.const_value is not None


def _slice(
    op: Any,
    x: Any,
    start: Any,
    end: Any,
    step: Any,
    axes: Any,
    zero: Any,
    bounds: Any,
    largest: Any,
    smallest: Any,
    whole: Any,
) -> Any:
    """The range of an axis, as tf2onnx writes it: for all axes, and for backward steps, too."""
    backward = op.Less(step, zero)
    first = op.Concat(zero, zero, start, axis=0)
    first = op.Where(op.And(backward, whole), largest, first)
    last = op.Cast(op.Concat(zero, zero, end, axis=0), to=ir.DataType.FLOAT)
    last = op.Cast(op.Max(last, bounds), to=ir.DataType.INT32)
    last = op.Where(op.And(op.Equal(last, largest), backward), smallest, last)
    return op.Slice(x, first, last, axes, step)


def _plain_slice(op: Any, x: Any, start: Any, end: Any, **rest: Any) -> Any:
    """Drop what depends on constants; float16 could not represent the ends."""
    return op.Slice(x, start, end, op.Constant(value=ir.tensor([2], ir.DataType.INT32)))


def _is_slice(context: Any, **values: Any) -> bool:
    wanted = {"step": [1] * 3, "axes": [0, 1, 2], "zero": [0], "bounds": [1e9, 1e9, -1e9]}
    return all(_constant(values[name]) == value for name, value in wanted.items())


def _attend(op: Any, query: Any, key: Any, value: Any, mask: Any, perm: Any) -> Any:
    scores = op.MatMul(query, op.Transpose(key, perm=perm)) + mask
    return op.MatMul(op.Softmax(scores), value)


def _attention(op: Any, query: Any, key: Any, value: Any, mask: Any, perm: Any) -> Any:
    """Compute products, mask and softmax head by head, in the processor's cache."""
    *order, last, before = perm.as_ints()
    if [*order, before, last] != [0, 1, 2, 3]:  # tf2onnx has merged two transpositions
        key = op.Transpose(key, perm=[*order, before, last])
    return op.Attention(query, key, value, mask, scale=1.0)


def _is_attention(context: Any, query: Any, key: Any, value: Any, mask: Any, perm: Any) -> bool:
    shapes = [operand.shape for operand in (query, key, value, mask)]
    if any(shape is None or len(shape) != 4 for shape in shapes):
        return False
    return mask.shape[2] != 1  # Attention needs a row of the mask for each query


RULES = {
    "layer norm": RewriteRule(_layer_norm, _fused_layer_norm, _is_layer_norm),
    "slice": RewriteRule(_slice, _plain_slice, _is_slice, remove_nodes=False),
    "attention": RewriteRule(_attend, _attention, _is_attention),
}


def apply_rules(model: ir.Model, rules: Sequence[str] = tuple(RULES)) -> ir.Model:
    """Apply rules, by name, until none matches."""
    ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(model)
    if rules:
        model = rewrite(model, RewriteRuleSet([RULES[name] for name in rules], commute=True))
    _split_top_k(model.graph)
    tidy(model)
    return model


def _split_top_k(graph: ir.Graph) -> None:
    """Sort only the K blocks with the largest maxima, which contain the best K."""
    op = Ops(graph)
    for node in [node for node in graph if node.op_type == "TopK"]:
        values, count = node.inputs  # [B, K, V]
        width = values.shape[2]
        # The divisor of a row's width nearest to the fastest one measured, if any is near.
        near = [block for block in range(32, 257) if width % block == 0 and width // block >= 8]
        if not near:
            continue
        block = min(near, key=lambda block: abs(block - 80))
        # Blocks and candidates are ordered by id, so that TopK prefers the lower of two equal ones.
        maxima = op.ReduceMax(op.Reshape(values, [0, 0, -1, block]), [-1], keepdims=0)
        some = op.Min(count, [width // block])
        _, best = op.TopK(maxima, some, outputs=2)
        blocks, _ = op.TopK(best, some, largest=0, outputs=2)  # [B, K, C], ascending
        starts = op.Mul(op.Unsqueeze(blocks, [-1]), [block])
        ids = op.Reshape(op.Add(starts, list(range(block))), [0, 0, -1])
        scores, indices = op.TopK(op.GatherElements(values, ids, axis=-1), count, outputs=2)
        substitute(node.outputs[0], scores)
        substitute(node.outputs[1], op.GatherElements(ids, indices, axis=-1))


def _constant(value: Any) -> Any:
    """A constant's value as Python numbers; None if it is not constant."""
    return None if value.const_value is None else value.const_value.numpy().tolist()
