"""Make the graphs of a vocabulary shortlist from the finished step of the decoder.

Instead of one product with the vocabulary's matrix, the step computes one for each sentence, with
the columns of its own shortlist. Another graph gathers them, once per batch. No sum of a sentence
depends on the others.

Shapes: B sentences, K beams, N ids of a shortlist, C candidates, V vocabulary, d width.
"""

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from nmt_cli.export.onnx.ops import Ops, output

_PRODUCTS = ("MatMul", "MatMulInteger")


def columns_graph(decoder: ir.Model) -> ir.Model:
    """Return the graph that gathers columns [B, d, N] of the softmax layer's matrix.

    If the layer multiplies or adds vectors [V], it also gathers their entries, [B, vectors, N].
    """
    layer = _LastLayer(decoder)
    op, ids = layer.op, layer.ids
    axis, order = (0, [0, 2, 1]) if layer.transposed else (1, [1, 0, 2])
    columns = op.Transpose(op.Gather(layer.matrix, ids, axis=axis), perm=order)
    outputs = [_like(columns, layer.columns)]
    if layer.vectors:
        rows = [op.Unsqueeze(op.Gather(vector, ids), [1]) for vector in layer.vectors]
        outputs.append(_like(op.Concat(*rows, axis=1), layer.entries))
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
    outputs = [_like(scores, step["scores"]), _like(best, step["ids"])]
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
        self.op = Ops(self.graph)
        (node,) = (node for node in self.graph if node.op_type == "LogSoftmax")
        self.following: list[tuple[Any, Any]] = []
        while (node := node.inputs[0].producer()).op_type not in _PRODUCTS:
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
    for value in node.inputs[1:]:
        factors = [value, *(value.producer().inputs if value.producer() else ())]
        if node.op_type in ("Add", "Mul"):
            return next((factor for factor in factors if factor.is_initializer()), None)
    return None


def _like(value: Any, other: Any) -> Any:
    """Give a new value the name, type and shape of another, which loses its name."""
    name, other.name = other.name, f"former_{other.name}"
    return output(value, name, other.dtype, other.shape)
