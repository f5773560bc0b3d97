"""Convert the step graphs to ONNX, through tf2onnx.

Inputs and outputs follow the bundle's signatures. A cache with its new columns has the cache's name
after ``new_``.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import tensorflow as tf
import tf2onnx
from onnx_ir.passes.common import CheckerPass

from nmt_cli.bundle import APPEND, ATTENTION, COLUMNS, DECODER, ENCODER, SELF_ATTENTION, SHORTLIST
from nmt_cli.bundle.manifest import (
    GraphSpec,
    Signature,
    StoredWeights,
    TensorSpec,
    signatures,
)
from nmt_cli.export.onnx.graph_pass import apply_rules
from nmt_cli.export.onnx.half import half
from nmt_cli.export.onnx.ops import IR_VERSION, OPSET
from nmt_cli.export.onnx.quantize import Pairs, calibrate, quantize
from nmt_cli.export.onnx.recurrent import recurrent_encoder
from nmt_cli.export.onnx.shortlist import columns_graph, shortlist_graph
from nmt_cli.export.onnx.weights import (
    name_weights,
    save_with_shared_weights,
    share_transposed,
    stored_weights,
)
from nmt_cli.model.step_graph import StepGraph, free_axes

# The newest that tf2onnx 1.17 writes. Its operators have the same meaning in OPSET.
TF2ONNX_OPSET = 18
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
    attention: str | None = None,
    pairs: Pairs = (),
    shortlist: int = 0,
) -> tuple[dict[str, GraphSpec], StoredWeights]:
    """Write the graphs of :func:`make_graphs`, and of shortlists of this size if it is not 0.

    Returns:
        The graphs' signatures, by file name, and where encoder and decoder store the model's
        weights.
    """
    models, specs = make_graphs(graph, precision, attention, pairs), {}
    if shortlist:
        models[COLUMNS] = columns_graph(models[DECODER])
        models[SHORTLIST] = shortlist_graph(models[DECODER])
    expected = signatures(graph.config, graph.vocab_size, shortlist, precision)
    for file, model in models.items():
        inputs, outputs = map(_signed, (model.graph.inputs, model.graph.outputs), expected[file])
        CheckerPass()(model)
        specs[file] = GraphSpec(file, OPSET, inputs, outputs)
    save_with_shared_weights(models, folder)
    return specs, stored_weights({file: models[file] for file in (DECODER, ENCODER)})


def make_graphs(
    graph: StepGraph,
    precision: str = "float32",
    attention: str | None = None,
    pairs: Pairs = (),
) -> dict[str, ir.Model]:
    """Return the finished graphs by file name.

    Args:
        precision: one of nmt_cli.bundle.PRECISIONS.
        attention: "cross" to also return the step with attention weights, "all" for self-attention,
            too.
        pairs: text for :func:`calibrate`.
    """

    def append(values: Any, columns: Any, rows: Any) -> list[Any]:
        return [tf.concat([tf.gather(values, rows), tf.gather(columns, rows)], axis=2)]

    config = graph.config
    weights = {weight.path: np.asarray(weight) for weight in graph.model.weights}
    functions: dict[str, Callable[..., Any]] = {
        ENCODER: graph.encode,
        DECODER: _step(graph, graph.step),
        APPEND: append,
    }
    if attention:
        functions[ATTENTION] = _step(graph, graph.step_attention)
    if attention == "all" and config.self_attention():  # a recurrent model has none
        functions[SELF_ATTENTION] = graph.self_attention
    expected, models = signatures(config, graph.vocab_size), {}
    for file, function in functions.items():
        write = ENCODERS.get(config.architecture) if file == ENCODER else None
        model = write(graph) if write else convert(function, expected[file])
        share_transposed(model)
        name_weights(model, weights)
        _write_in_place(model, graph)
        models[file] = apply_rules(model)
    steps = {file: model for file, model in models.items() if file not in (APPEND, SELF_ATTENTION)}
    sizes = calibrate(steps, config, pairs) if precision == "int8" else {}
    for file in models:
        if precision == "int8":
            models[file] = quantize(models[file], sizes.get(file))
        elif precision == "float16":
            models[file] = half(models[file])
    return models


def _step(graph: StepGraph, function: Callable[..., Any]) -> Callable[..., Any]:
    count = len(graph.encoder_output)

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> tuple[Any, ...]:
        *results, grown = function(
            tokens, position, ancestry, list(state[:count]), list(state[count:])
        )
        return *results, *grown

    return step


def convert(function: Callable[..., Any], signature: Signature) -> ir.Model:
    """Convert a function of tensors, whose names are those of the signature."""
    inputs, outputs = signature

    def named(*values: Any) -> dict[str, Any]:
        return dict(zip([spec.name for spec in outputs], function(*values), strict=True))

    tensors = [
        tf.TensorSpec(free_axes(spec.shape), _DTYPES[spec.dtype], spec.name)
        for spec in inputs
        if spec.name != WRITE_AT
    ]
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    graph = tf.function(named, autograph=False)
    proto, _ = tf2onnx.convert.from_function(graph, tensors, opset=TF2ONNX_OPSET)
    return ir.from_proto(proto)


def _write_in_place(model: ir.Model, graph: StepGraph) -> None:
    """Let the decoder write its columns into caches of a fixed width instead of appending them."""
    # If a caller uses the same memory for a cache as input and output, nothing is copied. Columns
    # that are not yet filled are masked for every beam.
    caches = [value for value in model.graph.inputs if value.name in graph.caches]
    if caches:
        write_at = ir.val(WRITE_AT, ir.DataType.INT64, ["B"])
        model.graph.inputs.append(write_at)
    for cache in caches:
        for node in cache.consumers():
            if node.op_type == "Concat" and node.inputs[0] is cache:
                node.op_type = "TensorScatter"
                node.resize_inputs(len(node.inputs) + 1)
                node.replace_input_with(len(node.inputs) - 1, write_at)
    model.graph.opset_imports[""], model.ir_version = OPSET, IR_VERSION


def _signed(values: Sequence[ir.Value], signature: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Name the axes of a graph's tensors; returns their specs, with the graph's own types."""
    specs = {spec.name: spec for spec in signature}
    for value in values:
        value.shape = ir.Shape(specs[str(value.name)].shape)
    return tuple(
        replace(specs[str(value.name)], dtype=ir.DataType(value.dtype or 0).name.lower())
        for value in values
    )
