"""The processes of one training, on one host or several, connected by JAX.

Each process runs the same program on its own share of every batch. At the same steps, they agree
here on what can differ between them: the clock, signals, and the validation, which only process 0
runs. If one process dies, the others fail, too: they notice the broken connection or the missing
heartbeats, and each of these functions raises NmtError.
"""

import atexit
import hashlib
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import keras
import numpy as np

from nmt_cli.errors import InputError, NmtError, OptionError, ResourceError, first_line
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.devices import Devices, check_present, cpu_devices

CONNECT_SECONDS = 120  # for all processes to start
HEARTBEAT_SECONDS = 60  # a process that is silent for this long is lost


def set_up(devices: Devices, recipe: Recipe, begun: int = 0) -> Devices:
    """Prepare this process for a training, and return the devices with their count.

    TensorFlow and JAX must not have run yet. A count of 0 means as many as the resumed run was
    ``begun`` on, or 1, or as many parts of a CPU as pay off.
    """
    if not 0 <= devices.process_id < devices.processes:
        reason = f"`process_id={devices.process_id}` with {devices.processes} processes"
        hint = f"give each process its own number from 0 to {devices.processes - 1}"
        raise OptionError(reason, hint)
    host, _, port = devices.coordinator.rpartition(":")
    if devices.coordinator and not (host and port.isdecimal() and 0 < int(port) < 65536):
        hint = "give an address of process 0 and a free port there, e.g. 10.0.0.1:7733"
        raise OptionError(f"`coordinator={devices.coordinator}`: not of the form HOST:PORT", hint)
    backend = keras.backend.backend()
    if devices.coordinator and backend != "jax":
        reason = f"training in several processes needs JAX, and the backend is {backend}"
        raise OptionError(reason, "set KERAS_BACKEND=jax, and pip install 'nmt_cli[train-jax]'")
    if not devices.count:
        devices = replace(devices, count=cpu_devices(recipe, begun))
    if devices.processes > 1:
        _connect(devices)
    check_present(devices, recipe.training.accumulate)
    return devices


def _connect(devices: Devices) -> None:
    import jax

    atexit.register(_leave_at_once)  # the last one registered is called first
    try:
        if not devices.is_main:
            _await_coordinator(devices.coordinator)
        jax.distributed.initialize(
            devices.coordinator,
            devices.processes,
            devices.process_id,
            cluster_detection_method="deactivate",
            initialization_timeout=CONNECT_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except Exception as error:  # gRPC raises many types
        raise ResourceError(
            f"`coordinator={devices.coordinator}`: {devices.processes} processes did not connect "
            f"within {CONNECT_SECONDS} s ({first_line(error)})",
            "start all processes with the same `coordinator` and `processes`; its port must be "
            "free on the host of process 0 and open to the others",
        ) from None
    wait(devices)


def wait(devices: Devices) -> None:
    """Return when all processes have called this."""
    _gathered(devices, np.zeros(1))


def any_of(devices: Devices, flags: Sequence[bool]) -> list[bool]:
    """Return which of the flags are set in any process."""
    return _gathered(devices, np.array(flags)).any(axis=0).tolist()


def broadcast(devices: Devices, numbers: Sequence[float]) -> list[float]:
    """Return process 0's numbers in every process, exactly; the others pass as many."""
    # As bytes: JAX would round to float32, and the processes would rank scores differently.
    record = _gathered(devices, np.array(numbers, np.float64).view(np.uint8))[0]
    return record.astype(np.uint8).view(np.float64).tolist()


def check_same(devices: Devices, training: str) -> None:
    """Check that all processes were started for the same training, described as text."""
    own_digest = np.frombuffer(hashlib.sha256(training.encode()).digest(), np.uint8)
    digests = _gathered(devices, own_digest)
    others = [number for number, digest in enumerate(digests) if (digest != digests[0]).any()]
    if others:
        different = "a different recipe, `devices`, data or checkpoint than process 0"
        hint = "start all processes with the same ones"
        raise InputError(f"process {others[0]} has {different}", hint)


def disconnect(devices: Devices) -> None:
    """Leave the other processes when all are done."""
    wait(devices)
    if devices.processes > 1:
        import jax

        jax.distributed.shutdown()


@contextmanager
def reporting_losses(devices: Devices) -> Iterator[None]:
    """Turn JAX's errors about a lost process into NmtError."""
    try:
        yield
    except Exception as error:
        if devices.processes == 1 or not _is_loss(error):
            raise
        reason = f"another process of the training was lost ({first_line(error)})"
        raise NmtError(reason, "start all of them again, with `resume`") from None


def _gathered(devices: Devices, values: Any) -> Any:
    """Collect the arrays of all processes: [processes, ...]."""
    if devices.processes == 1:
        return values[None]
    from jax.experimental import multihost_utils

    with reporting_losses(devices):
        return np.asarray(multihost_utils.process_allgather(values))


def _is_loss(error: Exception) -> bool:
    """Whether JAX failed to reach another process, which only the error's text shows."""
    import jax

    words = ("gloo", "nccl", "unavailable", "connection", "deadline_exceeded", "coordination")
    types = jax.errors.JaxRuntimeError | ValueError | RuntimeError
    return isinstance(error, types) and any(word in str(error).lower() for word in words)


def _await_coordinator(address: str) -> None:
    """Wait until process 0 listens: JAX would abort this process instead of raising."""
    host, _, port = address.rpartition(":")
    end = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _leave_at_once() -> None:
    """After an error, skip JAX's shutdown at exit: it waits for the other processes, which wait
    for this one."""
    import jax

    if jax.distributed.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
