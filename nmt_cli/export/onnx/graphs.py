"""The step graphs as ONNX, through tf2onnx.

Inputs and outputs follow the bundle's tensor contract. The new columns of a cache have its name
with ``new_`` before it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from nmt_cli.bundle import APPEND, ATTENTION, DECODER, ENCODER
from nmt_cli.bundle.contract import (
    append_contract,
    attention_contract,
    decoder_contract,
    encoder_contract,
)
from nmt_cli.bundle.manifest import GraphSpec, TensorSpec
from nmt_cli.errors import NmtError
from nmt_cli.export.onnx.graph_pass import RULES, apply_rules
from nmt_cli.export.onnx.half import half
from nmt_cli.export.onnx.quantize import quantize
from nmt_cli.export.onnx.weights import save_with_shared_weights, share_transposed
from nmt_cli.model.step_graph import StepGraph, free_axes

TF2ONNX_OPSET = 18  # the newest that tf2onnx 1.17 writes
# Of the graphs: the first with both Attention and TensorScatter. Operators of tf2onnx's opset
# have the same meaning in it.
OPSET, IR_VERSION = 24, 11
WRITE_AT = "write_at"
_DTYPES = {"float": tf.float32, "int32": tf.int32, "bool": tf.bool}

Contract = tuple[list[TensorSpec], list[TensorSpec]]


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
        folder: exists.
        precision: one of nmt_cli.bundle.PRECISIONS.
        rules: of the graph pass; benchmarks/graph_pass.py leaves some out.
        attention: also write the step with attention weights.

    Raises:
        NmtError: tf2onnx cannot convert a graph, or returns operators that are not standard.
    """
    contracts = {
        ENCODER: encoder_contract(graph.config),
        DECODER: decoder_contract(graph.config, graph.vocab_size),
        APPEND: append_contract(),
    }
    converted = {
        ENCODER: graph.onnx_encoder(TF2ONNX_OPSET) or _encoder(graph, contracts[ENCODER]),
        DECODER: _step(graph.step, ("scores", "ids", "log_probs"), graph, contracts[DECODER]),
    }
    if attention:
        contracts[ATTENTION] = attention_contract(graph.config)
        converted[ATTENTION] = _step(
            graph.step_attention, ("attention",), graph, contracts[ATTENTION]
        )
    protos = {
        name: _append(precision)
        if name == APPEND
        else _finish(converted[name], contract, graph, precision, rules)
        for name, contract in contracts.items()
    }
    specs = {name: _spec(name, proto, contracts[name]) for name, proto in protos.items()}
    save_with_shared_weights(protos, folder)
    return specs


def _finish(
    proto: onnx.ModelProto,
    contract: Contract,
    graph: StepGraph,
    precision: str,
    rules: Sequence[str],
) -> onnx.ModelProto:
    """Rewrite a graph of tf2onnx for ONNX Runtime, in its precision and with named axes."""
    share_transposed(proto)
    _write_in_place(proto, graph)
    proto = apply_rules(proto, rules)
    if precision == "int8":
        proto = quantize(proto)
    elif precision == "float16":
        proto = half(proto)
    axes = {each.name: each.shape for side in contract for each in side}
    for value in [*proto.graph.input, *proto.graph.output]:
        for dimension, axis in zip(value.type.tensor_type.shape.dim, axes[value.name], strict=True):
            if isinstance(axis, str):
                dimension.dim_param = axis
            else:
                dimension.dim_value = axis
    foreign = {node.op_type for node in proto.graph.node if node.domain not in ("", "ai.onnx")}
    if foreign:
        raise NmtError(f"operators outside standard ONNX: {', '.join(sorted(foreign))}")
    onnx.checker.check_model(proto, full_check=False)
    return proto


def _encoder(graph: StepGraph, contract: Contract) -> onnx.ModelProto:
    def encode(source: Any) -> dict[str, Any]:
        return dict(zip(graph.encoder_output, graph.encode(source), strict=True))

    return _convert(encode, contract)


def _step(
    function: Callable[..., Any], names: Sequence[str], graph: StepGraph, contract: Contract
) -> onnx.ModelProto:
    """Convert a step that returns tensors with these names, then the grown caches."""
    count = len(graph.encoder_output)
    outputs = [*names, *(f"new_{name}" for name in graph.caches)]

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> dict[str, Any]:
        *found, grown = function(
            tokens, position, ancestry, list(state[:count]), list(state[count:])
        )
        return dict(zip(outputs, [*found, *grown], strict=True))

    return _convert(step, contract)


def _write_in_place(proto: onnx.ModelProto, graph: StepGraph) -> None:
    """Let the decoder write its columns into caches of a fixed width instead of appending them.

    If a caller uses the same memory for a cache as input and output, nothing is copied. Columns
    that are not yet filled are masked for every beam.
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
    """``values[rows]`` and ``columns[rows]``, concatenated along the third axis."""
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


def _convert(function: Callable[..., Any], contract: Contract) -> onnx.ModelProto:
    inputs, outputs = contract
    signature = [
        tf.TensorSpec(free_axes(each.shape), _DTYPES[each.dtype], each.name)
        for each in inputs
        if each.name != WRITE_AT
    ]
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    try:
        proto, _ = tf2onnx.convert.from_function(
            tf.function(function, autograph=False), signature, opset=TF2ONNX_OPSET
        )
    except Exception as error:
        raise NmtError(f"tf2onnx cannot convert the graph ({error})") from error
    missing = {each.name for each in outputs} - {each.name for each in proto.graph.output}
    if missing:
        raise NmtError(f"tf2onnx lost the outputs {', '.join(sorted(missing))}")
    return proto


def _spec(name: str, proto: onnx.ModelProto, contract: Contract) -> GraphSpec:
    """A graph's contract: that of its architecture with the graph's own types."""
    by_name = {each.name: each for side in contract for each in side}
    inputs, outputs = (
        tuple(
            replace(
                by_name[value.name],
                dtype=onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower(),
            )
            for value in values
        )
        for values in (proto.graph.input, proto.graph.output)
    )
    return GraphSpec(name, OPSET, inputs, outputs)
