"""One batch on its way through search, its tensors in host memory.

All that a step reads and writes lies in numpy arrays that are bound to the graph once and
filled in place: a step allocates nothing, and caches are copied only when they must grow.

Where a column lies depends on its step and beam alone, never on the batch: sums of float
numbers depend on the order of what is added, and a sentence must translate alike in any
company.

Shapes: B sentences, K beams, P columns cached so far, R columns reserved (R >= P), h heads,
k width of a head, V vocabulary.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates

# Steps for which columns are reserved at a time, at least, and as a share of those so far:
# more copies the caches less often, but every step attends, in vain, to what is reserved and
# not yet filled.
STEPS_AHEAD = 4
SHARE_AHEAD = 0.25
# With the step's own column in front, rows of attention are whole vectors of the processor:
# the last ones are otherwise added up in another order.
_VECTOR = 8


class HostState:
    """Encoder output, caches and the buffers of a step.

    Args:
        decoder: session of the decoder step.
        encoded: encoder outputs by name.
        caches: by name and empty, [B, h, 0, k].
        vocab_size: V.
    """

    def __init__(
        self,
        decoder: Any,
        encoded: Mapping[str, NDArray[Any]],
        caches: Mapping[str, NDArray[Any]],
        vocab_size: int,
    ) -> None:
        self._decoder = decoder
        self._encoded = encoded
        self._caches = dict(caches)
        self._vocab_size = vocab_size
        self._steps = 0
        self._used = 0
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

    def select(self, rows: NDArray[np.int64]) -> "HostState":
        """The state of some sentences alone."""
        chosen = copy(self)
        chosen._encoded = {name: each[rows] for name, each in self._encoded.items()}
        chosen._caches = {name: each[rows] for name, each in self._caches.items()}
        chosen._bind()
        return chosen

    def _run(self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]) -> None:
        beams = tokens.shape[1]
        if "tokens" not in self._buffers:
            self._bind_step(tokens)
        self._buffers["tokens"][:] = tokens
        self._buffers["position"][0] = self._steps
        self._buffers["ancestry"][..., : self._used] = ancestry[..., : self._used]
        self._decoder.run_with_iobinding(self._binding)
        if self._used + beams > self._reserved:
            self._reserve(tokens.shape)
        for name, cache in self._caches.items():
            cache[:, :, self._used : self._used + beams] = self._buffers[f"new_{name}"]
        self._used += beams
        self._steps += 1

    @property
    def _reserved(self) -> int:
        """R."""
        return next(iter(self._caches.values())).shape[2]

    def _reserve(self, shape: tuple[int, ...]) -> None:
        """Make room for more columns."""
        count, beams = shape
        steps = max(STEPS_AHEAD, int(self._steps * SHARE_AHEAD))
        reserved = -(-(1 + self._used + steps * beams) // _VECTOR) * _VECTOR - 1
        for name, cache in self._caches.items():
            _, heads, _, size = cache.shape
            grown = np.empty((count, heads, reserved, size), cache.dtype)
            grown[:, :, : self._used] = cache[:, :, : self._used]
            # Not whatever memory holds: columns out of sight still enter the products.
            grown[:, :, self._used :] = 0
            self._caches[name] = grown
            self._bind_input(name, grown)
        self._bind_input("ancestry", np.zeros((count, beams, reserved), np.bool_))

    def _bind(self) -> None:
        """Start over with the buffers, after the number of sentences has changed."""
        self._buffers: dict[str, NDArray[Any]] = {}
        self._binding = self._decoder.io_binding()
        for name, values in (*self._encoded.items(), *self._caches.items()):
            self._bind_input(name, values)

    def _bind_step(self, tokens: NDArray[np.int32]) -> None:
        """Make the buffers whose shapes stay while the batch does."""
        count, beams = tokens.shape
        self._bind_input("tokens", np.empty_like(tokens))
        self._bind_input("position", np.empty(1, np.int32))
        self._bind_input("ancestry", np.zeros((count, beams, self._reserved), np.bool_))
        best = (count, beams, min(beams, self._vocab_size))
        self._bind_output("scores", best, np.float32)
        self._bind_output("ids", best, np.int32)
        for name, cache in self._caches.items():
            _, heads, _, size = cache.shape
            self._bind_output(f"new_{name}", (count, heads, beams, size), cache.dtype)

    def _bind_input(self, name: str, values: NDArray[Any]) -> None:
        values = np.ascontiguousarray(values)
        self._buffers[name] = values  # ONNX Runtime reads this very memory
        self._binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))

    def _bind_output(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        values = np.empty(shape, dtype)
        self._buffers[name] = values
        self._binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(values))
