"""Writing ONNX operators as method calls, and loops as functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import NameFixPass, TopologicalSortPass

# Values by name.
State = dict[str, Any]


class Ops:
    """Adds operators to a graph: ``op.Add(x, 1)`` returns the sum.

    Python's numbers and lists become constants of type bool, int64 and float64. The graph is not
    sorted.
    """

    def __init__(self, graph: Any) -> None:
        self._tape = ir.tape.Tape(graph)

    def weight(self, name: str, values: Any) -> ir.Value:
        """A tensor that the graph stores under a name."""
        return self._tape.initializer(ir.tensor(np.asarray(values), name=name))

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        def add(*inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
            values = [self._value(each) for each in inputs]
            found = self._tape.op_multi_out(
                operator, values, attributes, num_outputs=outputs, domain=domain
            )
            return found[0] if outputs == 1 else found

        return add

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, ir.Value):
            return value
        return self._tape.op("Constant", [], {"value": ir.tensor(np.asarray(value))})

    def vector(self, *numbers: Any) -> Any:
        """A vector of numbers, known or computed."""
        return self.Concat(*(self.Reshape(each, [1]) for each in numbers), axis=0)

    def size(self, value: Any, axis: int) -> Any:
        """The size of an axis, int64 [1]."""
        return self.Shape(value, start=axis, end=axis + 1)

    def full(self, number: Any, *sizes: Any) -> Any:
        """A tensor of one number."""
        return self.Expand(number, self.vector(*sizes))

    def count(self, size: Any) -> Any:
        """The numbers below a size [1], int64."""
        return self.Range(0, self.Squeeze(size), 1)

    def widen(self, value: Any, columns: Any, axis: int, axes: int) -> Any:
        """Append columns of zeros to one of the axes of a value."""
        after = [columns if each == axis else 0 for each in range(axes)]
        return self.Pad(value, self.vector(*[0] * axes, *after))

    def loop(
        self, state: State, body: Callable[["Ops", State], tuple[Any, State]], graph: Any = None
    ) -> State:
        """Run a body until it returns False.

        Args:
            state: before the first turn, which always runs.
            body: adds a turn's operators; returns whether another one follows, and the new state.
            graph: becomes the body; None for an empty one.
        """
        graph = graph or ir.Graph([], [], nodes=[], name="body")
        start = {name: self._value(each) for name, each in state.items()}
        own = {name: ir.Value(name=name) for name in start}
        more, after = body(Ops(graph), own)
        turn = ir.val("turn", ir.DataType.INT64, []), ir.val("goes_on", ir.DataType.BOOL, [])
        graph.inputs[:] = [*turn, *own.values()]
        graph.outputs[:] = [more, *(after[name] for name in start)]
        inputs, loop = (
            [None, self._value(True), *start.values()],
            {"body": ir.AttrGraph("body", graph)},
        )
        found = self._tape.op_multi_out("Loop", inputs, loop, num_outputs=len(start))
        return dict(zip(start, found, strict=True))


def finish(model: ir.Model) -> None:
    """Sort the nodes, and give each value a name that none has in a loop or around it."""
    TopologicalSortPass()(model)
    for number, node in enumerate(model.graph.all_nodes()):
        for place, value in enumerate(node.outputs):
            if not value.is_graph_output():  # NameFixPass overlooks names that follow a loop
                value.name = f"value_{number}_{place}"
    NameFixPass()(model)
