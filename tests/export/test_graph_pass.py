"""Each graph rule, on the pattern that it rewrites and on similar patterns that it must not."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from nmt_cli.export.onnx import graph_pass

RNG = np.random.default_rng(9)
# Square, so that a wrong rewrite still broadcasts.
SQUARE = RNG.normal(loc=1, scale=2, size=(6, 6)).astype(np.float32)
MATRIX = RNG.normal(size=(6, 5)).astype(np.float32)
SCALE, OFFSET = (RNG.normal(size=6).astype(np.float32) for _ in range(2))
EPSILON = np.float32(0.5)  # large enough to change the result

Values = dict[str, NDArray]


def graph(
    nodes: str,
    inputs: Values,
    constants: Values,
    outputs: tuple[str, ...] = ("y",),
    opset: int = 18,
    width: int | None = None,
) -> onnx.ModelProto:
    """Build a model from nodes, one per line: ``y = Add(a, b) axis=1``.

    ``width`` is the size of the last axis of inputs with three or more axes.
    """
    onnx_nodes = []
    for line in nodes.strip().splitlines():
        target, _, call = line.strip().partition(" = ")
        operator, _, rest = call.partition("(")
        names, _, attributes = rest.partition(")")
        pairs = (pair.split("=") for pair in attributes.split())
        onnx_nodes.append(
            helper.make_node(
                operator,
                [operand.strip() for operand in names.split(",")],
                target.split(","),
                **{
                    key: json.loads(f"[{value}]" if "," in value else value) for key, value in pairs
                },
            )
        )

    def shape(array: NDArray) -> list[int | None]:
        return [None] * array.ndim if array.ndim < 3 else [None] * (array.ndim - 1) + [width]

    value, kind = helper.make_tensor_value_info, helper.np_dtype_to_tensor_dtype
    proto = helper.make_graph(
        onnx_nodes,
        "piece",
        [value(name, kind(array.dtype), shape(array)) for name, array in inputs.items()],
        [value(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def apply_rules(
    proto: onnx.ModelProto, rules: Sequence[str] = tuple(graph_pass.RULES)
) -> onnx.ModelProto:
    return ir.to_proto(graph_pass.apply_rules(ir.from_proto(proto), rules))


def run(proto: onnx.ModelProto, inputs: Values) -> list[NDArray]:
    """Run a graph without ONNX Runtime's own fusions."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def operators(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node if node.op_type != "Constant")


def assert_same(
    before: onnx.ModelProto, after: onnx.ModelProto, inputs: Values, tolerance: float = 0.0
) -> None:
    for expected, result in zip(run(before, inputs), run(after, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


class TestLayerNorm:
    NODES = """
        m = ReduceMean(x, axes) keepdims=1
        c = Sub(x, m)
        s = Mul(c, c)
        v = ReduceMean(s, axes) keepdims=1
        e = Add(v, epsilon)
        d = Sqrt(e)
        n = Div(c, d)
        k = Mul(n, scale)
        y = Add(k, offset)
    """
    CONSTANTS: ClassVar[Values] = {
        "epsilon": EPSILON,
        "scale": SCALE,
        "offset": OFFSET,
        "axes": np.array([-1]),
    }

    def test_it_becomes_one_operator(self) -> None:
        before = graph(self.NODES, {"x": SQUARE}, self.CONSTANTS)
        after = apply_rules(before)
        assert operators(after) == {"LayerNormalization": 1}
        (node,) = (node for node in after.graph.node if node.op_type != "Constant")
        attributes = {
            attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute
        }
        assert attributes == {"axis": -1, "epsilon": EPSILON}
        assert_same(before, after, {"x": SQUARE}, 1e-5)
        by_hand = SQUARE - SQUARE.mean(-1, keepdims=True)
        by_hand /= np.sqrt((by_hand**2).mean(-1, keepdims=True) + EPSILON)
        assert run(after, {"x": SQUARE})[0] == pytest.approx(by_hand * SCALE + OFFSET, abs=1e-5)

    def test_sums_and_products_commute(self) -> None:
        nodes = (
            self.NODES.replace("Add(v, epsilon)", "Add(epsilon, v)")
            .replace("Mul(n, scale)", "Mul(scale, n)")
            .replace("Add(k, offset)", "Add(offset, k)")
        )
        before = graph(nodes, {"x": SQUARE}, self.CONSTANTS)
        after = apply_rules(before)
        assert operators(after) == {"LayerNormalization": 1}
        assert_same(before, after, {"x": SQUARE}, 1e-5)

    def test_more_than_two_axes(self) -> None:
        x = {"x": RNG.normal(size=(2, 3, 6)).astype(np.float32)}
        before = graph(self.NODES, x, self.CONSTANTS)
        assert operators(apply_rules(before)) == {"LayerNormalization": 1}
        assert_same(before, apply_rules(before), x, 1e-5)

    @pytest.mark.parametrize("axes", [[0], [-2], [0, 1], [-1, -2]])
    def test_not_over_other_axes(self, axes: list[int]) -> None:
        before = graph(self.NODES, {"x": SQUARE}, {**self.CONSTANTS, "axes": np.array(axes)})
        after = apply_rules(before)
        assert "LayerNormalization" not in operators(after)
        assert_same(before, after, {"x": SQUARE})

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("m = ReduceMean(x, axes) keepdims=1", "m = ReduceMean(x, axes) keepdims=0"),
            ("Mul(c, c)", "Mul(x, x)"),
            ("Mul(c, c)", "Mul(c, x)"),
            ("Div(c, d)", "Div(x, d)"),
            ("Div(c, d)", "Div(d, c)"),
            ("Sub(x, m)", "Sub(m, x)"),
            ("Add(v, epsilon)", "Add(m, epsilon)"),
        ],
    )
    def test_similar_patterns_do_not_match(self, old: str, new: str) -> None:
        nodes = self.NODES.replace(old, new)
        assert nodes != self.NODES
        before = graph(nodes, {"x": SQUARE}, self.CONSTANTS)
        after = apply_rules(before)
        assert "LayerNormalization" not in operators(after)
        assert_same(before, after, {"x": SQUARE})

    def test_not_with_an_epsilon_known_only_at_run_time(self) -> None:
        inputs: Values = {"x": SQUARE, "epsilon": np.array(EPSILON)}
        constants = {name: value for name, value in self.CONSTANTS.items() if name != "epsilon"}
        before = graph(self.NODES, inputs, constants)
        after = apply_rules(before)
        assert "LayerNormalization" not in operators(after)
        assert_same(before, after, inputs)

    def test_other_outputs_of_the_graph_stay(self) -> None:
        before = graph(self.NODES, {"x": SQUARE}, self.CONSTANTS, outputs=("y", "d"))
        assert_same(before, apply_rules(before), {"x": SQUARE}, 1e-5)

    @pytest.mark.parametrize("shape", [(), (1,), (6, 1), (6, 6)])
    def test_other_shapes_of_scale(self, shape: tuple[int, ...]) -> None:
        scale = RNG.normal(size=shape).astype(np.float32)
        before = graph(self.NODES, {"x": SQUARE}, {**self.CONSTANTS, "scale": scale})
        assert_same(before, apply_rules(before), {"x": SQUARE}, 1e-5)


class TestSlice:
    # INT32 is 6, FLOAT is 1.
    NODES = """
        b = Less(step, zero)
        c = Concat(zero, zero, start) axis=0
        d = And(b, whole)
        f = Where(d, largest, c)
        g = Concat(zero, zero, end) axis=0
        h = Cast(g) to=1
        i = Max(h, bounds)
        j = Cast(i) to=6
        k = Equal(j, largest)
        m = And(k, b)
        n = Where(m, smallest, j)
        y = Slice(x, f, n, axes, step)
    """
    X = np.broadcast_to(SQUARE, (2, 6, 6))[..., None]
    CONSTANTS: ClassVar[Values] = {
        "step": np.ones(3, np.int32),
        "zero": np.zeros(1, np.int32),
        "axes": np.arange(3, dtype=np.int32),
        "whole": np.array([True, True, False]),
        "bounds": np.array([1e9, 1e9, -1e9], np.float32),
        "largest": np.int32(1_000_000_000),
        "smallest": np.int32(-1_000_000_000),
    }

    @pytest.mark.parametrize("ends", [(2, 4), (-2, 0), (0, 6), (4, 9)], ids=str)
    def test_it_becomes_one_operator(self, ends: tuple[int, int]) -> None:
        first, last = ([end] for end in ends)
        inputs = {"start": np.array(first, np.int32), "end": np.array(last, np.int32), "x": self.X}
        before = graph(self.NODES, inputs, self.CONSTANTS)
        after = apply_rules(before)
        assert operators(after) == {"Slice": 1}
        assert_same(before, after, inputs)
        assert (run(after, inputs)[0] == self.X[:, :, slice(*ends)]).all()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("step", np.array([1, 1, -1], np.int32)),
            ("zero", np.ones(1, np.int32)),
            ("axes", np.array([1, 0, 2], np.int32)),
            ("bounds", np.array([1, 1, 3], np.float32)),
        ],
        ids=str,
    )
    def test_not_with_different_constants(self, name: str, value: NDArray) -> None:
        inputs = {"start": np.array([2], np.int32), "end": np.array([4], np.int32), "x": self.X}
        before = graph(self.NODES, inputs, {**self.CONSTANTS, name: value})
        after = apply_rules(before)
        assert operators(after)["Where"] == 2
        assert_same(before, after, inputs)


class TestAttention:
    NODES = """
        t = Transpose(k) perm=0,1,3,2
        s = MatMul(q, t)
        m = Add(s, mask)
        p = Softmax(m)
        y = MatMul(p, v)
    """
    INPUTS: ClassVar[Values] = {
        "q": RNG.normal(size=(2, 3, 4, 8)).astype(np.float32),
        "k": RNG.normal(size=(2, 3, 5, 8)).astype(np.float32),
        "v": RNG.normal(size=(2, 3, 5, 8)).astype(np.float32),
        "mask": np.where(RNG.random((2, 1, 4, 5)) < 0.4, -3e4, 0).astype(np.float32),
    }

    def test_it_becomes_one_operator(self) -> None:
        before = graph(self.NODES, self.INPUTS, {}, opset=24)
        after = apply_rules(before)
        assert operators(after) == {"Attention": 1}
        assert_same(before, after, self.INPUTS, 1e-5)
        # Masked keys get no weight.
        scores = self.INPUTS["q"] @ self.INPUTS["k"].swapaxes(2, 3) + self.INPUTS["mask"]
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        assert run(after, self.INPUTS)[0] == pytest.approx(weights @ self.INPUTS["v"], abs=1e-5)

    def test_keys_transposed_only_once(self) -> None:
        inputs = {**self.INPUTS, "k": np.ascontiguousarray(self.INPUTS["k"].swapaxes(1, 2))}
        nodes = self.NODES.replace("perm=0,1,3,2", "perm=0,2,3,1")
        before = graph(nodes, inputs, {}, opset=24)
        after = apply_rules(before)
        assert operators(after) == {"Transpose": 1, "Attention": 1}
        assert_same(before, after, inputs, 1e-5)

    @pytest.mark.parametrize(
        ("old", "new"),
        [("MatMul(p, v)", "MatMul(s, v)"), ("MatMul(p, v)", "MatMul(m, v)")],
    )
    def test_not_without_its_softmax(self, old: str, new: str) -> None:
        before = graph(self.NODES.replace(old, new), self.INPUTS, {}, opset=24)
        after = apply_rules(before)
        assert "Attention" not in operators(after)
        assert_same(before, after, self.INPUTS)

    def test_not_with_one_row_of_mask_for_all_queries(self) -> None:
        # ONNX broadcasts such a mask over the queries; ONNX Runtime refuses to.
        before = graph(self.NODES, self.INPUTS, {}, opset=24)
        for value in before.graph.input:
            if value.name == "mask":
                value.type.tensor_type.shape.dim[2].dim_value = 1
        inputs = {**self.INPUTS, "mask": self.INPUTS["mask"][:, :, :1]}
        after = apply_rules(before)
        assert "Attention" not in operators(after)
        assert_same(before, after, inputs)


class TestTopK:
    NODES = """
        l = LogSoftmax(x)
        y,i = TopK(l, count)
    """

    def both(self, x: NDArray, count: int) -> tuple[onnx.ModelProto, onnx.ModelProto, Values]:
        inputs: Values = {"x": x, "count": np.array([count])}
        before = graph(self.NODES, inputs, {}, outputs=("y", "i"), width=x.shape[2])
        before.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
        return before, apply_rules(before), inputs

    @pytest.mark.parametrize("count", [1, 4, 7, 40])
    @pytest.mark.parametrize("width", [640, 1000, 8000])
    def test_it_sorts_only_a_few_values(self, width: int, count: int) -> None:
        x = RNG.normal(size=(3, 2, width)).astype(np.float32)
        before, after, inputs = self.both(x, count)
        assert operators(after)["TopK"] == 3
        assert_same(before, after, inputs)

    @pytest.mark.parametrize("count", [1, 3, 8, 30])
    def test_ties_go_to_the_lower_id(self, count: int) -> None:
        # Only five distinct values: ties within blocks, across blocks and with dropped values.
        x = RNG.integers(0, 5, (40, 4, 320)).astype(np.float32)
        before, after, inputs = self.both(x, count)
        assert operators(after)["TopK"] == 3
        assert_same(before, after, inputs)

    @pytest.mark.parametrize("width", [60, 997])
    def test_not_where_no_blocks_fit(self, width: int) -> None:
        x = RNG.normal(size=(3, 2, width)).astype(np.float32)
        before, after, inputs = self.both(x, 4)
        assert operators(after)["TopK"] == 1
        assert_same(before, after, inputs)


def test_duplicate_nodes_are_merged() -> None:
    nodes = "a = Relu(x)\nb = Relu(x)\ny = Add(a, b)"
    before = graph(nodes, {"x": SQUARE}, {})
    after = apply_rules(before, rules=())
    assert operators(after) == {"Relu": 1, "Add": 1}
    assert_same(before, after, {"x": SQUARE})


def test_rules_by_name() -> None:
    before = graph(TestAttention.NODES, TestAttention.INPUTS, {}, opset=24)
    assert operators(apply_rules(before, ["layer norm"])) == operators(before)
    assert operators(apply_rules(before, ["attention"])) == {"Attention": 1}
    with pytest.raises(KeyError, match="attentions"):
        apply_rules(before, ["attentions"])
