"""Reading an ONNX file's declarations, before ONNX Runtime loads it.

Reads only the protobuf fields that matter (https://onnx.ai/onnx/repo-docs/IR.html), since the
onnx package is not part of the base install. Field numbers are those of onnx.proto.
"""

from collections import Counter, defaultdict
from itertools import chain
from math import prod
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.errors import NmtError

PRODUCTS = ("Attention", "GRU", "Gemm", "LSTM", "MatMul", "MatMulInteger")
# Those of exports, and their likes. Others could loop, draw random numbers, or make a tensor as
# large as a number says (ConstantOfShape, OneHot, Pad, Resize, Tile).
_OTHERS = """
    Abs Add And Cast Clip Cos Div Equal Erf Exp Gelu Greater GreaterOrEqual Identity Less
    LessOrEqual Log Max Min Mul Neg Not Or Pow QuantizeLinear Reciprocal Relu Sigmoid Sin Sqrt Sub
    Sum Tanh Where
    LayerNormalization LogSoftmax ReduceMax ReduceMean ReduceMin ReduceSum Softmax TopK
    Concat Constant Expand Flatten Gather GatherElements Range Reshape Shape Size Slice Split
    Squeeze TensorScatter Transpose Unsqueeze
"""

_MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTIONS = 7, 8, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_EXTERNAL = 1, 2, 13
_STANDARD = {"", "ai.onnx"}  # the names of the standard operators' set
_DTYPES = {1: "float", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16"}
_FIXED = {1: 8, 5: 4}  # bytes, by wire type


class Constant(NamedTuple):
    """A tensor of ``size`` numbers inside an ONNX file or, with a location, in that file."""

    dtype: str
    size: int
    location: str
    offset: str


class OnnxFile(NamedTuple):
    """The declarations of a graph.

    Attributes:
        opset: version of the standard operators.
        inputs, outputs: as it declares them.
        operators: how often each occurs.
        constants: its weights and other constants.
    """

    opset: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    operators: Counter[str]
    constants: tuple[Constant, ...]


def read_onnx(path: Path) -> OnnxFile:
    """Read the declarations of an ONNX file.

    Raises:
        NmtError: not an ONNX file, or its graph has what no bundle needs, such as another graph:
            a loop could run forever.
    """
    try:
        return _declarations(path.read_bytes())
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise NmtError(f"{path}: not an ONNX file ({error})", "export the bundle again") from None


def _declarations(content: bytes) -> OnnxFile:
    model = _fields(content)
    graph = _part(model, _MODEL_GRAPH)
    nodes = list(map(_fields, graph[_GRAPH_NODE]))
    operators = Counter(_text(node, _NODE_OPERATOR) for node in nodes)
    attributes = [_fields(each) for node in nodes for each in node[_NODE_ATTRIBUTE]]
    if model[_MODEL_FUNCTIONS]:
        raise ValueError("it defines functions")
    if any(each[number] for each in attributes for number in _ATTRIBUTE_GRAPHS):
        raise ValueError("nested graphs")
    if graph[_GRAPH_SPARSE] or any(each[at] for each in attributes for at in _ATTRIBUTE_SPARSE):
        raise ValueError("sparse weights")
    unknown = operators.keys() - (*PRODUCTS, *_OTHERS.split())
    unknown |= {_text(node, _NODE_DOMAIN) for node in nodes} - _STANDARD
    if unknown:
        raise ValueError(f"no bundle needs the operator {min(unknown)[:80]!r}")
    inner = (each[number] for each in attributes for number in _ATTRIBUTE_TENSORS)
    opsets = map(_fields, model[_MODEL_OPSET])
    (opset,) = (each[2][-1] for each in opsets if _text(each, 1) in _STANDARD)
    return OnnxFile(
        opset,
        tuple(map(_tensor, graph[_GRAPH_INPUT])),
        tuple(map(_tensor, graph[_GRAPH_OUTPUT])),
        operators,
        tuple(map(_constant, chain(graph[_GRAPH_INITIALIZER], *inner))),
    )


def _constant(tensor: bytes) -> Constant:
    """A TensorProto."""
    fields = _fields(tensor)
    entries = [_fields(each) for each in fields[_TENSOR_EXTERNAL]]
    place = {_text(each, 1): _text(each, 2) for each in entries}
    if len(place) < len(entries):
        raise ValueError("weights in two places")
    size = prod(map(index, fields[_TENSOR_DIMS]))
    dtype = _dtype(fields[_TENSOR_TYPE][-1])
    return Constant(dtype, size, place.get("location", ""), place.get("offset", ""))


def _tensor(value_info: bytes) -> TensorSpec:
    """A ValueInfoProto: name, then type.tensor_type of elem_type and shape.dim."""
    value = _fields(value_info)
    tensor = _part(_part(value, 2), 1)
    sizes = map(_fields, _part(tensor, 2)[1])
    shape = tuple(_text(each, 2) or each[1][-1] for each in sizes)
    return TensorSpec(_text(value, 1), _dtype(tensor[1][-1]), shape)


def _dtype(number: int) -> str:
    return _DTYPES.get(number, f"type {number}")


def _part(message: dict[int, list[Any]], number: int) -> dict[int, list[Any]]:
    """A message within a message; if it appears more than once, protobuf merges it."""
    return _fields(b"".join(message[number]))


def _text(message: dict[int, list[Any]], number: int) -> str:
    return b"".join(message[number][-1:]).decode("utf-8")


def _fields(message: bytes) -> dict[int, list[Any]]:
    """Integers and bytes of a message by field number."""
    fields: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(message):
        # Nearly all numbers have one byte: calls for them would double the time.
        tag, at = (message[at], at + 1) if message[at] < 0x80 else _varint(message, at)
        if tag & 7 in (0, 2):
            number, at = (message[at], at + 1) if message[at] < 0x80 else _varint(message, at)
        else:
            number = _FIXED[tag & 7]
        if tag & 7 == 0:
            fields[tag >> 3].append(number)
        else:
            fields[tag >> 3].append(message[at : at + number])
            at += number
    if at > len(message):
        raise ValueError("truncated")
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("an endless number")
