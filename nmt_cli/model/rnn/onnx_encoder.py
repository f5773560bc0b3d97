"""The encoder of a recurrent model as ONNX, written by hand.

ONNX has operators for recurrent layers; tf2onnx would write loops instead.

Shapes: B sentences, S source positions, d width, H = d / 2 width of a direction.
"""

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import onnx
import onnx_ir as ir
from keras import ops
from numpy.typing import NDArray
from onnx_ir.tape import Tape

from nmt_cli.model.layers import MASKED
from nmt_cli.text.tokenizer import PAD_ID

if TYPE_CHECKING:
    from nmt_cli.model.rnn.steps import Steps

Weights = NDArray[np.float32]


def recurrent_encoder(graph: "Steps", opset: int) -> onnx.ModelProto:
    """Write :meth:`Steps.encode` as a graph with the same inputs and outputs."""
    tape = Tape()
    source = ir.val("source", ir.DataType.INT32, ["B", "S"])
    tokens = tape.op("Cast", [source], {"to": ir.DataType.INT64})
    pad = _constant(tape, "pad", np.array(PAD_ID))
    seen = tape.op("Cast", [tape.op("Greater", [tokens, pad])], {"to": ir.DataType.INT32})
    lengths = tape.op("ReduceSum", [seen, _vector(tape, 1)], {"keepdims": 0})  # padding is last
    hidden = tape.op("Cast", [tape.op("Equal", [tokens, pad])], {"to": ir.DataType.FLOAT})
    mask = tape.op("Mul", [hidden, _constant(tape, "masked", np.float32(MASKED))])  # [B, S]

    x = _embed(tape, graph.source_embedding, tokens)
    summary: Any = None
    for index, layer in enumerate(graph.encoder_layers):
        x, summary = _recurrent(tape, layer, f"encoder_{index}", x, lengths)
    decoder = graph.decoder
    output = tape.op("Transpose", [x], {"perm": [1, 0, 2]})  # [B, S, d]
    keys = _dense(tape, decoder.keys, output) if decoder.keys else output
    first = [_dense(tape, bridge, summary) for bridge in decoder.bridges]  # each [B, d]

    found = [(mask, (1, 2)), (keys, (1,)), (output, (1,)), *((each, (1, 2)) for each in first)]
    outputs = []
    for (name, shape), (value, axes) in zip(graph.encoder_output.items(), found, strict=True):
        outputs.append(ir.val(name, ir.DataType.FLOAT, shape))
        tape.op("Unsqueeze", [value, _vector(tape, *axes)], output=outputs[-1])
    encoder = ir.Graph(
        [source],
        outputs,
        nodes=tape.nodes,
        initializers=tape.initializers,
        opset_imports={"": opset},
        name="encoder",
    )
    return ir.to_proto(ir.Model(encoder, ir_version=onnx.IR_VERSION))


def _embed(tape: Tape, embedding: Any, tokens: ir.Value) -> ir.Value:
    """Embed tokens as [S, B, d], as the recurrent operators require."""
    matrix = _constant(tape, "embedding", _array(embedding.matrix))
    x = tape.op("Gather", [matrix, tokens], {"axis": 0})
    if embedding.scaled:
        x = tape.op("Mul", [x, _constant(tape, "scale", np.float32(embedding.d_model**0.5))])
    return tape.op("Transpose", [x], {"perm": [1, 0, 2]})


def _recurrent(
    tape: Tape, layer: Any, name: str, x: ir.Value, lengths: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Map [S, B, _] to outputs [S, B, d] and last hidden states [B, d] of both directions."""
    sides = [_direction(side) for side in (layer.forward_layer, layer.backward_layer)]
    weights = [
        _constant(tape, f"{name}_{part}", np.stack(each))
        for part, each in zip(("input", "recurrent", "bias"), zip(*sides, strict=True), strict=True)
    ]
    width = layer.forward_layer.units
    settings = {"direction": "bidirectional", "hidden_size": width}
    if not _is_lstm(layer.forward_layer):
        settings["linear_before_reset"] = 1
    operator = "LSTM" if _is_lstm(layer.forward_layer) else "GRU"
    outputs, last = tape.op_multi_out(operator, [x, *weights, lengths], settings, num_outputs=2)
    outputs = tape.op("Transpose", [outputs], {"perm": [0, 2, 1, 3]})  # [S, B, 2, H]
    last = tape.op("Transpose", [last], {"perm": [1, 0, 2]})  # [B, 2, H]
    outputs = tape.op("Reshape", [outputs, _vector(tape, 0, 0, 2 * width)])
    return outputs, tape.op("Reshape", [last, _vector(tape, 0, 2 * width)])


def _direction(layer: Any) -> tuple[Weights, Weights, Weights]:
    """Return weights in ONNX's layout: [gates * H, inputs], [gates * H, H], [2 * gates * H].

    Gates of an LSTM are input, forget, cell, output in Keras, and input, output, forget, cell in
    ONNX. Those of a GRU are update, reset, hidden in both.
    """
    cell = layer.cell
    kernel, recurrent, bias = (
        _array(each) for each in (cell.kernel, cell.recurrent_kernel, cell.bias)
    )
    if _is_lstm(layer):
        kernel, recurrent, bias = (_lstm_order(each) for each in (kernel, recurrent, bias))
        bias = np.concatenate([bias, np.zeros_like(bias)])
    return np.ascontiguousarray(kernel.T), np.ascontiguousarray(recurrent.T), bias.ravel()


def _lstm_order(columns: Weights) -> Weights:
    of_input, forget, cell, output = np.split(columns, 4, axis=-1)
    return np.concatenate([of_input, output, forget, cell], axis=-1)


def _is_lstm(layer: Any) -> bool:
    return isinstance(layer, keras.layers.LSTM)


def _array(weight: Any) -> Weights:
    return np.asarray(ops.convert_to_numpy(weight), np.float32)


def _dense(tape: Tape, layer: Any, x: ir.Value) -> ir.Value:
    """Apply a Dense layer, with tanh if it has one."""
    x = tape.op("MatMul", [x, _constant(tape, f"{layer.name}_kernel", _array(layer.kernel))])
    if layer.bias is not None:
        x = tape.op("Add", [x, _constant(tape, f"{layer.name}_bias", _array(layer.bias))])
    return tape.op("Tanh", [x]) if layer.activation is keras.activations.tanh else x


def _constant(tape: Tape, name: str, values: Any) -> ir.Value:
    return tape.initializer(ir.tensor(np.asarray(values), name=name))


def _vector(tape: Tape, *values: int) -> ir.Value:
    return _constant(tape, f"vector_{len(tape.initializers)}", np.array(values, np.int64))
