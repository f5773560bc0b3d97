"""Convert graphs to float16, for processors that compute in it, such as GPUs."""

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass, ShapeInferencePass, TopologicalSortPass
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST

from nmt_cli.export.onnx.ops import Ops

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
        _convert_attributes(node)
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
    RemoveUnusedNodesPass()(model)
    TopologicalSortPass()(model)
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


def _convert_attributes(node: ir.Node) -> None:
    for name, attribute in list(node.attributes.items()):
        if attribute.type == ir.AttributeType.TENSOR and attribute.value.dtype == _FLOAT:
            node.attributes[name] = ir.AttrTensor(name, _half_tensor(attribute.value))
    if node.op_type == "Cast" and node.attributes["to"].as_int() == _FLOAT:
        node.attributes["to"] = ir.AttrInt64("to", _HALF)


def _half_tensor(tensor: Any) -> Any:
    """Convert a tensor; what float16 cannot represent becomes the number nearest to it but 0."""
    values, info = tensor.numpy(), np.finfo(np.float16)
    sizes = np.clip(np.abs(values), info.smallest_subnormal, info.max)
    exact = (values == 0) | ~np.isfinite(values)
    return ir.tensor(np.where(exact, values, np.copysign(sizes, values)).astype(np.float16))
