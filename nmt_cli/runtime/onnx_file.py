"""Reading an ONNX file's declarations, before ONNX Runtime loads it.

Reads only the protobuf fields that matter (https://onnx.ai/onnx/repo-docs/IR.html), since the
onnx package is not part of the base install. Field numbers are those of onnx.proto.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.errors import NmtError

_MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTIONS = 7, 8, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
_TENSOR_EXTERNAL = 13
_DTYPES = {1: "float", 6: "int32", 7: "int64", 9: "bool", 10: "float16"}
_FIXED = {1: 8, 5: 4}  # bytes, by wire type


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
        return _declarations(path.read_bytes())
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise NmtError(f"{path}: not an ONNX file ({error})", "export the bundle again") from None


def _declarations(content: bytes) -> OnnxFile:
    model = _fields(content)
    graph = _part(model, _MODEL_GRAPH)
    nodes = map(_fields, graph[_GRAPH_NODE])
    attributes = [_fields(each) for node in nodes for each in node[_NODE_ATTRIBUTE]]
    if model[_MODEL_FUNCTIONS]:
        raise ValueError("it defines functions")
    if any(each[number] for each in attributes for number in _ATTRIBUTE_GRAPHS):
        raise ValueError("nested graphs")
    if graph[_GRAPH_SPARSE] or any(each[at] for each in attributes for at in _ATTRIBUTE_SPARSE):
        raise ValueError("sparse weights")
    constants = (each[number] for each in attributes for number in _ATTRIBUTE_TENSORS)
    tensors = map(_fields, chain(graph[_GRAPH_INITIALIZER], *constants))
    entries = [_fields(each) for tensor in tensors for each in tensor[_TENSOR_EXTERNAL]]
    opsets = map(_fields, model[_MODEL_OPSET])
    (opset,) = (each[2][-1] for each in opsets if _text(each, 1) in ("", "ai.onnx"))
    return OnnxFile(
        opset,
        tuple(map(_tensor, graph[_GRAPH_INPUT])),
        tuple(map(_tensor, graph[_GRAPH_OUTPUT])),
        frozenset(_text(each, 2) for each in entries if _text(each, 1) == "location"),
    )


def _tensor(value_info: bytes) -> TensorSpec:
    """A ValueInfoProto: name, then type.tensor_type of elem_type and shape.dim."""
    value = _fields(value_info)
    tensor = _part(_part(value, 2), 1)
    sizes = map(_fields, _part(tensor, 2)[1])
    kind = tensor[1][-1]
    shape = tuple(_text(each, 2) or each[1][-1] for each in sizes)
    return TensorSpec(_text(value, 1), _DTYPES.get(kind, f"type {kind}"), shape)


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
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
            fields[tag >> 3].append(value)
        else:
            size, at = _varint(message, at) if tag & 7 == 2 else (_FIXED[tag & 7], at)
            fields[tag >> 3].append(message[at : at + size])
            at += size
    if at > len(message):
        raise ValueError("truncated")
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
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
