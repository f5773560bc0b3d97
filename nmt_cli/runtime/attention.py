"""What a bundle looks at while it translates: its step with attention weights, run by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from nmt_cli.bundle.manifest import GraphSpec
from nmt_cli.errors import NmtError
from nmt_cli.runtime.contract import checked_tokenizers
from nmt_cli.runtime.load import checked_manifest
from nmt_cli.search.attention import AttentionMaps, framed_pair

_FATAL_ONLY = 4  # errors come as exceptions too


def bundle_attention(folder: Path, source: str, target_ids: list[int]) -> AttentionMaps:
    """Weights over the source, as a translation is forced through the decoder.

    Args:
        folder: of the bundle.
        source: a line.
        target_ids: its translation, without END.

    Raises:
        NmtError: the bundle is damaged, or was exported without its attention.
    """
    manifest = checked_manifest(folder)
    if manifest.attention is None:
        raise NmtError(
            f"{folder}: does not tell what it looks at",
            "export it again with nmt export --onnx --attention, or name the run",
        )
    framed, inputs, outputs = framed_pair(checked_tokenizers(folder, manifest), source, target_ids)
    encoder, step = (_session(folder, each) for each in (manifest.encoder, manifest.attention))
    names = [each.name for each in manifest.encoder.outputs]
    state = dict(
        zip(names, encoder.run(names, {"source": np.array([framed], np.int32)}), strict=True)
    )
    for each in manifest.caches:
        kind = np.float16 if each.dtype == "float16" else np.float32
        state[each.name] = np.zeros(each.sized({"B": 1, "P": len(inputs)}), kind)
    names = [each.name for each in manifest.attention.outputs]
    rows: list[Any] = []
    for position, token in enumerate(inputs):
        feed = {
            **state,
            "tokens": np.array([[token]], np.int32),
            "position": np.array([position], np.int32),
            "write_at": np.array([position], np.int64),
            "ancestry": (np.arange(len(inputs)) <= position)[None, None],
        }
        found = dict(zip(names, step.run(names, feed), strict=True))
        rows.append(found["attention"][0, :, :, 0].astype(np.float32))  # [L, h, S]
        state |= {each.name: found[f"new_{each.name}"] for each in manifest.caches}
    return AttentionMaps(framed, outputs, np.stack(rows, axis=2))


def _session(folder: Path, graph: GraphSpec) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL_ONLY
    return onnxruntime.InferenceSession(
        str(folder / graph.file), options, providers=["CPUExecutionProvider"]
    )
