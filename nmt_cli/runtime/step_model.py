"""The step contract over ONNX Runtime."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle.manifest import MANIFEST, GraphSpec, Manifest
from nmt_cli.errors import NmtError
from nmt_cli.search.step_model import Candidates

_ERRORS_ONLY = 3


@dataclass(frozen=True)
class OnnxState:
    """Encoder output and decoder caches by name, kept as OrtValues, and the steps taken."""

    encoded: dict[str, Any]
    caches: dict[str, Any]
    steps: int


class OnnxStepModel:
    """Runs a bundle's graphs (search.step_model.StepModel).

    Args:
        folder: of the bundle.
        manifest: its manifest, files checked.
        threads: of each operator; 0 lets ONNX Runtime use every core.

    Raises:
        NmtError: ONNX Runtime cannot load a graph, or it is not the one of the manifest.
    """

    def __init__(self, folder: Path, manifest: Manifest, threads: int = 0) -> None:
        self._manifest = manifest
        self._encoder = _session(folder, manifest.encoder, threads)
        self._decoder = _session(folder, manifest.decoder, threads)
        self._encoded_names = [each.name for each in manifest.encoder.outputs]
        self._cache_names = [
            each.name for each in manifest.decoder.inputs if each.name.startswith("self_")
        ]
        self._grown_names = [f"new_{name}" for name in self._cache_names]

    def encode(self, source: NDArray[np.int32]) -> OnnxState:
        """Read source ids [B, S]."""
        feed = {"source": onnxruntime.OrtValue.ortvalue_from_numpy(source)}
        outputs = self._encoder.run_with_ort_values(self._encoded_names, feed)
        shape = (len(source), self._manifest.architecture.heads, 0, self._manifest.key_size)
        empty = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
        return OnnxState(
            dict(zip(self._encoded_names, outputs, strict=True)),
            dict.fromkeys(self._cache_names, empty),
            0,
        )

    def step(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[Candidates, OnnxState]:
        """Read one token a beam; see search.step_model."""
        (scores, ids), state = self._advance(["scores", "ids"], state, tokens, ancestry)
        return Candidates(scores, ids), state

    def log_probs(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], OnnxState]:
        """As :meth:`step`, but all log-probabilities, float32 [B, K, V]."""
        (log_probs,), state = self._advance(["log_probs"], state, tokens, ancestry)
        return log_probs, state

    def _advance(
        self,
        wanted: list[str],
        state: OnnxState,
        tokens: NDArray[np.int32],
        ancestry: NDArray[np.bool_],
    ) -> tuple[list[NDArray[Any]], OnnxState]:
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        feed = {
            "tokens": value(np.ascontiguousarray(tokens)),
            "position": value(np.array([state.steps], np.int32)),
            "ancestry": value(np.ascontiguousarray(ancestry)),
            **state.encoded,
            **state.caches,
        }
        outputs = self._decoder.run_with_ort_values([*wanted, *self._grown_names], feed)
        results = [each.numpy() for each in outputs[: len(wanted)]]
        caches = dict(zip(self._cache_names, outputs[len(wanted) :], strict=True))
        return results, OnnxState(state.encoded, caches, state.steps + 1)

    def select(self, state: OnnxState, rows: NDArray[np.int64]) -> OnnxState:
        """The state of some sentences alone."""

        def chosen(values: dict[str, Any]) -> dict[str, Any]:
            return {
                name: onnxruntime.OrtValue.ortvalue_from_numpy(each.numpy()[rows])
                for name, each in values.items()
            }

        return OnnxState(chosen(state.encoded), chosen(state.caches), state.steps)


def _session(folder: Path, graph: GraphSpec, threads: int) -> Any:
    path = folder / graph.file
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # ONNX Runtime's own exceptions have no common base
        raise NmtError(
            f"{path}: ONNX Runtime cannot load it ({str(error).splitlines()[0][:160]})",
            "export the bundle again",
        ) from None
    for kind, wanted, found in (
        ("inputs", graph.inputs, session.get_inputs()),
        ("outputs", graph.outputs, session.get_outputs()),
    ):
        if [each.name for each in wanted] != [each.name for each in found]:
            raise NmtError(
                f"{path}: its {kind} are not those that {MANIFEST} names", "export the bundle again"
            )
    return session
