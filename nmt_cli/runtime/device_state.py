"""The state of one batch during search, its tensors on a device such as a GPU.

Encoder output and caches stay on the device: the decoder writes its columns directly into the
caches, and a small graph of the bundle adds columns and removes sentences that are done. Only
tokens, ancestry and the best candidates are copied to or from the host.

Shapes as in nmt_cli.runtime.host_state.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates, Floats, Ids, Mask

# Steps for which columns are added at a time.
_STEPS_AHEAD = 16


class DeviceState:
    """Encoder output and caches as OrtValues on a device.

    Args:
        decoder, append: sessions of the decoder step, and of the graph that joins and selects.
        memory: ONNX Runtime's name of the device's memory.
        encoder_output: by name.
        caches: shapes of the caches by name, empty at first: [B, h, 0, k].
    """

    def __init__(
        self,
        decoder: Any,
        append: Any,
        memory: str,
        encoder_output: Mapping[str, Any],
        caches: Mapping[str, tuple[int, ...]],
    ) -> None:
        self._decoder = decoder
        self._append = append
        self._memory = memory
        self._encoder_output = dict(encoder_output)
        first = next(iter(self._encoder_output.values()))
        self._dtype = np.float16 if "float16" in first.data_type() else np.float32
        self._caches = {name: self._zeros(shape) for name, shape in caches.items()}
        self._steps = 0
        self._used = 0

    def step(self, tokens: Ids, ancestry: Mask) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        return Candidates(*self._advance(tokens, ancestry, "scores", "ids"))

    def log_probs(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Like :meth:`step`, but all log-probabilities, [B, K, V]."""
        return self._advance(tokens, ancestry, "log_probs")[0]

    def attention(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Attention of the next step to the source (see host_state)."""
        return self._run(session, tokens, ancestry, "attention")[0].astype(np.float32)

    def select(self, rows: NDArray[np.int64]) -> "DeviceState":
        """Keep some sentences."""
        for values in (self._encoder_output, self._caches):
            for name, each in values.items():
                count, heads, _, size = each.shape()
                values[name] = self._joined(each, self._zeros((count, heads, 0, size)), rows)
        return self

    def _advance(self, tokens: Ids, ancestry: Mask, *wanted: str) -> list[NDArray[Any]]:
        found = self._run(self._decoder, tokens, ancestry, *wanted)
        self._used += tokens.shape[1]
        self._steps += 1
        return found

    def _run(self, session: Any, tokens: Ids, ancestry: Mask, *wanted: str) -> list[NDArray[Any]]:
        count, beams = tokens.shape
        self._reserve(count, beams)
        seen = np.zeros((count, beams, self._reserved), np.bool_)
        seen[..., : self._used + beams] = ancestry
        binding = session.io_binding()
        binding.bind_cpu_input("tokens", np.ascontiguousarray(tokens))
        binding.bind_cpu_input("position", np.array([self._steps], np.int32))
        binding.bind_cpu_input("write_at", np.full(count, self._used, np.int64))
        binding.bind_cpu_input("ancestry", seen)
        for name, each in self._encoder_output.items():
            binding.bind_ortvalue_input(name, each)
        for name in wanted:
            binding.bind_output(name, "cpu")
        for name, each in self._caches.items():
            binding.bind_ortvalue_input(name, each)
            binding.bind_ortvalue_output(f"new_{name}", each)
        session.run_with_iobinding(binding)
        return [each.numpy() for each in binding.get_outputs()[: len(wanted)]]

    @property
    def _reserved(self) -> int:
        """R, the columns reserved."""
        return int(next(iter(self._caches.values())).shape()[2])

    def _reserve(self, count: int, beams: int) -> None:
        """Add columns if the next step's do not fit."""
        if self._used + beams > self._reserved:
            every = np.arange(count)
            for name, each in self._caches.items():
                _, heads, _, size = each.shape()
                more = self._zeros((count, heads, _STEPS_AHEAD * beams, size))
                self._caches[name] = self._joined(each, more, every)

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        values = np.zeros(shape, self._dtype)
        return onnxruntime.OrtValue.ortvalue_from_numpy(values, self._memory)

    def _joined(self, values: Any, columns: Any, rows: NDArray[np.int64]) -> Any:
        """Some rows of a tensor, concatenated with those of further columns."""
        binding = self._append.io_binding()
        binding.bind_ortvalue_input("values", values)
        binding.bind_ortvalue_input("columns", columns)
        binding.bind_cpu_input("rows", rows)
        binding.bind_output("joined", self._memory)
        self._append.run_with_iobinding(binding)
        return binding.get_outputs()[0]


def encode_on_device(session: Any, source: Ids, memory: str) -> dict[str, Any]:
    """Run the encoder; its outputs by name, on the device."""
    binding = session.io_binding()
    binding.bind_cpu_input("source", source)
    names = [each.name for each in session.get_outputs()]
    for name in names:
        binding.bind_output(name, memory)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.get_outputs(), strict=True))
