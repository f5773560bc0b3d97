"""The encoder of a recurrent model as ONNX, written by hand.

ONNX has operators for recurrent layers; tf2onnx would write loops instead.

Shapes: B sentences, S source positions, d width, H = d / 2 width of a direction.
"""

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import onnx
import onnx_ir as ir
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

    embedding = graph.source_embedding
    x = tape.op("Gather", [_constant(tape, "embedding", embedding.matrix), tokens], {"axis": 0})
    if embedding.scaled:
        x = tape.op("Mul", [x, _constant(tape, "scale", np.float32(embedding.d_model**0.5))])
    x = tape.op("Transpose", [x], {"perm": [1, 0, 2]})  # [S, B, d], for the recurrent operators
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


def _recurrent(
    tape: Tape, layer: Any, name: str, x: ir.Value, lengths: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Map [S, B, _] to outputs [S, B, d] and last hidden states [B, d] of both directions."""
    is_lstm = isinstance(layer.forward_layer, keras.layers.LSTM)
    sides = [_direction(side.cell, is_lstm) for side in (layer.forward_layer, layer.backward_layer)]
    weights = [
        _constant(tape, f"{name}_{part}", np.stack(each))
        for part, each in zip(("input", "recurrent", "bias"), zip(*sides, strict=True), strict=True)
    ]
    width = layer.forward_layer.units
    settings = {"direction": "bidirectional", "hidden_size": width}
    if not is_lstm:
        settings["linear_before_reset"] = 1
    outputs, last = tape.op_multi_out(
        "LSTM" if is_lstm else "GRU", [x, *weights, lengths], settings, num_outputs=2
    )
    outputs = tape.op("Transpose", [outputs], {"perm": [0, 2, 1, 3]})  # [S, B, 2, H]
    last = tape.op("Transpose", [last], {"perm": [1, 0, 2]})  # [B, 2, H]
    outputs = tape.op("Reshape", [outputs, _vector(tape, 0, 0, 2 * width)])
    return outputs, tape.op("Reshape", [last, _vector(tape, 0, 2 * width)])


def _direction(cell: Any, is_lstm: bool) -> tuple[Weights, Weights, Weights]:
    """Return weights in ONNX's layout: [gates * H, inputs], [gates * H, H], [2 * gates * H].

    Gates of an LSTM are input, forget, cell, output in Keras, and input, output, forget, cell in
    ONNX. Those of a GRU are update, reset, hidden in both.
    """
    arrays = [np.asarray(each) for each in (cell.kernel, cell.recurrent_kernel, cell.bias)]
    if is_lstm:
        gates = [np.split(each, 4, axis=-1) for each in arrays]
        arrays = [np.concatenate([i, o, f, c], axis=-1) for i, f, c, o in gates]
        arrays[2] = np.concatenate([arrays[2], np.zeros_like(arrays[2])])
    kernel, recurrent, bias = arrays
    return np.ascontiguousarray(kernel.T), np.ascontiguousarray(recurrent.T), bias.ravel()


def _dense(tape: Tape, layer: Any, x: ir.Value) -> ir.Value:
    """Apply a Dense layer, with tanh if it has one."""
    x = tape.op("MatMul", [x, _constant(tape, f"{layer.name}_kernel", layer.kernel)])
    if layer.bias is not None:
        x = tape.op("Add", [x, _constant(tape, f"{layer.name}_bias", layer.bias)])
    return tape.op("Tanh", [x]) if layer.activation is keras.activations.tanh else x


def _constant(tape: Tape, name: str, values: Any) -> ir.Value:
    return tape.initializer(ir.tensor(np.asarray(values), name=name))


def _vector(tape: Tape, *values: int) -> ir.Value:
    return _constant(tape, f"vector_{len(tape.initializers)}", np.array(values, np.int64))
