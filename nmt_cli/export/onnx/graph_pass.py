"""Rewrite the output of tf2onnx into forms that ONNX Runtime fuses.

Each rule is a pattern and its replacement; `benchmarks/graph_pass.py` measures each. The result
is standard ONNX, and is verified like any other graph.
"""

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass
from onnxscript.rewriter import RewriteRule, RewriteRuleSet, rewrite

from nmt_cli.bundle.manifest import ScaledColumns
from nmt_cli.export.onnx.library import SCALED, Ops, substitute, tidy


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


def _take(op: Any, matrix: Any, ids: Any, size: Any, zero: Any) -> Any:
    negative = op.Less(op.Cast(ids, to=ir.DataType.FLOAT), zero)
    wrapped = op.Cast(negative, to=ir.DataType.INT32) * (ids + size)
    kept = ids * op.Cast(op.Not(negative), to=ir.DataType.INT32)
    return op.Gather(matrix, wrapped + kept, axis=0)


def _plain_take(op: Any, matrix: Any, ids: Any, size: Any, zero: Any) -> Any:
    """Drop the handling of negative ids in keras.ops.take, which Gather includes."""
    return op.Gather(matrix, ids, axis=0)


def _is_take(context: Any, matrix: Any, size: Any, zero: Any, **rest: Any) -> bool:
    rows = matrix.const_value.shape[0] if matrix.const_value is not None else None
    return rows is not None and _constant(size) == rows and _constant(zero) == 0


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


def _attend_heads(
    op: Any, query: Any, key: Any, value: Any, mask: Any, split: Any, split_value: Any, joined: Any
) -> Any:
    def heads(x: Any, shape: Any) -> Any:
        return op.Transpose(op.Reshape(x, shape), perm=[0, 2, 1, 3])

    sides = heads(query, split), heads(key, split), heads(value, split_value)
    mixed = op.Attention(*sides, mask, scale=1.0)
    return op.Reshape(op.Transpose(mixed, perm=[0, 2, 1, 3]), joined)


def _attention_heads(
    op: Any, query: Any, key: Any, value: Any, mask: Any, split: Any, joined: Any, **rest: Any
) -> Any:
    """Let the operator find the heads in [B, S, h * k], without moving them."""
    count = _heads(split)
    heads = op.Attention(query, key, value, mask, scale=1.0, q_num_heads=count, kv_num_heads=count)
    return op.Reshape(heads, joined)


def _are_heads(
    context: Any, query: Any, key: Any, value: Any, split: Any, split_value: Any, **rest: Any
) -> bool:
    if any(side.shape is None or len(side.shape) != 3 for side in (query, key, value)):
        return False
    return _heads(split) == _heads(split_value) is not None


def _heads(shape: Any) -> int | None:
    """The heads of a shape [B, S, h, k]; None if unknown."""
    sizes = _sizes(shape)
    return sizes[2] if len(sizes) == 4 else None


RULES = {
    "layer norm": RewriteRule(_layer_norm, _fused_layer_norm, _is_layer_norm),
    "take": RewriteRule(_take, _plain_take, _is_take),
    "slice": RewriteRule(_slice, _plain_slice, _is_slice, remove_nodes=False),
    "attention": RewriteRule(_attend, _attention, _is_attention),
    "heads": RewriteRule(_attend_heads, _attention_heads, _are_heads, remove_nodes=False),
}


def apply_rules(model: ir.Model, rules: Sequence[str] = tuple(RULES)) -> ir.Model:
    """Apply rules, by name, until none matches."""
    ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(model)
    _fold_scales(model)
    if rules:
        model = rewrite(model, RewriteRuleSet([RULES[name] for name in rules], commute=True))
    _split_top_k(model.graph)
    tidy(model)
    return model


def _fold_scales(model: ir.Model) -> None:
    """Scale the matrix and bias of attention's query projection once, instead of its output."""
    # The scale attribute of Attention is slower.
    for node in list(model.graph):
        if node.op_type == "Mul" and not node.outputs[0].is_graph_output():
            factor, value = node.inputs if _is_scalar(node.inputs[0]) else node.inputs[::-1]
            if _is_scalar(factor) and _scale_projection(model, value, factor):
                node.outputs[0].replace_all_uses_with(value)
                model.graph.remove(node, safe=True)


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


def _scale_projection(model: ir.Model, value: Any, scalar: Any) -> bool:
    """Scale what a value is computed from: (a part of) the columns of ``x W + b``."""
    factor = scalar.const_value.numpy().item()
    constants, reshapes, (part, parts) = [], [], (0, 1)
    while True:
        node = value.producer()
        readers = [user for user, _ in value.uses() if user.op_type != "Shape"]
        if node is None or len(readers) > 1 or value.is_graph_output():
            return False
        splits = node.op_type == "Split" and len(node.inputs) == 1 and parts == 1
        if splits and node.attributes["axis"].value == -1:
            part, parts = value.index(), len(node.outputs)
        elif node.op_type == "Reshape" and parts > 1:
            reshapes.append(node.inputs[1])
        elif node.op_type in ("Add", "MatMul") and node.inputs[1].const_value is not None:
            constants.append((node, node.inputs[1]))
        elif parts > 1 or node.op_type not in ("Reshape", "Transpose"):
            return False
        if node.op_type == "MatMul":
            break
        value = node.inputs[0]
    columns = constants[-1][1].shape[-1]
    shapes = [constant.shape for _, constant in constants]
    if any(shape.rank() == 0 or shape[-1] != columns for shape in shapes):
        return False
    if any(_sizes(shape)[-1] != columns for shape in reshapes):
        return False
    width = columns // parts
    start, end = part * width, (part + 1) * width
    for node, constant in constants:
        scaled = constant.const_value.numpy().copy()
        scaled[..., start:end] *= factor
        replacement = Ops(model.graph).weight(f"{constant.name}_scaled", scaled)
        node.replace_input_with(1, replacement)
        model.meta.setdefault(SCALED, {})[constant.name] = ScaledColumns(start, end, factor)
    return True


def _sizes(shape: Any) -> list[int | None]:
    """The entries of a shape, constant or computed at run time; None for the unknown ones."""
    if shape.const_value is not None:
        return shape.const_value.numpy().ravel().tolist()
    node = shape.producer()
    if node is not None and node.op_type == "Cast":
        return _sizes(node.inputs[0])
    if node is not None and node.op_type == "Concat":
        return [size for part in node.inputs for size in _sizes(part)]
    return [None]


def _is_scalar(value: Any) -> bool:
    return value is not None and value.const_value is not None and value.const_value.size == 1


def _constant(value: Any) -> Any:
    """A constant's value as Python numbers; None if it is not constant."""
    return None if value.const_value is None else value.const_value.numpy().tolist()
