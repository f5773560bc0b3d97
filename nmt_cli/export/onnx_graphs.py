"""The step graphs as ONNX, through tf2onnx.

Outputs are named by the dictionary keys that the traced functions return; the caches that
come out are the ones that went in, with ``new_`` before their names.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from nmt_cli.bundle.manifest import DECODER, ENCODER, GraphSpec, TensorSpec
from nmt_cli.errors import NmtError
from nmt_cli.model.step_graph import StepGraph

OPSET = 18  # the newest that tf2onnx 1.17 writes

# Free axes, by tensor and place: B sentences, S source positions, K beams, P columns cached.
_AXES = {
    "source": ("B", "S"),
    "source_mask": ("B", 1, 1, "S"),
    "tokens": ("B", "K"),
    "position": (1,),
    "ancestry": ("B", "K", "P + K"),
    "scores": ("B", "K", "C"),
    "ids": ("B", "K", "C"),
}


def write_graphs(graph: StepGraph, folder: Path) -> tuple[GraphSpec, GraphSpec]:
    """Write encoder.onnx and decoder.onnx; returns their contracts.

    Raises:
        NmtError: tf2onnx cannot convert, or left operators that are not standard.
    """
    return _write_encoder(graph, folder), _write_decoder(graph, folder)


def _write_encoder(graph: StepGraph, folder: Path) -> GraphSpec:
    names = graph.encoder_outputs()

    def encode(source: Any) -> dict[str, Any]:
        return dict(zip(names, graph.encode(source), strict=True))

    inputs = [tf.TensorSpec([None, None], tf.int32, "source")]
    return _convert(encode, inputs, names, folder / ENCODER, graph)


def _write_decoder(graph: StepGraph, folder: Path) -> GraphSpec:
    encoded, caches = graph.encoder_outputs(), graph.cache_names()

    def step(tokens: Any, position: Any, ancestry: Any, *state: Any) -> dict[str, Any]:
        scores, ids, log_probs, grown = graph.step(
            tokens, position, ancestry, list(state[: len(encoded)]), list(state[len(encoded) :])
        )
        outputs = {"scores": scores, "ids": ids, "log_probs": log_probs}
        return outputs | {f"new_{name}": each for name, each in zip(caches, grown, strict=True)}

    size = [None, graph.heads, None, graph.key_size]
    inputs = [
        tf.TensorSpec([None, None], tf.int32, "tokens"),
        tf.TensorSpec([1], tf.int32, "position"),
        tf.TensorSpec([None, None, None], tf.bool, "ancestry"),
        tf.TensorSpec([None, 1, 1, None], tf.float32, "source_mask"),
        *(tf.TensorSpec(size, tf.float32, name) for name in [*encoded[1:], *caches]),
    ]
    outputs = ["scores", "ids", "log_probs", *(f"new_{name}" for name in caches)]
    return _convert(step, inputs, outputs, folder / DECODER, graph)


def _convert(
    function: Callable[..., Any],
    inputs: list[tf.TensorSpec],
    outputs: list[str],
    path: Path,
    graph: StepGraph,
) -> GraphSpec:
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    try:
        proto, _ = tf2onnx.convert.from_function(
            tf.function(function, autograph=False), inputs, opset=OPSET
        )
    except Exception as error:
        raise NmtError(f"{path.name}: tf2onnx cannot convert the graph ({error})") from error
    _name_axes(proto, graph)
    _check_standard(proto, path.name)
    missing = set(outputs) - {each.name for each in proto.graph.output}
    if missing:
        raise NmtError(f"{path.name}: tf2onnx lost the outputs {', '.join(sorted(missing))}")
    onnx.save(proto, str(path))
    return GraphSpec(path.name, OPSET, _specs(proto.graph.input), _specs(proto.graph.output))


def _name_axes(proto: Any, graph: StepGraph) -> None:
    """Give free axes their names instead of tf2onnx's made-up ones."""
    for value in [*proto.graph.input, *proto.graph.output]:
        axes = _axes(value.name, graph)
        for dimension, axis in zip(value.type.tensor_type.shape.dim, axes, strict=True):
            if isinstance(axis, str):
                dimension.dim_param = axis
            else:
                dimension.dim_value = axis


def _axes(name: str, graph: StepGraph) -> tuple[int | str, ...]:
    if name == "log_probs":
        return ("B", "K", graph.vocab_size)
    if name.startswith("cross_"):
        return ("B", graph.heads, "S", graph.key_size)
    if name.startswith("self_"):
        return ("B", graph.heads, "P", graph.key_size)
    if name.startswith("new_self_"):
        return ("B", graph.heads, "P + K", graph.key_size)
    return _AXES[name]


def _check_standard(proto: Any, name: str) -> None:
    foreign = {node.op_type for node in proto.graph.node if node.domain not in ("", "ai.onnx")}
    if foreign:
        raise NmtError(f"{name}: operators outside standard ONNX: {', '.join(sorted(foreign))}")
    onnx.checker.check_model(proto, full_check=False)


def _specs(values: Any) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(
            value.name,
            onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower(),
            tuple(
                each.dim_param if each.HasField("dim_param") else each.dim_value
                for each in value.type.tensor_type.shape.dim
            ),
        )
        for value in values
    )
