"""One batch on its way through search, its tensors on a device such as a GPU.

Encoder output and caches never leave the device: a small graph of the bundle joins a step's
columns to the caches, and takes out sentences that are done. Only tokens, ancestry and the
best candidates cross to the host.

Shapes as in nmt_cli.runtime.host_state.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.runtime.device import Device
from nmt_cli.search.step_model import Candidates


class DeviceState:
    """Encoder output and caches as OrtValues on a device.

    Args:
        decoder: session of the decoder step.
        append: session of the graph that joins and selects.
        device: where both run.
        encoded: encoder outputs by name.
        caches: by name, [B, h, P, k].
        steps: taken so far.
    """

    def __init__(
        self,
        decoder: Any,
        append: Any,
        device: Device,
        encoded: Mapping[str, Any],
        caches: Mapping[str, Any],
        steps: int = 0,
    ) -> None:
        self._decoder = decoder
        self._append = append
        self._device = device
        self._encoded = encoded
        self._caches = dict(caches)
        self._steps = steps

    def step(self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]) -> Candidates:
        """Run a step and append its columns to the caches (see search.step_model)."""
        scores, ids = self._run(tokens, ancestry, ("scores", "ids"))
        return Candidates(scores, ids)

    def log_probs(
        self, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """As :meth:`step`, but all log-probabilities, [B, K, V]."""
        (log_probs,) = self._run(tokens, ancestry, ("log_probs",))
        return log_probs

    def select(self, rows: NDArray[np.int64]) -> "DeviceState":
        """The state of some sentences alone."""

        def chosen(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: self._joined(each, None, rows) for name, each in values.items()}

        return DeviceState(
            self._decoder,
            self._append,
            self._device,
            chosen(self._encoded),
            chosen(self._caches),
            self._steps,
        )

    def _run(
        self,
        tokens: NDArray[np.int32],
        ancestry: NDArray[np.bool_],
        wanted: tuple[str, ...],
    ) -> list[NDArray[Any]]:
        binding = self._decoder.io_binding()
        binding.bind_cpu_input("tokens", np.ascontiguousarray(tokens))
        binding.bind_cpu_input("position", np.array([self._steps], np.int32))
        past = ancestry[..., : -tokens.shape[1]]
        binding.bind_cpu_input("ancestry", np.ascontiguousarray(past))
        for values in (self._encoded, self._caches):
            for name, each in values.items():
                binding.bind_ortvalue_input(name, each)
        for name in wanted:
            binding.bind_output(name, "cpu")
        for name in self._caches:
            binding.bind_output(f"new_{name}", self._device.memory)
        self._decoder.run_with_iobinding(binding)
        outputs = binding.get_outputs()
        every = np.arange(len(tokens))
        for name, columns in zip(self._caches, outputs[len(wanted) :], strict=True):
            self._caches[name] = self._joined(self._caches[name], columns, every)
        self._steps += 1
        return [each.numpy() for each in outputs[: len(wanted)]]

    def _joined(self, values: Any, columns: Any | None, rows: NDArray[np.int64]) -> Any:
        """Some rows of a tensor, with those of further columns behind them."""
        binding = self._append.io_binding()
        binding.bind_ortvalue_input("values", values)
        if columns is None:
            count, heads, _, size = values.shape()
            binding.bind_cpu_input("columns", np.zeros((count, heads, 0, size), _dtype(values)))
        else:
            binding.bind_ortvalue_input("columns", columns)
        binding.bind_cpu_input("rows", rows)
        binding.bind_output("joined", self._device.memory)
        self._append.run_with_iobinding(binding)
        return binding.get_outputs()[0]


def encode_on_device(session: Any, source: NDArray[np.int32], device: Device) -> dict[str, Any]:
    """Run the encoder; its outputs by name, on the device."""
    binding = session.io_binding()
    binding.bind_cpu_input("source", source)
    names = [each.name for each in session.get_outputs()]
    for name in names:
        binding.bind_output(name, device.memory)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.get_outputs(), strict=True))


def empty_cache(shape: tuple[int, ...], dtype: Any, device: Device) -> Any:
    """A cache of no columns on the device."""
    return onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, dtype, device.memory)


def _dtype(value: Any) -> Any:
    return np.float16 if "float16" in value.data_type() else np.float32
