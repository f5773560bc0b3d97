"""float16 graphs, for processors that compute in it: GPUs above all."""

import onnx
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16
from onnxruntime.transformers.onnx_model import OnnxModel

# Kept in float32: positions beyond 2,048 are not whole numbers in float16, and a search adds
# up log-probabilities.
_WIDE_OPERATORS = ("Range", "Sin", "Cos", "LogSoftmax", "TopK")
_WIDE_OUTPUTS = ("scores", "log_probs")


def half(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Compute in float16; encoder output and caches are float16 as well."""
    converted = convert_float_to_float16(
        proto,
        keep_io_types=[each.name for each in proto.graph.output if each.name in _WIDE_OUTPUTS],
        op_block_list=[*DEFAULT_OP_BLOCK_LIST, *_WIDE_OPERATORS],
    )
    # The converter leaves its casts at the end, and one for each reader of a tensor, all of
    # them with the same output.
    written: set[str] = set()
    for node in list(converted.graph.node):
        if node.output[0] in written:
            converted.graph.node.remove(node)
        written.add(node.output[0])
    model = OnnxModel(converted)
    model.topological_sort()
    return model.model
