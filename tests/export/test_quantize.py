"""Integer products in ONNX Runtime, compared with the same arithmetic in NumPy."""

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from nmt_cli.export.onnx.library import save_with_shared_weights, share_transposed
from nmt_cli.export.onnx.precision import MAX_WEIGHT, quantize, quantized_columns

RNG = np.random.default_rng(5)
WEIGHT = RNG.normal(size=(6, 5)).astype(np.float32)
TABLE = RNG.normal(size=(9, 6)).astype(np.float32)


def model(nodes: list[onnx.NodeProto], **constants: NDArray[np.float32]) -> onnx.ModelProto:
    """Build a model of int32 ids [N] and float rows x [N, 6]; its output is y."""
    value, kinds = helper.make_tensor_value_info, onnx.TensorProto
    graph = helper.make_graph(
        nodes,
        "g",
        [value("ids", kinds.INT32, ["N"]), value("x", kinds.FLOAT, ["N", 6])],
        [value("y", kinds.FLOAT, ["N", None])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def session(proto: onnx.ModelProto, optimized: Path | None = None):  # type: ignore[no-untyped-def]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if optimized:
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(proto: onnx.ModelProto, x: NDArray[np.float32]) -> NDArray[np.float32]:
    ids = np.arange(len(x), dtype=np.int32) % 9
    return session(proto).run(["y"], {"ids": ids, "x": x})[0]


def product(relu: bool = False, size: float | None = None) -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["r" if relu else "x", "w"], ["y"])]
    if relu:
        nodes.insert(0, helper.make_node("Relu", ["x"], ["r"]))
    sizes = {} if size is None else {"w": size}
    return ir.to_proto(quantize(ir.from_proto(model(nodes, w=WEIGHT)), sizes))


def expected_product(x: NDArray[np.float32], zero: int, largest: int) -> NDArray[np.float32]:
    """Compute ``s_x (q_x Q_W) s_w`` with integers that cannot overflow."""
    scales = np.abs(x).max(axis=1) * np.float32(1 / largest)
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.rint(x / scales[:, None])
    integers = np.clip(np.nan_to_num(steps) + zero, 0, 255).astype(np.int64) - zero
    weights, columns = quantized_columns(WEIGHT)
    return (integers @ weights.astype(np.int64)) * columns * scales[:, None]


@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 9), st.integers(1, 5)),
        elements=st.floats(-1000, 1000, width=32),
    )
)
def test_rounding_errors_are_at_most_half_a_step(matrix: NDArray[np.float32]) -> None:
    values, scales = quantized_columns(matrix)
    assert values.dtype == np.int8
    assert np.abs(values.astype(int)).max() <= MAX_WEIGHT
    assert (np.abs(matrix - values * scales) <= scales * 0.5001 + 1e-6 * np.abs(matrix)).all()


def test_sums_of_two_products_fit_in_sixteen_bits() -> None:
    assert 2 * 255 * MAX_WEIGHT < 2**15


@pytest.mark.parametrize(("relu", "zero", "largest"), [(False, 128, 127), (True, 0, 255)])
def test_a_product_matches_numpy(relu: bool, zero: int, largest: int) -> None:
    x = RNG.normal(scale=3, size=(7, 6)).astype(np.float32)
    seen = np.maximum(x, 0) if relu else x
    np.testing.assert_allclose(
        run(product(relu), x), expected_product(seen, zero, largest), rtol=1e-5
    )
    assert np.abs(run(product(relu), x) - seen @ WEIGHT).max() < 0.3


@pytest.mark.parametrize(("relu", "zero", "largest"), [(False, 128, 127), (True, 0, 255)])
def test_a_calibrated_product_matches_numpy(relu: bool, zero: int, largest: int) -> None:
    x = RNG.normal(scale=3, size=(7, 6)).astype(np.float32)
    seen, step = np.maximum(x, 0) if relu else x, np.float32(4 / largest)
    integers = np.clip(np.rint(seen / step) + zero, 0, 255).astype(np.int64) - zero
    weights, columns = quantized_columns(WEIGHT)
    expected = (integers @ weights.astype(np.int64)) * (columns * step)
    np.testing.assert_allclose(run(product(relu, 4.0), x), expected, rtol=1e-5)
    assert (np.abs(seen) > 4).any()  # these were clipped
    unclipped = (np.abs(seen) <= 4).all(axis=1)
    error = np.abs(run(product(relu, 4.0), x) - seen @ WEIGHT)
    assert error[unclipped].max() < 0.3 < error.max()


@settings(max_examples=25)
@given(
    arrays.arrays(
        np.float32, st.tuples(st.integers(1, 8), st.just(6)), elements=st.floats(-50, 50, width=32)
    ),
    st.sampled_from([None, 20.0]),
)
def test_a_row_s_result_does_not_depend_on_other_rows(
    x: NDArray[np.float32], size: float | None
) -> None:
    proto = PRODUCTS[size]
    together = run(proto, x)
    alone = np.concatenate([run(proto, row[None]) for row in x])
    assert together.tobytes() == alone.tobytes()


PRODUCTS = {size: product(size=size) for size in (None, 20.0)}


def test_rows_of_zeros_give_zeros() -> None:
    x = np.zeros((3, 6), np.float32)
    x[1] = 1.0
    result = run(product(), x)
    assert np.isfinite(result).all()
    assert (result[[0, 2]] == 0).all()


def test_an_embedding_tied_to_the_output_layer_is_stored_once(tmp_path: Path) -> None:
    lookup = helper.make_node("Gather", ["e", "ids"], ["v"], axis=0)
    total = helper.make_node("Add", ["x", "v"], ["h"])
    logits = helper.make_node("MatMul", ["h", "t"], ["y"])
    table = np.tile(TABLE, (1, 1))
    proto = model([lookup, total, logits], e=table, t=np.ascontiguousarray(table.T))
    expected, shared = run(proto, WEIGHT.T), ir.from_proto(proto)
    share_transposed(shared)
    assert [*shared.graph.initializers] == ["e"]
    np.testing.assert_allclose(run(ir.to_proto(shared), WEIGHT.T), expected, rtol=1e-5)
    quantized = ir.to_proto(quantize(shared))
    sizes = [
        tensor.dims
        for tensor in quantized.graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8
    ]
    assert sizes == [[9, 6]]
    assert np.abs(run(quantized, WEIGHT.T) - expected).max() < 0.3


@pytest.mark.parametrize("size", [None, 4.0])
def test_onnx_runtime_fuses_the_product_with_its_scale(tmp_path: Path, size: float | None) -> None:
    session(product(size=size), tmp_path / "optimized.onnx")
    operators = [node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node]
    assert "MatMulIntegerToFloat" in operators
    assert "MatMulInteger" not in operators


def test_weights_shared_by_two_graphs_are_stored_once(tmp_path: Path) -> None:
    large = RNG.normal(size=(60, 6)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["e", "ids"], ["v"], axis=0),
        helper.make_node("Add", ["x", "v"], ["y"]),
    ]
    proto = model(nodes, e=large)
    expected, names = run(proto, WEIGHT.T), ("a.onnx", "b.onnx")
    save_with_shared_weights({name: ir.from_proto(proto) for name in names}, tmp_path)
    assert (tmp_path / "weights.bin").stat().st_size == large.nbytes
    for name in names:
        assert (tmp_path / name).stat().st_size < large.nbytes
        saved = onnxruntime.InferenceSession(tmp_path / name, providers=["CPUExecutionProvider"])
        ids = np.arange(5, dtype=np.int32)
        np.testing.assert_array_equal(
            saved.run(["y"], {"ids": ids, "x": np.ascontiguousarray(WEIGHT.T)})[0], expected
        )
