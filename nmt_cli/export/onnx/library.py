"""What the modules that make graphs share: operators as method calls, and the weights.

A bundle's graphs have one file of weights, which stores each matrix once: encoder and decoder share
embeddings, and the softmax layer may be the embedding transposed. ONNX calls such a file external
data: a tensor names the file, its offset and its length.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common

from nmt_cli.bundle import WEIGHTS
from nmt_cli.bundle.manifest import StoredWeights

# Of finished graphs: the first opset with both Attention and TensorScatter.
OPSET, IR_VERSION = 24, 11
# Values by name.
State = dict[str, Any]
# Smaller tensors stay inside the graph, where shape inference needs some of them.
_MIN_BYTES = 1024
# Runtimes map the file into memory: matrices start at page boundaries.
_PAGE = 4096
# Key of a graph's metadata: names of the tensors, by name of the weight.
_TENSORS = "tensors"


class Ops:
    """Adds operators to a graph: ``op.Add(x, 1)`` returns the sum.

    Python's numbers and lists become constants of type bool, int64 and float64. The graph is not
    sorted.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self._tape = ir.tape.Tape(graph)

    def weight(self, name: str, values: Any) -> ir.Value:
        """Return a tensor that the graph stores under a name."""
        return self._tape.initializer(ir.tensor(np.asarray(values), name=name))

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        def add(*inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
            values = [self.value(one) for one in inputs]
            results = self._tape.op_multi_out(
                operator, values, attributes, num_outputs=outputs, domain=domain
            )
            return results[0] if outputs == 1 else results

        return add

    def value(self, value: Any) -> Any:
        """Return a constant of a number or array; a value of the graph or None as it is."""
        if value is None or isinstance(value, ir.Value):
            return value
        return self.Constant(value=ir.tensor(np.asarray(value)))

    def vector(self, *numbers: Any) -> Any:
        """Return a vector of numbers, constant or computed."""
        return self.Concat(*(self.Reshape(number, [1]) for number in numbers), axis=0)

    def size(self, value: Any, axis: int) -> Any:
        """Return the size of an axis, int64 [1]."""
        return self.Shape(value, start=axis, end=axis + 1)

    def full(self, number: Any, *sizes: Any) -> Any:
        """Return a tensor of one number."""
        return self.Expand(number, self.vector(*sizes))

    def count(self, size: Any) -> Any:
        """Return the numbers below a size [1], int64."""
        return self.Range(0, self.Squeeze(size), 1)

    def widen(self, value: Any, columns: Any, axis: int, axes: int) -> Any:
        """Append columns of zeros to one of the axes of a value."""
        after = [columns if index == axis else 0 for index in range(axes)]
        return self.Pad(value, self.vector(*[0] * axes, *after))

    def loop(
        self, state: State, body: Callable[["Ops", State], tuple[Any, State]], graph: Any = None
    ) -> State:
        """Run a body, at least once, until it returns False.

        The body adds a turn's operators to the graph, or to an empty one; it returns whether
        another turn follows, and the new state.
        """
        graph = graph or ir.Graph([], [], nodes=[], name="body")
        start = {name: self.value(value) for name, value in state.items()}
        before = {name: ir.Value(name=name) for name in start}
        more, after = body(Ops(graph), before)
        turn = ir.val("turn", ir.DataType.INT64, []), ir.val("goes_on", ir.DataType.BOOL, [])
        graph.inputs[:] = [*turn, *before.values()]
        graph.outputs[:] = [more, *(after[name] for name in start)]
        loop = self.Loop(None, True, *start.values(), body=graph, outputs=len(start))
        return dict(zip(start, loop, strict=True))


def substitute(value: Any, new: ir.Value) -> ir.Value:
    """Let a new value take the place, the name, the type and the shape of another."""
    value.replace_all_uses_with(new, replace_graph_outputs=True)
    new.name, new.type, new.shape = value.name, value.type, value.shape
    value.name = f"former_{value.name}"
    return new


def output(value: ir.Value, name: str, dtype: Any, shape: Any) -> ir.Value:
    """Give a value the name, type and shape of a graph's output."""
    value.name, value.dtype, value.shape = name, dtype, ir.Shape(shape)
    return value


def tidy(model: ir.Model) -> None:
    """Sort the nodes, merge equal ones, and remove those that no output needs."""
    common.TopologicalSortPass()(model)
    common.CommonSubexpressionEliminationPass()(model)
    common.RemoveUnusedNodesPass()(model)


def finish(model: ir.Model) -> ir.Model:
    """Sort the nodes, and give each value a name that no other value has in or around a loop."""
    common.TopologicalSortPass()(model)
    for number, node in enumerate(model.graph.all_nodes()):
        for index, value in enumerate(node.outputs):
            if not value.is_graph_output():  # NameFixPass overlooks names that follow a loop
                value.name = f"value_{number}_{index}"
    common.NameFixPass()(model)
    return model


def share_transposed(model: ir.Model) -> None:
    """Replace constants that are an embedding transposed by its Transpose, which runtimes fold."""
    matrices = dict(_matrices(model.graph))
    for matrix in list(matrices.values()):
        twin = matrices.get(_digest(matrix.const_value.numpy().T))
        if twin is None or twin is matrix:
            continue
        if any(node.op_type == "Gather" for node in twin.consumers()):
            matrix.replace_all_uses_with(Ops(model.graph).Transpose(twin, perm=[1, 0]))
            del model.graph.initializers[matrix.name]
    common.TopologicalSortPass()(model)


def share_with_body(graph: ir.Graph, body: ir.Graph) -> None:
    """Let a loop's body read matrices that its outer graph also has from there.

    Other weights stay in the body: ONNX Runtime packs only those for its products.
    """
    known = dict(_matrices(graph))
    for digest, matrix in list(_matrices(body)):
        if digest in known:
            matrix.replace_all_uses_with(known[digest])
            del body.initializers[matrix.name]


def _matrices(graph: ir.Graph) -> Iterator[tuple[str, Any]]:
    for value in [*graph.initializers.values()]:
        if value.const_value.shape.rank() == 2:
            yield _digest(value.const_value.numpy()), value


def name_weights(model: ir.Model, weights: Mapping[str, np.ndarray]) -> None:
    """Name the tensors of a converted graph like the weights with the same values, and record which
    is which. Several weights may have equal values; conversion has changed others."""
    tensors = [*model.graph.initializers.values()]
    values = {_digest(tensor.const_value.numpy()): tensor for tensor in tensors}
    stored = {name: values.get(_digest(weight)) for name, weight in weights.items()}
    for name, value in stored.items():
        if value is not None:
            value.name = name
    model.meta[_TENSORS] = {name: value.name for name, value in stored.items() if value is not None}


def stored_weights(models: Mapping[str, ir.Model]) -> StoredWeights:
    """Return where graphs, by file name, store the weights of the model."""
    stored = StoredWeights()
    for file, model in models.items():
        for name, tensor in model.meta[_TENSORS].items():
            stored.tensors[name] = f"{file}:{tensor}"
    return stored


def save_with_shared_weights(models: Mapping[str, ir.Model], folder: Path) -> None:
    """Write graphs, by file name, and their weights to WEIGHTS; removes them from the graphs."""
    blocks: dict[str, tuple[int, int]] = {}
    with (folder / WEIGHTS).open("wb") as stream:
        for model in models.values():
            for value in [*model.graph.initializers.values()]:
                tensor = value.const_value
                array = tensor.numpy()
                if array.nbytes < _MIN_BYTES:
                    continue
                digest = _digest(array)
                if digest not in blocks:
                    stream.write(b"\0" * (-stream.tell() % _PAGE))
                    blocks[digest] = (stream.tell(), array.nbytes)
                    stream.write(array.tobytes())
                place = (WEIGHTS, *blocks[digest], tensor.dtype)
                value.const_value = ir.ExternalTensor(
                    *place, shape=tensor.shape, name=value.name, base_dir=folder
                )
    for name, model in models.items():
        (folder / name).write_bytes(serialized(model))


def serialized(model: ir.Model) -> bytes:
    """Return a graph as the content of an ONNX file."""
    return ir.to_proto(model).SerializeToString()


def _digest(values: np.ndarray) -> str:
    array = np.ascontiguousarray(values)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
