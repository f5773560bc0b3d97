"""One batch on its way through search, its tensors in host memory.

All that a step reads and writes lies in numpy arrays that are bound to the graph once and
filled in place: a step allocates nothing, the graph writes its columns into the caches where
they lie, and batches shrink and caches grow inside the memory they have.

Where a column lies depends on its step and beam alone, never on the batch: sums of float
numbers depend on the order of what is added, and a sentence must translate alike in any
company.

Shapes: B sentences, K beams, R columns reserved, h heads, k width of a head,
V vocabulary.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates

# Steps for which columns are reserved at a time, at least, and as a share of those so far:
# more moves the columns less often, but every step attends, in vain, to what is reserved and
# not yet filled.
STEPS_AHEAD = 8
SHARE_AHEAD = 0.25
# Rows of attention are whole vectors of the processor: the last columns are otherwise added
# up in another order.
_VECTOR = 8


class HostState:
    """Encoder output, caches and the buffers of a step.

    Args:
        decoder: session of the decoder step.
        encoded: encoder outputs by name, [B, ...]; the state's own from here on.
        caches: shapes of the caches by name, still empty: [B, h, 0, k].
        vocab_size: V.
    """

    def __init__(
        self,
        decoder: Any,
        encoded: Mapping[str, NDArray[Any]],
        caches: Mapping[str, tuple[int, ...]],
        vocab_size: int,
    ) -> None:
        self._decoder = decoder
        self._encoded = dict(encoded)
        dtype = next(iter(self._encoded.values())).dtype
        self._caches = {name: _Cache(shape, dtype) for name, shape in caches.items()}
        self._vocab_size = vocab_size
        self._steps = 0
        self._used = 0
        self._reserved = 0
        self._bind()

    def step(self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        self._run(tokens, ancestry)
        # Search keeps no more than it copies, and the buffers are the next step's.
        return Candidates(self._buffers["scores"], self._buffers["ids"])

    def log_probs(
        self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """As :meth:`step`, but all log-probabilities, [B, K, V]."""
        if "log_probs" not in self._buffers:
            self._bind_output("log_probs", (*tokens.shape, self._vocab_size), np.float32)
        self._run(tokens, ancestry)
        return self._buffers["log_probs"].copy()

    def attention(
        self, teller: Any, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """What the step about to be taken looks at, [B, L, h, K, S].

        Args:
            teller: session of the step that tells it.
            tokens, ancestry: as of :meth:`step`.
        """
        self._fill(tokens, ancestry)
        binding = teller.io_binding()
        for each in teller.get_inputs():
            name = each.name
            values = self._caches[name].columns if name in self._caches else self._buffers[name]
            bound = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            binding.bind_ortvalue_input(name, bound)
            if name in self._caches:  # the step itself will write the same columns once more
                binding.bind_ortvalue_output(f"new_{name}", bound)
        binding.bind_output("attention", "cpu")
        teller.run_with_iobinding(binding)
        return binding.get_outputs()[-1].numpy().astype(np.float32)

    def select(self, rows: NDArray[np.int64]) -> "HostState":
        """Go on with some sentences alone, in the same memory; rows ascend."""
        for name, values in self._encoded.items():
            for place, row in enumerate(rows):
                if place != row:
                    values[place] = values[row]
            self._encoded[name] = values[: len(rows)]
        for cache in self._caches.values():
            cache.select(rows)
        self._bind()
        return self

    def _run(self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]) -> None:
        self._fill(tokens, ancestry)
        self._decoder.run_with_iobinding(self._binding)
        self._used += tokens.shape[1]
        self._steps += 1

    def _fill(self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]) -> None:
        """Write what the step reads into its buffers."""
        used = self._used + tokens.shape[1]
        if used > self._reserved:
            self._reserve(tokens.shape)
        if "tokens" not in self._buffers:
            self._bind_step(tokens)
        buffers = self._buffers
        buffers["tokens"][:] = tokens
        buffers["position"][0] = self._steps
        buffers["write_at"][:] = self._used
        buffers["ancestry"][..., :used] = ancestry

    def _reserve(self, shape: tuple[int, ...]) -> None:
        """Make room for more columns."""
        count, beams = shape
        steps = max(STEPS_AHEAD, int(self._steps * SHARE_AHEAD))
        self._reserved = -(-(self._used + steps * beams) // _VECTOR) * _VECTOR
        for name, cache in self._caches.items():
            cache.widen(self._used, self._reserved)
            self._bind_cache(name, cache)
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))

    def _bind(self) -> None:
        """Start over with the buffers, after the number of sentences has changed."""
        self._buffers: dict[str, NDArray[Any]] = {}
        self._binding = self._decoder.io_binding()
        for name, values in self._encoded.items():
            self._bind_input(name, values)
        for name, cache in self._caches.items():
            self._bind_cache(name, cache)

    def _bind_step(self, tokens: NDArray[np.int32]) -> None:
        """Make the buffers whose shapes stay while the batch does."""
        count, beams = tokens.shape
        self._bind_input("tokens", np.empty_like(tokens))
        self._bind_input("position", np.empty(1, np.int32))
        self._bind_input("write_at", np.empty(count, np.int64))
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))
        best = (count, beams, min(beams, self._vocab_size))
        self._bind_output("scores", best, np.float32)
        self._bind_output("ids", best, np.int32)

    def _bind_cache(self, name: str, cache: "_Cache") -> None:
        """Input and output are one memory: the graph then writes its columns into it."""
        values = onnxruntime.OrtValue.ortvalue_from_numpy(cache.columns)
        self._binding.bind_ortvalue_input(name, values)
        self._binding.bind_ortvalue_output(f"new_{name}", values)

    def _bind_input(self, name: str, values: NDArray[Any]) -> None:
        self._buffers[name] = values  # ONNX Runtime reads this very memory
        self._binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))

    def _bind_output(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        values = np.empty(shape, dtype)
        self._buffers[name] = values
        self._binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))


class _Cache:
    """Keys or values of a layer, in memory that may hold more than they need.

    New memory is slow, as the system hands it out page by page: sentences leave and columns
    are added within what is there, and where it does not suffice it is doubled.

    Attributes:
        columns: [B, h, R, k], contiguous.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._memory = np.empty(0, dtype)
        self.columns = self._memory.reshape(shape)

    def widen(self, used: int, reserved: int) -> None:
        """Reserve columns; the new ones are 0, as they enter the products out of sight."""
        count, heads, before, size = self.columns.shape
        old = self.columns.reshape(count * heads, before, size)
        wanted = len(old) * reserved * size
        if wanted > self._memory.size:
            self._memory = np.empty(max(wanted, 2 * self._memory.size), old.dtype)
        new = self._memory[:wanted].reshape(len(old), reserved, size)
        for row in range(len(old) - 1, -1, -1):  # the last first: nothing is written over
            new[row, :used] = old[row, :used]
            new[row, used:] = 0
        self.columns = new.reshape(count, heads, reserved, size)

    def select(self, rows: NDArray[np.int64]) -> None:
        """Keep some sentences; rows ascend, so that nothing is written over."""
        for place, row in enumerate(rows):
            if place != row:
                self.columns[place] = self.columns[row]
        self.columns = self.columns[: len(rows)]
