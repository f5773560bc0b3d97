"""The state of one batch during search: what the encoder returned, and the decoder's caches.

HostState keeps its tensors in numpy arrays that are bound to the graph once and filled in place: a
step allocates nothing, the graph writes its columns directly into the caches, and batches shrink
and caches grow within memory that is already there. DeviceState keeps them on a device such as a
GPU; only tokens, ancestry and the best candidates are copied to or from the host.

The position of a column depends only on its step and beam, never on the batch: sums of floating
point numbers depend on their order, and a sentence's translation must not depend on its batch.

Shapes: B sentences, K beams, R columns reserved, h heads, k width of a head, V vocabulary.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates, Floats, Ids, Mask

# Cache growth on the host: max(STEPS_AHEAD, SHARE_AHEAD * steps) further steps are reserved at a
# time. More columns are moved less often, but every step computes attention for all reserved ones.
STEPS_AHEAD = 8
SHARE_AHEAD = 0.25
# The same on a device.
_DEVICE_STEPS_AHEAD = 16
# Rows of attention fill whole vectors of the processor: it would sum the remaining columns in
# another order.
VECTOR = 8


class HostState:
    """Encoder output, caches and the buffers of a step, in host memory.

    Args:
        decoder: session of the step that ranks tokens.
        encoder_output: by name, [B, ...], and shortlists; the state changes these arrays.
        caches: shapes of the caches by name, empty at first: [B, h, 0, k].
    """

    def __init__(
        self,
        decoder: Any,
        encoder_output: Mapping[str, NDArray[Any]],
        caches: Mapping[str, tuple[int, ...]],
        vocab_size: int,
    ) -> None:
        self._decoder = self._session = decoder
        self._encoder_output = dict(encoder_output)
        dtype = next(iter(self._encoder_output.values())).dtype
        self._caches = {name: _Cache(shape, dtype) for name, shape in caches.items()}
        self._spare = np.empty(0, dtype)  # memory into which the next cache is widened
        self._vocab_size = vocab_size
        shortlist = self._encoder_output.get("shortlist")
        self._candidates = vocab_size if shortlist is None else shortlist.shape[1]
        self._steps = self._used = self._reserved = 0
        # By name of an input or output; empty when they have to be made and bound.
        self._buffers: dict[str, NDArray[Any]] = {}

    def step(self, tokens: Ids, ancestry: Mask) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        self._run(self._decoder, tokens, ancestry)
        # The next step overwrites the buffers; search copies what it keeps.
        return Candidates(self._buffers["scores"], self._buffers["ids"])

    def log_probs(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Run a step of a session that returns all log-probabilities, [B, K, V]."""
        self._run(session, tokens, ancestry, log_probs=True)
        return self._buffers["log_probs"].copy()

    def attention(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Return the attention of the next step to the source, [B, L, h, K, S]."""
        self._fill(tokens, ancestry)
        binding = session.io_binding()
        for tensor in session.get_inputs():
            name = tensor.name
            values = self._caches[name].columns if name in self._caches else self._buffers[name]
            value = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            binding.bind_ortvalue_input(name, value)
            if name in self._caches:  # the step itself writes the same columns again
                binding.bind_ortvalue_output(f"new_{name}", value)
        binding.bind_output("attention", "cpu")
        session.run_with_iobinding(binding)
        return binding.get_outputs()[-1].numpy().astype(np.float32)

    def select(self, rows: NDArray[np.int64]) -> "HostState":
        """Keep some sentences, in the same memory; rows ascend."""
        for name, values in self._encoder_output.items():
            self._encoder_output[name] = _kept(values, rows)
        for cache in self._caches.values():
            cache.columns = _kept(cache.columns, rows)
        self._buffers = {}
        return self

    def _run(self, session: Any, tokens: Ids, ancestry: Mask, log_probs: bool = False) -> None:
        if session is not self._session:
            self._session, self._buffers = session, {}
        self._fill(tokens, ancestry)
        if log_probs and "log_probs" not in self._buffers:
            self._bind_output("log_probs", (*tokens.shape, self._vocab_size), np.float32)
        session.run_with_iobinding(self._binding)
        self._used += tokens.shape[1]
        self._steps += 1

    def _fill(self, tokens: Ids, ancestry: Mask) -> None:
        """Write a step's inputs into its buffers."""
        used = self._used + tokens.shape[1]
        if used > self._reserved:
            self._reserve(tokens.shape[1])
        if not self._buffers:
            self._bind(*tokens.shape)
        buffers = self._buffers
        buffers["tokens"][:] = tokens
        buffers["position"][0] = self._steps
        buffers["write_at"][:] = self._used
        buffers["ancestry"][..., :used] = ancestry

    def _reserve(self, beams: int) -> None:
        """Make room for more columns."""
        steps = max(STEPS_AHEAD, int(self._steps * SHARE_AHEAD))
        self._reserved = -(-(self._used + steps * beams) // VECTOR) * VECTOR
        for cache in self._caches.values():
            self._spare = cache.widen(self._used, self._reserved, self._spare)
        self._buffers = {}

    def _bind(self, count: int, beams: int) -> None:
        """Make the buffers of a step and bind them, the encoder's output and the caches."""
        self._binding = self._session.io_binding()
        inputs = {tensor.name for tensor in self._session.get_inputs()}
        for name, values in self._encoder_output.items():
            if name in inputs:  # not every step has shortlists
                self._bind_input(name, values)
        self._bind_input("tokens", np.empty((count, beams), np.int32))
        self._bind_input("position", np.empty(1, np.int32))
        self._bind_input("write_at", np.empty(count, np.int64))
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))
        for name, cache in self._caches.items():  # the graph writes its columns into the input
            value = onnxruntime.OrtValue.ortvalue_from_numpy(cache.columns)
            self._binding.bind_ortvalue_input(name, value)
            self._binding.bind_ortvalue_output(f"new_{name}", value)
        shape = (count, beams, min(beams, self._candidates))
        self._bind_output("scores", shape, np.float32)
        self._bind_output("ids", shape, np.int32)

    def _bind_input(self, name: str, values: NDArray[Any]) -> None:
        self._buffers[name] = values
        self._binding.bind_cpu_input(name, values)  # no copy: each step reads this memory

    def _bind_output(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        values = np.empty(shape, dtype)
        self._buffers[name] = values
        self._binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))


class _Cache:
    """Keys or values of a layer, in memory that may be larger than they are.

    New memory is slow, as the system provides it page by page: sentences are removed in place,
    and memory is doubled when it is too small.

    Attributes:
        columns: [B, h, R, k], contiguous.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._memory = np.empty(0, dtype)
        self.columns = self._memory.reshape(shape)

    def widen(self, used: int, reserved: int, memory: NDArray[Any]) -> NDArray[Any]:
        """Reserve columns in other memory; return the memory that is now free.

        New columns are 0: they are masked, but enter the products.
        """
        count, heads, _, size = self.columns.shape
        needed = count * heads * reserved * size
        if needed > memory.size:
            memory = np.empty(max(needed, 2 * self._memory.size), self._memory.dtype)
        columns = memory[:needed].reshape(count, heads, reserved, size)
        columns[:, :, :used] = self.columns[:, :, :used]
        columns[:, :, used:] = 0
        free, self._memory, self.columns = self._memory, memory, columns
        return free


def _kept(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Move rows to the front of an array; they ascend, so that nothing is overwritten."""
    for target, row in enumerate(rows):
        if target != row:
            values[target] = values[row]
    return values[: len(rows)]


class DeviceState:
    """Encoder output and caches as OrtValues on a device.

    A small graph of the bundle adds columns and removes sentences that are done.

    Args:
        append: session of the graph that joins and selects.
        memory: ONNX Runtime's name of the device's memory.
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
        self._decoder, self._append, self._memory = decoder, append, memory
        self._encoder_output = dict(encoder_output)
        first = next(iter(self._encoder_output.values()))
        self._dtype = np.float16 if "float16" in first.data_type() else np.float32
        self._caches = {name: self._zeros(shape) for name, shape in caches.items()}
        self._steps = self._used = 0

    def step(self, tokens: Ids, ancestry: Mask) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        return Candidates(*self._advance(tokens, ancestry, "scores", "ids"))

    def log_probs(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Run a step, and return all log-probabilities, [B, K, V]."""
        return self._advance(tokens, ancestry, "log_probs")[0]

    def attention(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Return the attention of the next step to the source, [B, L, h, K, S]."""
        return self._run(session, tokens, ancestry, "attention")[0].astype(np.float32)

    def select(self, rows: NDArray[np.int64]) -> "DeviceState":
        """Keep some sentences."""
        for values in (self._encoder_output, self._caches):
            for name, value in values.items():
                count, heads, _, size = value.shape()
                values[name] = self._joined(value, self._zeros((count, heads, 0, size)), rows)
        return self

    def _advance(self, tokens: Ids, ancestry: Mask, *outputs: str) -> list[NDArray[Any]]:
        values = self._run(self._decoder, tokens, ancestry, *outputs)
        self._used += tokens.shape[1]
        self._steps += 1
        return values

    def _run(self, session: Any, tokens: Ids, ancestry: Mask, *outputs: str) -> list[NDArray[Any]]:
        count, beams = tokens.shape
        self._reserve(count, beams)
        mask = np.zeros((count, beams, self._reserved), np.bool_)
        mask[..., : self._used + beams] = ancestry
        binding = session.io_binding()
        binding.bind_cpu_input("tokens", np.ascontiguousarray(tokens))
        binding.bind_cpu_input("position", np.array([self._steps], np.int32))
        binding.bind_cpu_input("write_at", np.full(count, self._used, np.int64))
        binding.bind_cpu_input("ancestry", mask)
        for name, value in self._encoder_output.items():
            binding.bind_ortvalue_input(name, value)
        for name in outputs:
            binding.bind_output(name, "cpu")
        for name, value in self._caches.items():
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(f"new_{name}", value)
        session.run_with_iobinding(binding)
        return [value.numpy() for value in binding.get_outputs()[: len(outputs)]]

    @property
    def _reserved(self) -> int:
        """R, the columns reserved."""
        return int(next(iter(self._caches.values())).shape()[2])

    def _reserve(self, count: int, beams: int) -> None:
        """Add columns if the next step's do not fit."""
        if self._used + beams > self._reserved:
            rows = np.arange(count)
            for name, value in self._caches.items():
                _, heads, _, size = value.shape()
                columns = self._zeros((count, heads, _DEVICE_STEPS_AHEAD * beams, size))
                self._caches[name] = self._joined(value, columns, rows)

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        values = np.zeros(shape, self._dtype)
        return onnxruntime.OrtValue.ortvalue_from_numpy(values, self._memory)

    def _joined(self, values: Any, columns: Any, rows: NDArray[np.int64]) -> Any:
        """Some rows of a tensor, concatenated with the same rows of further columns."""
        binding = self._append.io_binding()
        binding.bind_ortvalue_input("values", values)
        binding.bind_ortvalue_input("columns", columns)
        binding.bind_cpu_input("rows", rows)
        binding.bind_output("joined", self._memory)
        self._append.run_with_iobinding(binding)
        return binding.get_outputs()[0]


def encode_on_device(session: Any, source: Ids, memory: str) -> dict[str, Any]:
    """Run the encoder; return its outputs by name, on the device."""
    binding = session.io_binding()
    binding.bind_cpu_input("source", source)
    names = [tensor.name for tensor in session.get_outputs()]
    for name in names:
        binding.bind_output(name, memory)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.get_outputs(), strict=True))
