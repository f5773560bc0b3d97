"""The step graphs as ONNX, through tf2onnx.

Inputs and outputs follow the bundle's signatures. The new columns of a cache have its name
with ``new_`` before it.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from nmt_cli.bundle import APPEND, ATTENTION, COLUMNS, DECODER, ENCODER, SELF_ATTENTION, SHORTLIST
from nmt_cli.bundle.manifest import (
    GraphSpec,
    Signature,
    TensorSpec,
    append_signature,
    attention_signature,
    columns_signature,
    decoder_signature,
    encoder_signature,
    self_attention_signature,
    shortlist_signature,
)
from nmt_cli.export.onnx.calibrate import Pairs, calibrate
from nmt_cli.export.onnx.graph_pass import RULES, apply_rules
from nmt_cli.export.onnx.half import half
from nmt_cli.export.onnx.quantize import quantize
from nmt_cli.export.onnx.recurrent import recurrent_encoder
from nmt_cli.export.onnx.shortlist import columns_graph, shortlist_graph
from nmt_cli.export.onnx.weights import save_with_shared_weights, share_transposed
from nmt_cli.model.step_graph import StepGraph, free_axes

TF2ONNX_OPSET = 18  # the newest that tf2onnx 1.17 writes
# Of the graphs: the first with both Attention and TensorScatter. Operators of tf2onnx's opset
# have the same meaning in it.
OPSET, IR_VERSION = 24, 11
WRITE_AT = "write_at"
# tf2onnx copies the graph before each of its optimizers, to continue without one that fails. This
# variable, whatever its value, turns that off: an export takes a third less time.
os.environ["TF2ONNX_CATCH_ERRORS"] = "FALSE"
# Encoders that tf2onnx does not convert well, by architecture.
ENCODERS = {"rnn": recurrent_encoder}
_DTYPES = {"float": tf.float32, "int32": tf.int32, "int64": tf.int64, "bool": tf.bool}


def write_graphs(
    graph: StepGraph,
    folder: Path,
    precision: str = "float32",
    rules: Sequence[str] = tuple(RULES),
    attention: str | None = None,
    pairs: Pairs = (),
    shortlist: int = 0,
) -> dict[str, GraphSpec]:
    """Write the graphs and their weights; returns the graphs' signatures by file name.

    Args:
        graph: what to write.
        folder: exists.
        precision, rules, attention, pairs: see :func:`make_graphs`.
        shortlist: ids of each sentence's vocabulary shortlist; 0 for no such graphs.
    """
    config, specs = graph.config, {}
    protos, signatures = make_graphs(graph, precision, rules, attention, pairs)
    if shortlist:
        signatures[COLUMNS] = columns_signature(config, shortlist, precision)
        signatures[SHORTLIST] = shortlist_signature(config, shortlist, precision)
        protos[COLUMNS] = columns_graph(protos[DECODER])
        protos[SHORTLIST] = shortlist_graph(protos[DECODER])
    for name, signature in signatures.items():
        proto = protos[name]
        inputs, outputs = map(_named, (proto.graph.input, proto.graph.output), signature)
        onnx.checker.check_model(proto, full_check=False)
        specs[name] = GraphSpec(name, OPSET, inputs, outputs)
    save_with_shared_weights(protos, folder)
    return specs


def make_graphs(
    graph: StepGraph,
    precision: str = "float32",
    rules: Sequence[str] = tuple(RULES),
    attention: str | None = None,
    pairs: Pairs = (),
) -> tuple[dict[str, onnx.ModelProto], dict[str, Signature]]:
    """Return the finished graphs and their signatures, by file name.

    Args:
        graph: what to convert.
        precision: one of nmt_cli.bundle.PRECISIONS.
        rules: of the graph pass; benchmarks/graph_pass.py leaves some out.
        attention: "cross" to also return the step with attention weights, "all" for self-attention,
            too.
        pairs: what int8 is calibrated with; see nmt_cli.export.onnx.calibrate.calibrate.
    """

    def append(values: Any, columns: Any, rows: Any) -> list[Any]:
        return [tf.concat([tf.gather(values, rows), tf.gather(columns, rows)], axis=2)]

    config = graph.config
    parts: list[tuple[str, Callable[..., Any], Signature]] = [
        (ENCODER, graph.encode, encoder_signature(config)),
        (DECODER, _step(graph, graph.step), decoder_signature(config, graph.vocab_size)),
        (APPEND, append, append_signature()),
    ]
    if attention:
        parts.append((ATTENTION, _step(graph, graph.step_attention), attention_signature(config)))
    own = self_attention_signature(config)
    if attention == "all" and own[1]:  # a recurrent model has none
        parts.append((SELF_ATTENTION, graph.self_attention, own))
    protos = {}
    for name, function, signature in parts:
        write = ENCODERS.get(config.architecture) if name == ENCODER else None
        proto = write(graph, TF2ONNX_OPSET) if write else convert(function, signature)
        share_transposed(proto)
        _write_in_place(proto, graph)
        protos[name] = apply_rules(proto, rules)
    other = (APPEND, SELF_ATTENTION)
    steps = {name: proto for name, proto in protos.items() if name not in other}
    sizes = calibrate(steps, config, pairs) if precision == "int8" else {}
    for name in protos:
        if precision == "int8":
            protos[name] = quantize(protos[name], sizes.get(name))
        elif precision == "float16":
            protos[name] = half(protos[name])
    return protos, {name: signature for name, _, signature in parts}


def _step(graph: StepGraph, function: Callable[..., Any]) -> Callable[..., Any]:
    """A step of single tensors, which returns what it found and the grown caches."""
    count = len(graph.encoder_output)

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> tuple[Any, ...]:
        *found, grown = function(
            tokens, position, ancestry, list(state[:count]), list(state[count:])
        )
        return *found, *grown

    return step


def convert(function: Callable[..., Any], signature: Signature) -> onnx.ModelProto:
    """Convert a function of tensors, whose names are those of the signature."""
    inputs, outputs = signature

    def named(*tensors: Any) -> dict[str, Any]:
        return dict(zip([each.name for each in outputs], function(*tensors), strict=True))

    tensors = [
        tf.TensorSpec(free_axes(each.shape), _DTYPES[each.dtype], each.name)
        for each in inputs
        if each.name != WRITE_AT
    ]
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    graph = tf.function(named, autograph=False)
    return tf2onnx.convert.from_function(graph, tensors, opset=TF2ONNX_OPSET)[0]


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


def _named(values: Any, signature: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Name the axes of a graph's tensors; returns their signature, with the graph's own types."""
    wanted, specs = {each.name: each for each in signature}, []
    for value in values:
        tensor, spec = value.type.tensor_type, wanted[value.name]
        for dimension, axis in zip(tensor.shape.dim, spec.shape, strict=True):
            if isinstance(axis, str):
                dimension.dim_param = axis
            else:
                dimension.dim_value = axis
        kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
        specs.append(replace(spec, dtype=kind))
    return tuple(specs)
