"""Graphs in float16: which values stay in float32, and that each graph can be run."""

from collections import Counter

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nmt_cli.export.onnx.library import IR_VERSION, OPSET, Ops
from nmt_cli.export.onnx.precision import half

RNG = np.random.default_rng(4)
X = RNG.normal(size=(3, 4)).astype(np.float32)
POSITIONS = np.array([1, 2047, 2049, 4095], np.int32)
OPERATORS = ("Relu", "Tanh", "MatMul", "Sin", "LogSoftmax")


def built() -> tuple[ir.Model, Ops, ir.Value, ir.Value]:
    """Return an empty graph of x float [N, 4] and positions int32 [4], and its inputs."""
    x = ir.val("x", ir.DataType.FLOAT, ["N", 4])
    positions = ir.val("positions", ir.DataType.INT32, [4])
    graph = ir.Graph([x, positions], [], nodes=[], opset_imports={"": OPSET}, name="piece")
    return ir.Model(graph, ir_version=IR_VERSION), Ops(graph), x, positions


def add_output(model: ir.Model, value: ir.Value, name: str) -> None:
    value.name, value.dtype, value.shape = name, ir.DataType.FLOAT, ir.Shape(["N", 4])
    model.graph.outputs.append(value)


def run(model: ir.Model, x: NDArray[np.float32] = X) -> dict[str, NDArray]:
    """Run a graph after ONNX's own check of all types."""
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (x_input, _) = session.get_inputs()
    given = {"x": x.astype(np.float16 if "float16" in x_input.type else np.float32)}
    names = [value.name for value in session.get_outputs()]
    values = session.run(names, {**given, "positions": POSITIONS})
    return dict(zip(names, values, strict=True))


def operators(model: ir.Model) -> Counter[str]:
    return Counter(node.op_type for node in model.graph if node.op_type != "Constant")


def test_products_are_float16_and_log_probabilities_float32() -> None:
    model, op, x, _ = built()
    hidden = op.MatMul(x, op.weight("matrix", RNG.normal(size=(4, 4)).astype(np.float32)))
    log_probs = op.LogSoftmax(hidden, axis=-1)
    add_output(model, op.Relu(hidden), "new_cache")
    add_output(model, op.Add(log_probs, np.float32(1.5)), "scores")
    expected = run(model.clone())
    results = run(half(model))
    assert results["new_cache"].dtype == np.float16
    assert results["scores"].dtype == np.float32
    assert (results["scores"] != results["scores"].astype(np.float16)).any()
    for name, values in expected.items():
        np.testing.assert_allclose(results[name], values, atol=2e-2)
    # Only the logits, and the constant that is added to log-probabilities.
    assert operators(model)["Cast"] == 2


def test_positions_above_2048_stay_exact() -> None:
    model, op, x, positions = built()
    angles = op.Sin(op.Cast(positions, to=ir.DataType.FLOAT))
    add_output(model, op.Add(op.Mul(x, np.float32(0)), angles), "y")
    results = run(half(model))
    np.testing.assert_allclose(results["y"][0], np.sin(POSITIONS), atol=1e-3)


def test_numbers_beyond_float16_become_the_nearest_ones() -> None:
    model, op, x, _ = built()
    numbers = np.array([[1e-9, -1e-9, 1e6, -1e6], [0.0, np.inf, 2.0, -np.inf]], np.float32)
    add_output(model, op.Add(x, op.weight("numbers", numbers)), "y")
    half(model)
    (tensor,) = (value.const_value.numpy() for value in model.graph.initializers.values())
    least = float(np.finfo(np.float16).smallest_subnormal)
    np.testing.assert_array_equal(
        tensor, [[least, -least, 65504, -65504], [0.0, np.inf, 2.0, -np.inf]]
    )


def test_readers_of_a_value_share_its_cast() -> None:
    model, op, x, _ = built()
    waves = op.Add(op.Sin(x), op.Cos(x))
    add_output(model, op.Add(op.Relu(waves), op.Tanh(waves)), "y")
    run(half(model))
    assert operators(model)["Cast"] == 3  # of x to float32, of both waves to float16


@given(st.lists(st.tuples(st.sampled_from([*OPERATORS]), st.integers(0, 9)), max_size=9))
def test_every_graph_can_be_run(steps: list[tuple[str, int]]) -> None:
    """Each operator reads one of the values before it."""
    model, op, x, _ = built()
    matrix = op.weight("matrix", np.eye(4, dtype=np.float32))
    values = [x]
    for operator, index in steps:
        inputs = [values[index % len(values)], *([matrix] if operator == "MatMul" else [])]
        values.append(getattr(op, operator)(*inputs))
    add_output(model, op.Relu(values[-1]), "y")
    add_output(model, op.LogSoftmax(values[-1], axis=-1), "log_probs")
    expected, results = run(model.clone()), run(half(model))
    np.testing.assert_allclose(results["y"], expected["y"], atol=0.05)
    np.testing.assert_allclose(results["log_probs"], expected["log_probs"], atol=0.05)
