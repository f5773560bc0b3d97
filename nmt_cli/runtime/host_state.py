"""The state of one batch during search, its tensors in host memory.

Everything that a step reads and writes is in numpy arrays that are bound to the graph once and
filled in place: a step allocates nothing, the graph writes its columns directly into the caches,
and batches shrink and caches grow within memory that is already there.

The place of a column depends only on its step and beam, never on the batch: sums of floating
point numbers depend on their order, and a sentence's translation must not depend on its batch.

Shapes: B sentences, K beams, R columns reserved, h heads, k width of a head,
V vocabulary.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates, Floats, Ids, Mask

# Steps for which columns are reserved at a time: at least so many, and a share of those so far.
# More columns are moved less often, but every step computes attention for all reserved ones.
STEPS_AHEAD = 8
SHARE_AHEAD = 0.25
# Rows of attention fill whole vectors of the processor: it would sum the remaining columns in
# another order.
VECTOR = 8


class HostState:
    """Encoder output, caches and the buffers of a step.

    Args:
        decoder: session of the step that ranks tokens.
        encoder_output: by name, [B, ...], and shortlists; owned by the state from now on.
        caches: shapes of the caches by name, empty at first: [B, h, 0, k].
        vocab_size: V.
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
        self._steps = 0
        self._used = 0
        self._reserved = 0
        self._bind()

    def step(self, tokens: Ids, ancestry: Mask) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        self._use(self._decoder)
        self._run(tokens, ancestry)
        # The next step overwrites the buffers; search copies what it keeps.
        return Candidates(self._buffers["scores"], self._buffers["ids"])

    def log_probs(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Like :meth:`step`, but all log-probabilities, [B, K, V], by a session that gives them."""
        self._use(session)
        if "log_probs" not in self._buffers:
            self._bind_output("log_probs", (*tokens.shape, self._vocab_size), np.float32)
        self._run(tokens, ancestry)
        return self._buffers["log_probs"].copy()

    def attention(self, session: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Attention of the next step to the source, [B, L, h, K, S], by a session that gives it."""
        self._fill(tokens, ancestry)
        binding = session.io_binding()
        for each in session.get_inputs():
            name = each.name
            values = self._caches[name].columns if name in self._caches else self._buffers[name]
            bound = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            binding.bind_ortvalue_input(name, bound)
            if name in self._caches:  # the step itself writes the same columns again
                binding.bind_ortvalue_output(f"new_{name}", bound)
        binding.bind_output("attention", "cpu")
        session.run_with_iobinding(binding)
        return binding.get_outputs()[-1].numpy().astype(np.float32)

    def select(self, rows: NDArray[np.int64]) -> "HostState":
        """Keep some sentences, in the same memory; rows ascend."""
        for name, values in self._encoder_output.items():
            self._encoder_output[name] = _kept(values, rows)
        for cache in self._caches.values():
            cache.columns = _kept(cache.columns, rows)
        self._bind()
        return self

    def _use(self, session: Any) -> None:
        """Run the steps with a session from now on."""
        if session is not self._session:
            self._session = session
            self._bind()

    def _run(self, tokens: Ids, ancestry: Mask) -> None:
        self._fill(tokens, ancestry)
        self._session.run_with_iobinding(self._binding)
        self._used += tokens.shape[1]
        self._steps += 1

    def _fill(self, tokens: Ids, ancestry: Mask) -> None:
        """Write a step's inputs into its buffers."""
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
        self._reserved = -(-(self._used + steps * beams) // VECTOR) * VECTOR
        for name, cache in self._caches.items():
            self._spare = cache.widen(self._used, self._reserved, self._spare)
            self._bind_cache(name, cache)
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))

    def _bind(self) -> None:
        """Make new buffers for a new number of sentences."""
        self._buffers: dict[str, NDArray[Any]] = {}
        self._binding = self._session.io_binding()
        inputs = {each.name for each in self._session.get_inputs()}
        for name, values in self._encoder_output.items():
            if name in inputs:  # not every step has shortlists
                self._bind_input(name, values)
        if self._reserved:  # otherwise the first step reserves columns and binds them
            for name, cache in self._caches.items():
                self._bind_cache(name, cache)

    def _bind_step(self, tokens: Ids) -> None:
        """Make the buffers whose shapes depend only on the batch."""
        count, beams = tokens.shape
        self._bind_input("tokens", np.empty_like(tokens))
        self._bind_input("position", np.empty(1, np.int32))
        self._bind_input("write_at", np.empty(count, np.int64))
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))
        best = (count, beams, min(beams, self._candidates))
        self._bind_output("scores", best, np.float32)
        self._bind_output("ids", best, np.int32)

    def _bind_cache(self, name: str, cache: "_Cache") -> None:
        """Use one array as input and output, into which the graph writes its columns."""
        values = onnxruntime.OrtValue.ortvalue_from_numpy(cache.columns)
        self._binding.bind_ortvalue_input(name, values)
        self._binding.bind_ortvalue_output(f"new_{name}", values)

    def _bind_input(self, name: str, values: NDArray[Any]) -> None:
        self._buffers[name] = values
        self._binding.bind_cpu_input(name, values)  # no copy: each step reads this memory

    def _bind_output(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        values = np.empty(shape, dtype)
        self._buffers[name] = values
        self._binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))


class _Cache:
    """Keys or values of a layer, in memory that may be larger than they are.

    New memory is slow, as the system provides it page by page: sentences are removed within the
    memory at hand, and memory is doubled when it is too small.

    Attributes:
        columns: [B, h, R, k], contiguous.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._memory = np.empty(0, dtype)
        self.columns = self._memory.reshape(shape)

    def widen(self, used: int, reserved: int, memory: NDArray[Any]) -> NDArray[Any]:
        """Reserve columns in other memory; returns the memory that is now free.

        New columns are 0: they are masked, but enter the products.
        """
        count, heads, _, size = self.columns.shape
        wanted = count * heads * reserved * size
        if wanted > memory.size:
            memory = np.empty(max(wanted, 2 * self._memory.size), self._memory.dtype)
        new = memory[:wanted].reshape(count, heads, reserved, size)
        new[:, :, :used] = self.columns[:, :, :used]
        new[:, :, used:] = 0
        free, self._memory, self.columns = self._memory, memory, new
        return free


def _kept(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Move rows to the front of an array; they ascend, so that nothing is overwritten."""
    for place, row in enumerate(rows):
        if place != row:
            values[place] = values[row]
    return values[: len(rows)]
