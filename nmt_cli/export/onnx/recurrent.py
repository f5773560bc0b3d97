"""Write the encoder of a recurrent model as ONNX.

ONNX has operators for recurrent layers; tf2onnx would write loops instead.

Shapes: B sentences, S source positions, d width, H = d / 2 width of a direction.
"""

from typing import Any

import keras
import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from nmt_cli.export.onnx.ops import IR_VERSION, OPSET, Ops, output
from nmt_cli.model.layers import MASKED
from nmt_cli.text.tokenizer import PAD_ID

Weights = NDArray[np.float32]


def recurrent_encoder(graph: Any) -> ir.Model:
    """Write the step graph's :meth:`encode` as a graph with the same inputs and outputs."""
    source = ir.val("source", ir.DataType.INT32, ["B", "S"])
    encoder = ir.Graph([source], [], nodes=[], opset_imports={"": OPSET}, name="encoder")
    op = Ops(encoder)
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
    first = [_dense(op, bridge, summary) for bridge in decoder.bridges]  # each [B, d]

    outputs = [(mask, [1, 2]), (keys, [1]), (values, [1]), *((state, [1, 2]) for state in first)]
    for (name, shape), (value, axes) in zip(graph.encoder_output.items(), outputs, strict=True):
        encoder.outputs.append(output(op.Unsqueeze(value, axes), name, ir.DataType.FLOAT, shape))
    return ir.Model(encoder, ir_version=IR_VERSION)


def _recurrent(
    op: Ops, layer: Any, name: str, x: ir.Value, lengths: ir.Value
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


def _direction(cell: Any, is_lstm: bool) -> tuple[Weights, Weights, Weights]:
    """Return weights in ONNX's layout: [gates * H, inputs], [gates * H, H], [2 * gates * H]."""
    # Gates of an LSTM are input, forget, cell, output in Keras, and input, output, forget, cell in
    # ONNX. A GRU's are update, reset, hidden in both.
    arrays = [np.asarray(weight) for weight in (cell.kernel, cell.recurrent_kernel, cell.bias)]
    if is_lstm:
        gates = [np.split(array, 4, axis=-1) for array in arrays]
        arrays = [np.concatenate([i, o, f, c], axis=-1) for i, f, c, o in gates]
        arrays[2] = np.concatenate([arrays[2], np.zeros_like(arrays[2])])
    kernel, recurrent, bias = arrays
    return np.ascontiguousarray(kernel.T), np.ascontiguousarray(recurrent.T), bias.ravel()


def _dense(op: Ops, layer: Any, x: ir.Value) -> ir.Value:
    """Apply a Dense layer, with tanh if it has one."""
    x = op.MatMul(x, op.weight(f"{layer.name}_kernel", layer.kernel))
    if layer.bias is not None:
        x = op.Add(x, op.weight(f"{layer.name}_bias", layer.bias))
    return op.Tanh(x) if layer.activation is keras.activations.tanh else x
