"""Convert the step graphs to ONNX, through tf2onnx, and derive those of vocabulary shortlists.

Inputs and outputs follow the bundle's signatures. A cache with its new columns has the cache's name
after ``new_``.

With a vocabulary shortlist, the decoder's step computes, instead of one product with the
vocabulary's matrix, one for each sentence, with the columns of its own shortlist. Another graph
gathers them, once per batch. No sum of a sentence depends on the others.

Shapes: B sentences, S source positions, d width, H = d / 2 width of a direction, K beams, N ids of
a shortlist, C candidates, V vocabulary.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx_ir as ir
import tensorflow as tf
import tf2onnx
from numpy.typing import NDArray
from onnx_ir.passes.common import CheckerPass, RemoveUnusedNodesPass

from nmt_cli.bundle import APPEND, ATTENTION, COLUMNS, DECODER, ENCODER, SELF_ATTENTION, SHORTLIST
from nmt_cli.bundle.manifest import GraphSpec, Signature, StoredWeights, TensorSpec, signatures
from nmt_cli.export.onnx import library
from nmt_cli.export.onnx.graph_pass import apply_rules
from nmt_cli.export.onnx.precision import Pairs, calibrate, half, quantize
from nmt_cli.model.layers import MASKED
from nmt_cli.model.step_graph import StepGraph, free_axes
from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.run import Quantized

# The newest that tf2onnx 1.17 writes. Its operators have the same meaning in OPSET.
TF2ONNX_OPSET = 18
WRITE_AT = "write_at"
# tf2onnx copies the graph before each of its optimizers, to continue without one that fails. This
# variable, whatever its value, turns that off: an export takes a third less time.
os.environ["TF2ONNX_CATCH_ERRORS"] = "FALSE"
_DTYPES = {"float": tf.float32, "int32": tf.int32, "int64": tf.int64, "bool": tf.bool}


def write_graphs(
    graph: StepGraph,
    folder: Path,
    precision: str = "float32",
    attention: str | None = None,
    pairs: Pairs = (),
    shortlist: int = 0,
    given: Mapping[str, Quantized] | None = None,
) -> tuple[dict[str, GraphSpec], StoredWeights]:
    """Write the graphs of :func:`make_graphs`, and of shortlists of this size if it is not 0.

    Returns the graphs' signatures, by file name, and where they store the model's weights.
    """
    models, specs = make_graphs(graph, precision, attention, pairs, given), {}
    if shortlist:
        models[COLUMNS] = columns_graph(models[DECODER])
        models[SHORTLIST] = shortlist_graph(models[DECODER])
    expected = signatures(graph.config, graph.vocab_size, shortlist, precision)
    for file, model in models.items():
        inputs, outputs = map(_signed, (model.graph.inputs, model.graph.outputs), expected[file])
        CheckerPass()(model)
        specs[file] = GraphSpec(file, library.OPSET, inputs, outputs)
    library.save_with_shared_weights(models, folder)
    return specs, library.stored_weights({file: models[file] for file in (DECODER, ENCODER)})


def make_graphs(
    graph: StepGraph,
    precision: str = "float32",
    attention: str | None = None,
    pairs: Pairs = (),
    given: Mapping[str, Quantized] | None = None,
) -> dict[str, ir.Model]:
    """Return the finished graphs by file name.

    Args:
        precision: one of nmt_cli.bundle.PRECISIONS.
        attention: "cross" to also return the step with attention weights, "all" for self-attention,
            too.
        pairs: text for :func:`calibrate`.
        given: see :func:`quantize`.
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
        if file == ENCODER and config.architecture == "rnn":
            model = recurrent_encoder(graph)
        else:
            model = convert(function, expected[file])
        library.share_transposed(model)
        library.name_weights(model, weights)
        _write_in_place(model, graph)
        models[file] = apply_rules(model)
    if precision == "int8":
        others = {APPEND, SELF_ATTENTION}
        steps = {file: model for file, model in models.items() if file not in others}
        sizes = {} if given else calibrate(steps, config, pairs)
        return {file: quantize(model, sizes.get(file), given) for file, model in models.items()}
    if precision == "float16":
        return {file: half(model) for file, model in models.items()}
    return models


def _step(graph: StepGraph, function: Callable[..., Any]) -> Callable[..., Any]:
    count = len(graph.encoder_output)

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> tuple[Any, ...]:
        encoded, caches = list(state[:count]), list(state[count:])
        *results, grown = function(tokens, position, ancestry, encoded, caches)
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
    model.graph.opset_imports[""], model.ir_version = library.OPSET, library.IR_VERSION


def _signed(values: Sequence[ir.Value], signature: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Name the axes of a graph's tensors; returns their specs, with the graph's own types."""
    specs = {spec.name: spec for spec in signature}
    for value in values:
        value.shape = ir.Shape(specs[str(value.name)].shape)
    return tuple(
        replace(specs[str(value.name)], dtype=ir.DataType(value.dtype or 0).name.lower())
        for value in values
    )


def recurrent_encoder(graph: Any) -> ir.Model:
    """Write the :meth:`encode` of a recurrent model as a graph with the same inputs and outputs.

    ONNX has operators for recurrent layers; tf2onnx would write loops instead.
    """
    source = ir.val("source", ir.DataType.INT32, ["B", "S"])
    encoder = ir.Graph([source], [], nodes=[], opset_imports={"": library.OPSET}, name="encoder")
    op = library.Ops(encoder)
    tokens = op.Cast(source, to=ir.DataType.INT64)
    seen = op.Cast(op.Greater(tokens, PAD_ID), to=ir.DataType.INT32)
    lengths = op.ReduceSum(seen, [1], keepdims=0)  # padding is last
    hidden = op.Cast(op.Equal(tokens, PAD_ID), to=ir.DataType.FLOAT)
    mask = op.Mul(hidden, np.float32(MASKED))  # [B, S]

    embedding = graph.source_embedding
    x = op.Gather(op.weight("embedding", embedding.matrix), tokens, axis=0)
    if embedding.scaled:
        x = op.Mul(x, np.float32(embedding.d_model**0.5))
    x = op.Transpose(x, perm=[1, 0, 2])  # [S, B, d], for the recurrent operators
    summary: Any = None
    for index, layer in enumerate(graph.encoder_layers):
        x, summary = _recurrent(op, layer, f"encoder_{index}", x, lengths)
    decoder = graph.decoder
    values = op.Transpose(x, perm=[1, 0, 2])  # [B, S, d]
    keys = _dense(op, decoder.keys, values) if decoder.keys else values
    if decoder.scale is not None:
        keys = op.Mul(keys, op.weight("scale", decoder.scale))
    cross = [(keys, [1]), (values, [1])] if graph.config.attends else []
    first = [_dense(op, bridge, summary) for bridge in decoder.bridges]  # each [B, d]

    outputs = [(mask, [1, 2]), *cross, *((state, [1, 2]) for state in first)]
    for (name, shape), (value, axes) in zip(graph.encoder_output.items(), outputs, strict=True):
        value = op.Unsqueeze(value, axes)
        encoder.outputs.append(library.output(value, name, ir.DataType.FLOAT, shape))
    return ir.Model(encoder, ir_version=library.IR_VERSION)


def _recurrent(
    op: library.Ops, layer: Any, name: str, x: ir.Value, lengths: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Map [S, B, _] to outputs [S, B, d] and last hidden states [B, d] of both directions."""
    is_lstm = isinstance(layer.forward_layer, keras.layers.LSTM)
    sides = [_direction(side.cell, is_lstm) for side in (layer.forward_layer, layer.backward_layer)]
    weights = [
        op.weight(f"{name}_{part}", np.stack(both))
        for part, both in zip(("input", "recurrent", "bias"), zip(*sides, strict=True), strict=True)
    ]
    width = layer.forward_layer.units
    settings = {"direction": "bidirectional", "hidden_size": width, "outputs": 2}
    if is_lstm:
        outputs, last = op.LSTM(x, *weights, lengths, **settings)
    else:
        outputs, last = op.GRU(x, *weights, lengths, linear_before_reset=1, **settings)
    outputs = op.Transpose(outputs, perm=[0, 2, 1, 3])  # [S, B, 2, H]
    last = op.Transpose(last, perm=[1, 0, 2])  # [B, 2, H]
    return op.Reshape(outputs, [0, 0, 2 * width]), op.Reshape(last, [0, 2 * width])


def _direction(cell: Any, is_lstm: bool) -> list[NDArray[np.float32]]:
    """Return weights in ONNX's layout: [gates * H, inputs], [gates * H, H], [2 * gates * H]."""
    # Gates of an LSTM are input, forget, cell, output in Keras, and input, output, forget, cell in
    # ONNX. A GRU's are update, reset, hidden in both.
    arrays = [np.asarray(weight) for weight in (cell.kernel, cell.recurrent_kernel, cell.bias)]
    if is_lstm:
        gates = [np.split(array, 4, axis=-1) for array in arrays]
        arrays = [np.concatenate([i, o, f, c], axis=-1) for i, f, c, o in gates]
        arrays[2] = np.concatenate([arrays[2], np.zeros_like(arrays[2])])
    kernel, recurrent, bias = arrays
    return [np.ascontiguousarray(kernel.T), np.ascontiguousarray(recurrent.T), bias.ravel()]


def _dense(op: library.Ops, layer: Any, x: ir.Value) -> ir.Value:
    """Apply a Dense layer, with tanh if it has one."""
    x = op.MatMul(x, op.weight(f"{layer.name}_kernel", layer.kernel))
    if layer.bias is not None:
        x = op.Add(x, op.weight(f"{layer.name}_bias", layer.bias))
    return op.Tanh(x) if layer.activation is keras.activations.tanh else x


def columns_graph(decoder: ir.Model) -> ir.Model:
    """Return the graph that gathers columns [B, d, N] of the softmax layer's matrix.

    If the layer multiplies or adds vectors [V], it also gathers their entries, [B, vectors, N].
    """
    layer = _LastLayer(decoder)
    op, ids = layer.op, layer.ids
    axis, order = (0, [0, 2, 1]) if layer.transposed else (1, [1, 0, 2])
    columns = op.Transpose(op.Gather(layer.matrix, ids, axis=axis), perm=order)
    outputs = [library.substitute(layer.columns, columns)]
    if layer.vectors:
        rows = [op.Unsqueeze(op.Gather(vector, ids), [1]) for vector in layer.vectors]
        outputs.append(library.substitute(layer.entries, op.Concat(*rows, axis=1)))
    return layer.finished([ids], outputs)


def shortlist_graph(decoder: ir.Model) -> ir.Model:
    """Return the step that ranks only each sentence's shortlist."""
    layer = _LastLayer(decoder)
    op, ids, inputs = layer.op, layer.ids, list(layer.graph.inputs)
    (tokens,) = (value for value in inputs if value.name == "tokens")
    by_sentence = op.Concat(op.Shape(tokens), [-1], axis=0)  # [B, K, -1]
    rows, _, *zero_point = layer.product.inputs
    product = getattr(op, layer.product.op_type)
    logits = product(op.Reshape(rows, by_sentence), layer.columns, *zero_point)
    for node, vector in layer.following:
        if node.op_type == "Cast":
            logits = op.Cast(logits, **node.attributes)
        elif vector is not None:
            entries = op.Gather(layer.entries, [layer.vectors.index(vector)], axis=1)  # [B, 1, N]
            logits = getattr(op, node.op_type)(logits, entries)
        elif node.op_type == "Mul":  # int8: sizes of the rows, [B * K, 1]
            logits = op.Mul(logits, op.Reshape(node.inputs[1], by_sentence))
    count = op.Min(op.Shape(tokens, start=1), op.Shape(ids, start=1))
    scores, indices = op.TopK(op.LogSoftmax(logits, axis=-1), count, outputs=2)
    best = op.GatherElements(ids, op.Reshape(indices, [0, -1]), axis=1)
    best = op.Reshape(best, op.Shape(indices))
    step = {value.name: value for value in layer.graph.outputs}
    outputs = [library.substitute(step["scores"], scores), library.substitute(step["ids"], best)]
    outputs += [value for name, value in step.items() if name.startswith("new_")]
    gathered = [ids, layer.columns, *([layer.entries] if layer.vectors else [])]
    return layer.finished([*inputs, *gathered], outputs)


class _LastLayer:
    """The softmax layer of a copy of a step, and the inputs that replace it.

    Attributes:
        matrix: as the bundle stores it; ``transposed`` if that is an embedding [V, d].
        following: the operators from the product to LogSoftmax, each with the vector [V] that it
            reads, or None.
        vectors: all of these.
    """

    def __init__(self, decoder: ir.Model) -> None:
        self._model = decoder.clone()
        self.graph = self._model.graph
        self.op = library.Ops(self.graph)
        (node,) = (node for node in self.graph if node.op_type == "LogSoftmax")
        self.following: list[tuple[Any, Any]] = []
        while (node := node.inputs[0].producer()).op_type not in ("MatMul", "MatMulInteger"):
            self.following.insert(0, (node, _vector(node)))
        self.product = node
        self.vectors = [vector for _, vector in self.following if vector is not None]
        self.matrix = node.inputs[1]
        self.transposed = not self.matrix.is_initializer()
        if self.transposed:
            self.matrix = self.matrix.producer().inputs[0]
        self.ids = ir.val("shortlist", ir.DataType.INT32, [None] * 2)
        self.columns = ir.val("output_columns", self.matrix.dtype, [None] * 3)
        dtype = self.vectors[0].dtype if self.vectors else None
        self.entries = ir.val("output_entries", dtype, [None] * 3)

    def finished(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> ir.Model:
        """Return the graph with other inputs and outputs, and only what these need."""
        self.graph.inputs[:] = inputs
        self.graph.outputs[:] = outputs
        RemoveUnusedNodesPass()(self._model)
        return self._model


def _vector(node: Any) -> Any:
    """Return the constant that an operator applies to each row of logits, or None.

    Int8 multiplies it by a computed 1 first.
    """
    if node.op_type not in ("Add", "Mul"):
        return None
    value = node.inputs[1]
    factors = [value, *(value.producer().inputs if value.producer() else ())]
    return next((factor for factor in factors if factor.is_initializer()), None)
