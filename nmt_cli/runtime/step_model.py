"""The step contract over ONNX Runtime."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle.manifest import ENCODER, GraphSpec, Manifest
from nmt_cli.errors import NmtError
from nmt_cli.runtime.device import HOST, Device
from nmt_cli.runtime.device_state import DeviceState, encode_on_device
from nmt_cli.runtime.host_state import HostState
from nmt_cli.search.attention import aligning_layer
from nmt_cli.search.step_model import BatchTooLarge, Candidates

OnnxState = HostState | DeviceState

_FATAL_ONLY = 4  # errors come as exceptions too
# Tokens that the encoder reads at a time: what its layers hand on then stays in the
# processor's cache, where passing over it is several times faster.
ENCODER_TOKENS = 1024
# What ONNX Runtime's allocators say when memory does not suffice.
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "out of memory", "bad allocation")


class OnnxStepModel:
    """Runs a bundle's graphs (search.step_model.StepModel).

    Batches may run side by side in several threads. A state is used up by the step that
    follows it.

    Args:
        folder: of the bundle.
        manifest: its manifest, files checked.
        threads: inside each operator; 0 lets ONNX Runtime use every core.
        device: where to run.

    Raises:
        NmtError: ONNX Runtime cannot load a graph.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, threads: int = 0, device: Device = HOST
    ) -> None:
        self._device = device
        self._encoder = open_session(folder, manifest.encoder, threads, self._device)
        self._decoder = open_session(folder, manifest.decoder, threads, self._device)
        self._append = None
        if self._device.memory != "cpu":
            self._append = open_session(folder, manifest.append, threads, self._device)
        self._folder, self._manifest, self._threads = folder, manifest, threads
        self._encoded = manifest.encoder.outputs
        self._caches = manifest.caches
        self._dtype = np.float16 if self._caches[0].dtype == "float16" else np.float32
        self._vocab_size = manifest.vocabulary["target"]

    def encode(self, source: NDArray[np.int32]) -> OnnxState:
        """Read source ids [B, S].

        Raises:
            BatchTooLarge: memory does not suffice.
        """
        caches = {each.name: each.sized({"B": len(source), "P": 0}) for each in self._caches}
        try:
            if self._append is None:
                encoded = self._encode_in_parts(source)
                return HostState(self._decoder, encoded, caches, self._vocab_size)
            encoded = encode_on_device(self._encoder, source, self._device)
            return DeviceState(self._decoder, self._append, self._device, encoded, caches)
        except Exception as error:
            raise _too_large(error) or error from None

    def _encode_in_parts(self, source: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Run the encoder on some sentences at a time; its outputs for all, by name."""
        count, width = source.shape
        sizes = {"B": count, "S": width}
        encoded = {each.name: np.empty(each.sized(sizes), self._dtype) for each in self._encoded}
        rows = max(1, ENCODER_TOKENS // width)
        for start in range(0, count, rows):
            part = slice(start, start + rows)
            binding = self._encoder.io_binding()
            binding.bind_cpu_input("source", source[part])
            for name, values in encoded.items():
                binding.bind_ortvalue_output(
                    name, onnxruntime.OrtValue.ortvalue_from_numpy(values[part])
                )
            self._encoder.run_with_iobinding(binding)
        return encoded

    def step(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[Candidates, OnnxState]:
        """Read one token a beam; see search.step_model.

        Raises:
            BatchTooLarge: memory does not suffice.
        """
        try:
            return state.step(tokens, ancestry), state
        except Exception as error:
            raise _too_large(error) or error from None

    def log_probs(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], OnnxState]:
        """As :meth:`step`, but all log-probabilities, float32 [B, K, V]."""
        try:
            return state.log_probs(tokens, ancestry), state
        except Exception as error:
            raise _too_large(error) or error from None

    def attention(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """See search.step_model.

        Raises:
            NmtError: the bundle was exported without it.
            BatchTooLarge: memory does not suffice.
        """
        teller = self._teller
        try:
            return aligning_layer(state.attention(teller, tokens, ancestry))
        except Exception as error:
            raise _too_large(error) or error from None

    @cached_property
    def _teller(self) -> Any:
        """Session of the step that tells what it looks at: few need it."""
        graph = telling_graph(self._folder, self._manifest)
        return open_session(self._folder, graph, self._threads, self._device)

    def select(self, state: OnnxState, rows: NDArray[np.int64]) -> OnnxState:
        """The state of some sentences alone."""
        return state.select(rows)


def telling_graph(folder: Path, manifest: Manifest) -> GraphSpec:
    """The graph that tells what the model looks at.

    Raises:
        NmtError: the bundle was exported without it.
    """
    if manifest.attention is None:
        raise NmtError(
            f"{folder}: does not tell what it looks at",
            "export it again with nmt export --onnx --attention, or name the run",
        )
    return manifest.attention


def _too_large(error: Exception) -> BatchTooLarge | None:
    """What stands for an error if it is one of memory."""
    text = str(error).lower()
    if isinstance(error, MemoryError) or any(each in text for each in _OUT_OF_MEMORY):
        return BatchTooLarge()
    return None


def open_session(folder: Path, graph: GraphSpec, threads: int = 0, device: Device = HOST) -> Any:
    """Load a graph of a bundle.

    Args: as of :class:`OnnxStepModel`.

    Raises:
        NmtError: ONNX Runtime cannot load it, or cannot start the device.
    """
    path = folder / graph.file
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL_ONLY
    options.intra_op_num_threads = threads
    # Plans of memory are kept for each shape seen, and search never sees one twice.
    options.enable_mem_pattern = False
    if graph.file == ENCODER:
        # Its threads would go on spinning, on the cores that the decoder's are to work on.
        options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=device.providers)
    except Exception as error:  # ONNX Runtime's own exceptions have no common base
        raise NmtError(
            f"{path}: ONNX Runtime cannot load it ({str(error).splitlines()[0][:160]})",
            "export the bundle again",
        ) from None
    if device.provider not in session.get_providers():
        # ONNX Runtime falls back on the CPU without a word where a driver is missing.
        raise NmtError(
            f"{device.provider}: the installed onnxruntime offers it, but cannot start it",
            "check the device's driver and libraries, or take --device cpu",
        )
    return session
