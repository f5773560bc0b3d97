"""What a bundle looks at while it translates: its step with attention weights, run by hand."""

from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.bundle.manifest import GraphSpec
from nmt_cli.errors import NmtError
from nmt_cli.runtime.contract import checked_tokenizers
from nmt_cli.runtime.load import checked_manifest
from nmt_cli.runtime.step_model import open_session, telling_graph
from nmt_cli.search.attention import AttentionMaps, framed_pair


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
    step_spec = telling_graph(folder, manifest)
    framed, inputs, outputs = framed_pair(checked_tokenizers(folder, manifest), source, target_ids)
    state = _run(folder, manifest.encoder, {"source": np.array([framed], np.int32)})
    for each in manifest.caches:
        kind = np.float16 if each.dtype == "float16" else np.float32
        state[each.name] = np.zeros(each.sized({"B": 1, "P": len(inputs)}), kind)
    step = open_session(folder, step_spec)
    rows: list[Any] = []
    for position, token in enumerate(inputs):
        feed = {
            **state,
            "tokens": np.array([[token]], np.int32),
            "position": np.array([position], np.int32),
            "write_at": np.array([position], np.int64),
            "ancestry": (np.arange(len(inputs)) <= position)[None, None],
        }
        found = _outputs(folder, step_spec, step, feed)
        rows.append(found["attention"][0, :, :, 0].astype(np.float32))  # [L, h, S]
        state |= {each.name: found[f"new_{each.name}"] for each in manifest.caches}
    return AttentionMaps(framed, outputs, np.stack(rows, axis=2))


def _run(folder: Path, graph: GraphSpec, feed: dict[str, Any]) -> dict[str, Any]:
    return _outputs(folder, graph, open_session(folder, graph), feed)


def _outputs(folder: Path, graph: GraphSpec, session: Any, feed: dict[str, Any]) -> dict[str, Any]:
    """Run a graph; its outputs by name.

    Raises:
        NmtError: ONNX Runtime fails, or what comes out is not all numbers.
    """
    names = [each.name for each in graph.outputs]
    try:
        found = dict(zip(names, session.run(names, feed), strict=True))
    except Exception as error:  # ONNX Runtime's own exceptions have no common base
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise NmtError(
            f"{folder / graph.file}: ONNX Runtime fails ({first[:160]})", "export the bundle again"
        ) from None
    if not all(np.isfinite(each).all() for each in found.values()):
        raise NmtError(
            f"{folder / graph.file}: gives what are not numbers", "export the bundle again"
        )
    return found
