"""The encoder of a recurrent model as ONNX, written by hand.

ONNX has operators for recurrent layers; tf2onnx would write loops instead.

Shapes: B sentences, S source positions, d width, H = d / 2 width of a direction.
"""

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import onnx
from keras import ops
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from nmt_cli.model.layers import MASKED
from nmt_cli.text.tokenizer import PAD_ID

if TYPE_CHECKING:
    from nmt_cli.model.rnn.steps import Steps

Weights = NDArray[np.float32]


def recurrent_encoder(graph: "Steps", opset: int) -> onnx.ModelProto:
    """Write :meth:`Steps.encode` as a graph with the same inputs and outputs."""
    writer = _Writer()
    tokens = writer.add("Cast", "source", "ids", to=TensorProto.INT64)
    x, lengths = _embed(writer, graph.source_embedding, tokens), _lengths(writer, tokens)
    summary = ""
    for index, layer in enumerate(graph.encoder_layers):
        x, summary = _recurrent(writer, layer, f"encoder_{index}", x, lengths)
    decoder = graph.decoder
    output = keys = writer.add("Transpose", x, "output", perm=[1, 0, 2])  # [B, S, d]
    if decoder.keys:
        keys = writer.dense(decoder.keys, output)
    first = [writer.dense(bridge, summary) for bridge in decoder.bridges]  # each [B, d]
    outputs = [(_mask(writer, tokens), [1, 2]), (keys, [1]), (output, [1])]
    outputs += [(each, [1, 2]) for each in first]
    for name, (value, axes) in zip(graph.encoder_output, outputs, strict=True):
        writer.add("Unsqueeze", [value, writer.vector(axes)], name)
    return writer.model(graph, opset)


def _mask(writer: "_Writer", tokens: str) -> str:
    """Compute the additive mask [B, S]; see nmt_cli.model.layers.padding_mask."""
    hidden = writer.add("Equal", [tokens, writer.constant("pad", np.array(PAD_ID))], "hidden")
    hidden = writer.add("Cast", hidden, "hidden_float", to=TensorProto.FLOAT)
    return writer.add("Mul", [hidden, writer.constant("masked", np.float32(MASKED))], "mask")


def _lengths(writer: "_Writer", tokens: str) -> str:
    """Count the tokens of each sentence, int32 [B]; padding follows them."""
    seen = writer.add("Greater", [tokens, writer.constant("pad", np.array(PAD_ID))], "seen")
    seen = writer.add("Cast", seen, "seen_int", to=TensorProto.INT32)
    return writer.add("ReduceSum", [seen, writer.vector([1])], "lengths", keepdims=0)


def _embed(writer: "_Writer", embedding: Any, tokens: str) -> str:
    """Embed tokens as [S, B, d], as the recurrent operators require."""
    matrix = writer.constant("embedding", _array(embedding.matrix))
    x = writer.add("Gather", [matrix, tokens], "vectors", axis=0)
    if embedding.scaled:
        scale = writer.constant("scale", np.float32(embedding.d_model**0.5))
        x = writer.add("Mul", [x, scale], "scaled_vectors")
    return writer.add("Transpose", x, "over_time", perm=[1, 0, 2])


def _recurrent(writer: "_Writer", layer: Any, name: str, x: str, lengths: str) -> tuple[str, str]:
    """Map [S, B, _] to outputs [S, B, d] and last hidden states [B, d] of both directions."""
    sides = [_direction(side) for side in (layer.forward_layer, layer.backward_layer)]
    weights = [
        writer.constant(f"{name}_{part}", np.stack(each))
        for part, each in zip(("input", "recurrent", "bias"), zip(*sides, strict=True), strict=True)
    ]
    width = layer.forward_layer.units
    lstm = _is_lstm(layer.forward_layer)
    outputs, last = writer.add_two(
        "LSTM" if lstm else "GRU",
        [x, *weights, lengths],
        name,
        direction="bidirectional",
        hidden_size=width,
        **({} if lstm else {"linear_before_reset": 1}),
    )
    joined = writer.vector([0, 0, 2 * width])
    outputs = writer.add("Transpose", outputs, f"{name}_turned", perm=[0, 2, 1, 3])  # [S, B, 2, H]
    outputs = writer.add("Reshape", [outputs, joined], f"{name}_joined")
    last = writer.add("Transpose", last, f"{name}_last", perm=[1, 0, 2])  # [B, 2, H]
    return outputs, writer.add("Reshape", [last, writer.vector([0, 2 * width])], f"{name}_summary")


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


class _Writer:
    """Collects nodes and constants; methods return names of tensors."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, values: Any) -> str:
        self._constants[name] = numpy_helper.from_array(np.asarray(values), name)
        return name

    def vector(self, values: list[int]) -> str:
        name = "vector_" + "_".join(map(str, values))
        return self.constant(name, np.array(values, np.int64))

    def add(self, operator: str, inputs: str | list[str], output: str, **attributes: Any) -> str:
        given = [inputs] if isinstance(inputs, str) else inputs
        self._nodes.append(helper.make_node(operator, given, [output], **attributes))
        return output

    def add_two(
        self, operator: str, inputs: list[str], name: str, **attributes: Any
    ) -> tuple[str, str]:
        outputs = [f"{name}_outputs", f"{name}_states"]
        self._nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0], outputs[1]

    def dense(self, layer: Any, x: str) -> str:
        """Add a Dense layer, with tanh if it has one."""
        name = layer.name
        kernel = self.constant(f"{name}_kernel", _array(layer.kernel))
        y = self.add("MatMul", [x, kernel], f"{name}_product")
        if layer.bias is not None:
            bias = self.constant(f"{name}_bias", _array(layer.bias))
            y = self.add("Add", [y, bias], f"{name}_sum")
        if layer.activation is keras.activations.tanh:
            y = self.add("Tanh", y, f"{name}_tanh")
        return y

    def model(self, graph: "Steps", opset: int) -> onnx.ModelProto:
        value = helper.make_tensor_value_info
        outputs = [
            value(name, TensorProto.FLOAT, shape) for name, shape in graph.encoder_output.items()
        ]
        source = value("source", TensorProto.INT32, ["B", "S"])
        constants = list(self._constants.values())
        proto = helper.make_graph(self._nodes, "encoder", [source], outputs, constants)
        return helper.make_model(proto, opset_imports=[helper.make_opsetid("", opset)])
