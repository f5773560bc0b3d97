"""The weights of a bundle's graphs: their names, and one file that stores each matrix once.

Encoder and decoder share embeddings, and the softmax layer may be the embedding transposed.
ONNX calls such a file external data: a tensor names the file, its offset and its length.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import TopologicalSortPass

from nmt_cli.bundle import WEIGHTS
from nmt_cli.bundle.manifest import StoredWeights
from nmt_cli.export.onnx.ops import Ops

# Smaller tensors stay inside the graph, where shape inference needs some of them.
_MIN_BYTES = 1024
# Runtimes map the file into memory: matrices start at page boundaries.
_PAGE = 4096
# Keys of a graph's metadata: names of the tensors, by name of the weight, and those of them that
# another one with scaled columns replaces.
_TENSORS, SCALED = "tensors", "scaled"


def share_transposed(model: ir.Model) -> None:
    """Replace constants that are an embedding transposed by its Transpose, which runtimes fold."""
    matrices = dict(_matrices(model.graph))
    for matrix in list(matrices.values()):
        twin = matrices.get(_digest(matrix.const_value.numpy().T))
        if twin is None or twin is matrix:
            continue
        if any(node.op_type == "Gather" for node in twin.consumers()):
            matrix.replace_all_uses_with(Ops(model.graph).Transpose(twin, perm=[1, 0]))
            del model.graph.initializers[matrix.name]
    TopologicalSortPass()(model)


def share_with_body(graph: ir.Graph, body: ir.Graph) -> None:
    """Let a loop's body read matrices that its outer graph also has from there.

    Other weights stay in the body: ONNX Runtime packs only those for its products.
    """
    known = dict(_matrices(graph))
    for digest, matrix in list(_matrices(body)):
        if digest in known:
            matrix.replace_all_uses_with(known[digest])
            del body.initializers[matrix.name]


def _matrices(graph: ir.Graph) -> Iterator[tuple[str, Any]]:
    for value in [*graph.initializers.values()]:
        if value.const_value.shape.rank() == 2:
            yield _digest(value.const_value.numpy()), value


def name_weights(model: ir.Model, weights: Mapping[str, np.ndarray]) -> None:
    """Name the tensors of a converted graph like the weights with the same values, and record which
    is which. Several weights may have equal values; conversion has changed others."""
    tensors = [*model.graph.initializers.values()]
    values = {_digest(tensor.const_value.numpy()): tensor for tensor in tensors}
    stored = {name: values.get(_digest(weight)) for name, weight in weights.items()}
    for name, value in stored.items():
        if value is not None:
            value.name = name
    model.meta[_TENSORS] = {name: value.name for name, value in stored.items() if value is not None}


def stored_weights(models: Mapping[str, ir.Model]) -> StoredWeights:
    """Return where graphs, by file name, store the weights of the model."""
    stored = StoredWeights()
    for file, model in models.items():
        for name, tensor in model.meta[_TENSORS].items():
            stored.tensors[name] = f"{file}:{tensor}"
            if columns := model.meta.get(SCALED, {}).get(tensor):
                stored.tensors[name] += "_scaled"
                stored.scaled[name] = columns
    return stored


def save_with_shared_weights(models: Mapping[str, ir.Model], folder: Path) -> None:
    """Write graphs, by file name, and their weights to WEIGHTS; removes them from the graphs."""
    blocks: dict[str, tuple[int, int]] = {}
    with (folder / WEIGHTS).open("wb") as stream:
        for model in models.values():
            for value in [*model.graph.initializers.values()]:
                array = value.const_value.numpy()
                if array.nbytes < _MIN_BYTES:
                    continue
                digest = _digest(array)
                if digest not in blocks:
                    stream.write(b"\0" * (-stream.tell() % _PAGE))
                    blocks[digest] = (stream.tell(), array.nbytes)
                    stream.write(array.tobytes())
                value.const_value = ir.ExternalTensor(
                    WEIGHTS,
                    *blocks[digest],
                    value.const_value.dtype,
                    shape=value.const_value.shape,
                    name=value.name,
                    base_dir=folder,
                )
    for name, model in models.items():
        (folder / name).write_bytes(serialized(model))


def serialized(model: ir.Model) -> bytes:
    """Return a graph as the content of an ONNX file."""
    return ir.to_proto(model).SerializeToString()


def _digest(values: np.ndarray) -> str:
    array = np.ascontiguousarray(values)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
