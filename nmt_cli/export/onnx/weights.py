"""The weights of a bundle's graphs in one file, each matrix once.

Encoder and decoder share embeddings, and the softmax layer may be the embedding transposed.
ONNX calls such a file external data: a tensor names the file, its offset and its length.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data

from nmt_cli.bundle import WEIGHTS

# Smaller tensors stay inside the graph, where shape inference needs some of them.
_SMALLEST = 1024
# Runtimes map the file into memory: matrices start at page boundaries.
_PAGE = 4096


def share_transposed(proto: onnx.ModelProto) -> None:
    """Replace constants that are another constant transposed by a Transpose of that one.

    Runtimes fold it when they load the graph.
    """
    matrices = {each.name: each for each in proto.graph.initializer if len(each.dims) == 2}
    by_content = {_digest(numpy_helper.to_array(each)): each for each in matrices.values()}
    looked_up = {node.input[0] for node in proto.graph.node if node.op_type == "Gather"}
    for name, tensor in matrices.items():
        values = numpy_helper.to_array(tensor)
        twin = by_content.get(_digest(values.T))
        if twin is None or twin.name == name or twin.name not in looked_up:
            continue
        proto.graph.initializer.remove(tensor)
        node = onnx.helper.make_node("Transpose", [twin.name], [name], perm=[1, 0])
        proto.graph.node.insert(0, node)


def share_with_body(graph: Any, body: Any) -> None:
    """Let a loop's body read matrices that its outer graph also has from there; both are IR.

    Other weights stay in the body: ONNX Runtime packs only those for its products.
    """

    def matrices(of: Any) -> Iterator[tuple[str, Any]]:
        for each in list(of.initializers.values()):
            if len(each.shape) == 2:
                yield _digest(each.const_value.numpy()), each

    known = dict(matrices(graph))
    for digest, each in matrices(body):
        if digest in known:
            each.replace_all_uses_with(known[digest])
            del body.initializers[each.name]


def save_with_shared_weights(protos: Mapping[str, onnx.ModelProto], folder: Path) -> None:
    """Write graphs, by file name, and their weights to WEIGHTS; removes them from the graphs."""
    places: dict[str, tuple[int, int]] = {}
    with (folder / WEIGHTS).open("wb") as stream:
        for name, proto in protos.items():
            for tensor in proto.graph.initializer:
                values = np.ascontiguousarray(numpy_helper.to_array(tensor))
                if values.nbytes < _SMALLEST:
                    continue
                digest = _digest(values)
                if digest not in places:
                    stream.write(b"\0" * (-stream.tell() % _PAGE))
                    places[digest] = (stream.tell(), values.nbytes)
                    stream.write(values.tobytes())
                tensor.ClearField("float_data")
                tensor.raw_data = b""  # set_external_data wants one
                set_external_data(tensor, WEIGHTS, *places[digest])
                tensor.ClearField("raw_data")
            onnx.save(proto, str(folder / name))


def _digest(values: np.ndarray) -> str:
    array = np.ascontiguousarray(values)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
