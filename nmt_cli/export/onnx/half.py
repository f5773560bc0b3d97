"""float16 graphs, for processors that compute in it, such as GPUs."""

from collections.abc import Iterator
from typing import Any

import onnx
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16
from onnxruntime.transformers.onnx_model import OnnxModel

# Kept in float32: float16 cannot represent all positions above 2,048, and search sums
# log-probabilities.
_WIDE_OPERATORS = ("Range", "Sin", "Cos", "LogSoftmax")
_WIDE_OUTPUTS = ("scores", "log_probs")


def half(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Convert a graph to float16, encoder output and caches included."""
    for number, node in enumerate(proto.graph.node):
        node.name = node.name or f"node_{number}"
    converted = convert_float_to_float16(
        proto,
        keep_io_types=[each.name for each in proto.graph.output if each.name in _WIDE_OUTPUTS],
        op_block_list=[*DEFAULT_OP_BLOCK_LIST, *_WIDE_OPERATORS],
        node_block_list=[*_after_log_softmax(proto.graph), *_recurrent(proto.graph)],
    )
    # The converter appends a cast for each reader of a tensor, all with the same output.
    written: set[str] = set()
    for node in list(converted.graph.node):
        if node.output[0] in written:
            converted.graph.node.remove(node)
        written.add(node.output[0])
    _keep_wide(converted.graph)
    model = OnnxModel(converted)
    model.prune_graph(allow_remove_graph_inputs=False)  # a step may not use `position`
    model.topological_sort()
    return model.model


def _after_log_softmax(graph: Any) -> Iterator[str]:
    """Names of the nodes that read log-probabilities, directly or indirectly."""
    wide: set[str] = set()
    for node in graph.node:
        if node.op_type == "LogSoftmax":
            wide.update(node.output)
        elif wide & set(node.input):
            wide.update(node.output)
            yield node.name


def _recurrent(graph: Any) -> Iterator[str]:
    """Names of all nodes but the embedding, if the graph has recurrent operators.

    ONNX Runtime has no float16 kernels for them on the CPU, and 1.31 crashes when it loads a graph
    that mixes them with float16 operators.
    """
    if any(node.op_type in ("LSTM", "GRU") for node in graph.node):
        yield from (node.name for node in graph.node if node.op_type != "Gather")


def _keep_wide(graph: Any) -> None:
    """Skip casts to float16 and back, which would round."""
    casts = {
        node.output[0]: (node.input[0], node.attribute[0].i)
        for node in graph.node
        if node.op_type == "Cast"
    }
    for node in graph.node:
        if node.op_type == "Cast" and node.attribute[0].i == onnx.TensorProto.FLOAT:
            source, kind = casts.get(node.input[0], ("", 0))
            if kind == onnx.TensorProto.FLOAT16:
                node.input[0] = source
