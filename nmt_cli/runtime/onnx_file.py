"""Reading an ONNX file's declarations, before ONNX Runtime loads it.

Reads only the protobuf fields that matter (https://onnx.ai/onnx/repo-docs/IR.html), since the
onnx package is not part of the base install. Field numbers are those of onnx.proto.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.errors import NmtError

_MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTIONS = 7, 8, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
_TENSOR_EXTERNAL = 13
_DTYPES = {1: "float", 6: "int32", 7: "int64", 9: "bool", 10: "float16"}
_STANDARD = ("", "ai.onnx")
_FIXED = {1: 8, 5: 4}  # bytes, by wire type
_EMPTY = memoryview(b"")


@dataclass(frozen=True)
class OnnxFile:
    """The declarations of a graph.

    Attributes:
        opset: version of the standard operators.
        inputs, outputs: as it declares them.
        external: names of the files that contain its weights, as written in the file.
    """

    opset: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    external: frozenset[str]


def read_onnx(path: Path) -> OnnxFile:
    """Read the declarations of an ONNX file.

    Raises:
        NmtError: not an ONNX file, or its graph contains another graph: no bundle needs that,
            and a loop could run forever.
    """
    try:
        return _model(memoryview(path.read_bytes()))
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, IndexError, KeyError) as error:
        raise NmtError(f"{path}: not an ONNX file ({error})", "export the bundle again") from None


def _model(model: memoryview) -> OnnxFile:
    inputs: list[TensorSpec] = []
    outputs: list[TensorSpec] = []
    external: set[str] = set()
    for graph in _all(model, _MODEL_GRAPH):
        for number, _, value in _fields(graph):
            if number == _GRAPH_INPUT:
                inputs.append(_tensor(value))
            elif number == _GRAPH_OUTPUT:
                outputs.append(_tensor(value))
            elif number == _GRAPH_INITIALIZER:
                external.update(_external(value))
            elif number == _GRAPH_NODE:
                external.update(_node_external(value))
            elif number == _GRAPH_SPARSE:
                raise ValueError("sparse weights")
    if any(True for _ in _all(model, _MODEL_FUNCTIONS)):
        raise ValueError("it defines functions")
    return OnnxFile(_opset(model), tuple(inputs), tuple(outputs), frozenset(external))


def _opset(model: memoryview) -> int:
    for entry in _all(model, _MODEL_OPSET):
        if _text(_part(entry, 1)) in _STANDARD:
            return _whole(entry, 2)
    raise ValueError("no opset")


def _tensor(value_info: memoryview) -> TensorSpec:
    """A ValueInfoProto: name, then type.tensor_type of elem_type and shape.dim."""
    tensor = _part(_part(value_info, 2), 1)
    shape = tuple(_text(_part(each, 2)) or _whole(each, 1) for each in _all(_part(tensor, 2), 1))
    kind = _whole(tensor, 1)
    return TensorSpec(_text(_part(value_info, 1)), _DTYPES.get(kind, f"type {kind}"), shape)


def _node_external(node: memoryview) -> Iterator[str]:
    for attribute in _all(node, _NODE_ATTRIBUTE):
        for number, _, value in _fields(attribute):
            if number in _ATTRIBUTE_GRAPHS:
                raise ValueError("nested graphs")
            if number in _ATTRIBUTE_SPARSE:
                raise ValueError("sparse weights")
            if number in _ATTRIBUTE_TENSORS:
                yield from _external(value)


def _external(tensor: memoryview) -> Iterator[str]:
    for entry in _all(tensor, _TENSOR_EXTERNAL):
        if _text(_part(entry, 1)) == "location":
            yield _text(_part(entry, 2))


def _all(message: memoryview, number: int) -> Iterator[memoryview]:
    return (value for found, _, value in _fields(message) if found == number)


def _part(message: memoryview, number: int) -> memoryview:
    """The last field of this number; empty if there is none."""
    return ([_EMPTY, *_all(message, number)])[-1]


def _whole(message: memoryview, number: int) -> int:
    """The first integer field of this number; 0 if there is none."""
    return next((value for found, value, _ in _fields(message) if found == number), 0)


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8")


def _fields(message: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Number, integer value (or 0) and bytes (or none) of each field."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value, _EMPTY
        else:
            size, at = _varint(message, at) if kind == 2 else (_FIXED[kind], at)
            if size > len(message) - at:
                raise ValueError("truncated")
            yield tag >> 3, 0, message[at : at + size] if kind == 2 else _EMPTY
            at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = message[at]
    if value < 0x80:  # nearly always
        return value, at + 1
    value = 0
    for place in range(10):
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("an endless number")
