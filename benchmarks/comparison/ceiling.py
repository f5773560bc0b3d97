"""The rate of a bare matrix product: an upper bound for translation on this machine."""

import numpy as np
from comparison.sides import Ids, Job, timed

PRODUCT = "product"
# Rows of the product, and for how long it is repeated.
PRODUCT_ROWS, PRODUCT_SECONDS = 128, 0.1


class Product:
    """The feed-forward product of a Transformer by itself, in ONNX Runtime.

    For int8, unsigned activations by signed weights to int32; else float32.
    """

    def __init__(self, job: Job) -> None:
        import onnx
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper

        inputs, operator = ["x", "weight", "zero"], "MatMulInteger"
        given, gotten, rows_kind, weight_kind = (
            TensorProto.UINT8,
            TensorProto.INT32,
            "uint8",
            "int8",
        )
        if job.precision != "int8":
            inputs, operator = ["x", "weight"], "MatMul"
            given = gotten = TensorProto.FLOAT
            rows_kind = weight_kind = "float32"
        shape = PRODUCT_ROWS, job.width, 4 * job.width
        values = np.random.default_rng(1).integers(0, 64, shape[1:]).astype(weight_kind)
        constants = {"weight": values, "zero": np.array(128, np.uint8)}
        graph = helper.make_graph(
            [helper.make_node(operator, inputs, ["y"])],
            "product",
            [helper.make_tensor_value_info("x", given, shape[:2])],
            [helper.make_tensor_value_info("y", gotten, [shape[0], shape[2]])],
            [numpy_helper.from_array(constants[name], name) for name in inputs[1:]],
        )
        # An old format, which all versions of ONNX Runtime read.
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.checker.check_model(proto)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = job.each
        self._session = onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._rows = np.ones(shape[:2], rows_kind)

    def run(self, beam_size: int, batch: int, batch_tokens: int) -> tuple[list[float], list[Ids]]:
        """Median seconds of one product."""
        seconds: list[float] = []
        while sum(seconds) < PRODUCT_SECONDS:
            seconds += timed(lambda: self._session.run(None, {"x": self._rows}))[0]
        return [float(np.median(seconds))], []
