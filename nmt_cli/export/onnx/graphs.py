"""The step graphs as ONNX, through tf2onnx.

Outputs are named by the dictionary keys that the traced functions return; the columns to be
appended to a cache have its name with ``new_`` before.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from nmt_cli.bundle import APPEND, ATTENTION, DECODER, ENCODER
from nmt_cli.bundle.contract import tensor_shapes
from nmt_cli.bundle.manifest import GraphSpec, TensorSpec
from nmt_cli.errors import NmtError
from nmt_cli.export.onnx.graph_pass import RULES, mend
from nmt_cli.export.onnx.half import half
from nmt_cli.export.onnx.quantize import quantize
from nmt_cli.export.onnx.weights import save_with_shared_weights, share_transposed
from nmt_cli.model.step_graph import StepGraph, free_axes

TF2ONNX_OPSET = 18  # the newest that tf2onnx 1.17 writes
# Of the graphs: the first with both Attention and TensorScatter. What tf2onnx writes in its
# own means the same in this one.
OPSET, IR_VERSION = 24, 11

WRITE_AT = "write_at"


def write_graphs(
    graph: StepGraph,
    folder: Path,
    precision: str = "float32",
    rules: Sequence[str] = tuple(RULES),
    attention: bool = False,
) -> dict[str, GraphSpec]:
    """Write the graphs and their weights; returns the graphs' contracts by file name.

    Args:
        graph: what to write.
        folder: where to.
        precision: one of nmt_cli.bundle.PRECISIONS.
        rules: of the graph pass; benchmarks/graph_pass.py leaves some out.
        attention: also write the step that tells what it looks at.

    Raises:
        NmtError: tf2onnx cannot convert, or left operators that are not standard.
    """
    protos = {
        ENCODER: _finish(_encoder(graph), ENCODER, graph, precision, rules),
        DECODER: _finish(_decoder(graph), DECODER, graph, precision, rules),
        APPEND: _append(precision),
    }
    if attention:
        step = _attention(graph)
        protos[ATTENTION] = _finish(step, ATTENTION, graph, precision, rules)
    specs = {
        name: GraphSpec(name, OPSET, _specs(proto.graph.input), _specs(proto.graph.output))
        for name, proto in protos.items()
    }
    save_with_shared_weights(protos, folder)
    return specs


def _finish(
    proto: onnx.ModelProto, name: str, graph: StepGraph, precision: str, rules: Sequence[str]
) -> onnx.ModelProto:
    """Mend what tf2onnx gave, bring it to its precision and name its axes."""
    share_transposed(proto)
    _write_in_place(proto, graph)
    proto = mend(proto, rules)
    if precision == "int8":
        proto = quantize(proto)
    elif precision == "float16":
        proto = half(proto)
    _name_axes(proto, graph)
    _check_standard(proto, name)
    return proto


def _encoder(graph: StepGraph) -> onnx.ModelProto:
    own = graph.onnx_encoder(TF2ONNX_OPSET)
    if own is not None:
        return own
    names = list(graph.encoder_output)

    def encode(source: Any) -> dict[str, Any]:
        return dict(zip(names, graph.encode(source), strict=True))

    inputs = [tf.TensorSpec([None, None], tf.int32, "source")]
    return _convert(encode, inputs, names, ENCODER)


def _decoder(graph: StepGraph) -> onnx.ModelProto:
    count, caches = len(graph.encoder_output), list(graph.caches)

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> dict[str, Any]:
        scores, ids, log_probs, columns = graph.step(
            tokens, position, ancestry, list(state[:count]), list(state[count:])
        )
        outputs = {"scores": scores, "ids": ids, "log_probs": log_probs}
        return outputs | {f"new_{name}": each for name, each in zip(caches, columns, strict=True)}

    outputs = ["scores", "ids", "log_probs", *(f"new_{name}" for name in caches)]
    return _convert(step, _step_inputs(graph), outputs, DECODER)


def _attention(graph: StepGraph) -> onnx.ModelProto:
    count, caches = len(graph.encoder_output), list(graph.caches)

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> dict[str, Any]:
        seen, columns = graph.step_attention(
            tokens, position, ancestry, list(state[:count]), list(state[count:])
        )
        new = {f"new_{name}": each for name, each in zip(caches, columns, strict=True)}
        return {"attention": seen, **new}

    outputs = ["attention", *(f"new_{name}" for name in caches)]
    return _convert(step, _step_inputs(graph), outputs, ATTENTION)


def _step_inputs(graph: StepGraph) -> list[tf.TensorSpec]:
    state = {**graph.encoder_output, **graph.caches}
    return [
        tf.TensorSpec([None, None], tf.int32, "tokens"),
        tf.TensorSpec([1], tf.int32, "position"),
        tf.TensorSpec([None, None, None], tf.bool, "ancestry"),
        *(tf.TensorSpec(free_axes(shape), tf.float32, name) for name, shape in state.items()),
    ]


def _write_in_place(proto: onnx.ModelProto, graph: StepGraph) -> None:
    """Let the decoder write its columns into caches of a fixed width, not behind them.

    Caches are inputs and outputs both: a caller that gives the same memory for the two has
    nothing copied, and what is not yet filled is out of sight of every beam.
    """
    caches = {each.name for each in proto.graph.input if each.name in graph.caches}
    for node in proto.graph.node:
        if node.op_type == "Concat" and node.input[0] in caches:
            node.op_type = "TensorScatter"
            node.input.append(WRITE_AT)
    if caches:
        kind = onnx.TensorProto.INT64
        proto.graph.input.append(onnx.helper.make_tensor_value_info(WRITE_AT, kind, ["B"]))
    proto.opset_import[0].version, proto.ir_version = OPSET, IR_VERSION


def _append(precision: str) -> onnx.ModelProto:
    """``values[rows]`` with ``columns[rows]`` behind them along the third axis."""
    kind = onnx.TensorProto.FLOAT16 if precision == "float16" else onnx.TensorProto.FLOAT
    make, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [
            make("Gather", ["values", "rows"], ["old"], axis=0),
            make("Gather", ["columns", "rows"], ["new"], axis=0),
            make("Concat", ["old", "new"], ["joined"], axis=2),
        ],
        "append",
        [
            value("values", kind, ["B", "H", "P", "D"]),
            value("columns", kind, ["B", "H", "Q", "D"]),
            value("rows", onnx.TensorProto.INT64, ["R"]),
        ],
        [value("joined", kind, ["R", "H", "P + Q", "D"])],
    )
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )


def _convert(
    function: Callable[..., Any],
    inputs: list[tf.TensorSpec],
    outputs: list[str],
    name: str,
) -> onnx.ModelProto:
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    try:
        proto, _ = tf2onnx.convert.from_function(
            tf.function(function, autograph=False), inputs, opset=TF2ONNX_OPSET
        )
    except Exception as error:
        raise NmtError(f"{name}: tf2onnx cannot convert the graph ({error})") from error
    missing = set(outputs) - {each.name for each in proto.graph.output}
    if missing:
        raise NmtError(f"{name}: tf2onnx lost the outputs {', '.join(sorted(missing))}")
    return proto


def _name_axes(proto: Any, graph: StepGraph) -> None:
    """Give free axes their names instead of tf2onnx's made-up ones."""
    shapes = tensor_shapes(graph.config, graph.vocab_size)
    for value in [*proto.graph.input, *proto.graph.output]:
        shape = shapes[value.name]
        for dimension, axis in zip(value.type.tensor_type.shape.dim, shape, strict=True):
            if isinstance(axis, str):
                dimension.dim_param = axis
            else:
                dimension.dim_value = axis


def _check_standard(proto: Any, name: str) -> None:
    foreign = {node.op_type for node in proto.graph.node if node.domain not in ("", "ai.onnx")}
    if foreign:
        raise NmtError(f"{name}: operators outside standard ONNX: {', '.join(sorted(foreign))}")
    onnx.checker.check_model(proto, full_check=False)


def _specs(values: Any) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(
            value.name,
            onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower(),
            tuple(
                each.dim_param if each.HasField("dim_param") else each.dim_value
                for each in value.type.tensor_type.shape.dim
            ),
        )
        for value in values
    )
