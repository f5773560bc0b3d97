"""Several processes of one training, on one host or on many, held together by JAX.

Each runs the same program on its own share of every batch. What they could see differently
(the clock, signals, the validation that process 0 makes) they settle here, at moments that all
of them know. A process that ends in another way than all together takes the others with it:
they are told by the broken connection, or by JAX's heartbeats.
"""

import atexit
import ctypes
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nmt_cli.errors import NmtError
from nmt_cli.training.devices import Devices

CONNECT_SECONDS = 120  # for all processes to be started
HEARTBEAT_SECONDS = 60  # a process that is silent for so long is lost
ABORT_SECONDS = 3  # for the main thread to tell what it noticed, before the process ends

_LOST = "another process of the training was lost"
_GO_ON = "start all of them again, with --resume"


def connect(devices: Devices) -> None:
    """Find the other processes; from then on all go the same way. Once a process.

    Raises:
        NmtError: not all of them are there in time, or the coordinator's port is taken.
    """
    if devices.processes == 1:
        return
    import jax

    if jax.distributed.is_initialized():
        return
    absent = NmtError(
        f"--coordinator {devices.coordinator}: no training of {devices.processes} processes "
        f"came together there within {CONNECT_SECONDS} s",
        "start all processes, with the same --coordinator and --processes; its port is to be "
        "free on the host of process 0, and open to the others",
    )
    _leave_at_once()
    _explain_aborts(absent)
    try:
        jax.distributed.initialize(
            devices.coordinator,
            devices.processes,
            devices.process_id,
            cluster_detection_method="deactivate",  # everything is said already
            initialization_timeout=CONNECT_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except Exception as error:  # whatever gRPC makes of it
        raise NmtError(f"{absent.message} ({_first_line(error)})", absent.hint) from None
    _explain_aborts(NmtError(f"{_LOST}, or JAX failed (see above)", _GO_ON))
    wait(devices, "connected")


def wait(devices: Devices, moment: str) -> None:
    """Go on when all processes have come here.

    Raises:
        NmtError: one was lost.
    """
    if devices.processes == 1:
        return
    from jax.experimental import multihost_utils

    with noticing_losses(devices):
        multihost_utils.sync_global_devices(moment)


def any_of(devices: Devices, flags: Sequence[bool]) -> list[bool]:
    """Which of the flags are up in any process.

    Raises:
        NmtError: one was lost.
    """
    if devices.processes == 1:
        return list(flags)
    return _gathered(devices, np.array(flags)).any(axis=0).tolist()


def told(devices: Devices, numbers: Sequence[float]) -> list[float]:
    """The numbers that process 0 has, to the last bit; the others' say nothing but how many.

    Raises:
        NmtError: one was lost.
    """
    if devices.processes == 1:
        return list(numbers)
    from jax.experimental import multihost_utils

    # As bytes: JAX would make float32 of them, and the processes would not rank scores alike.
    record = np.array(numbers, np.float64).view(np.uint8)
    with noticing_losses(devices):
        record = np.asarray(multihost_utils.broadcast_one_to_all(record))
    return record.astype(np.uint8).view(np.float64).tolist()


def check_alike(devices: Devices, what: str) -> None:
    """Fail if the processes were started for different trainings.

    Args:
        devices: the processes.
        what: all that has to be the same.

    Raises:
        NmtError: they were.
    """
    if devices.processes == 1:
        return
    digests = _gathered(devices, np.frombuffer(hashlib.sha256(what.encode()).digest(), np.uint8))
    others = [number for number, each in enumerate(digests) if (each != digests[0]).any()]
    if others:
        raise NmtError(
            f"process {others[0]} has another recipe, --devices, data or checkpoint than process 0",
            "start all of them with the same ones",
        )


def disconnect(devices: Devices) -> None:
    """Leave the others in good order: all are done.

    Raises:
        NmtError: one was lost.
    """
    if devices.processes == 1:
        return
    import jax

    wait(devices, "done")
    jax.distributed.shutdown()


@contextmanager
def noticing_losses(devices: Devices) -> Iterator[None]:
    """Around what needs the others.

    Raises:
        NmtError: instead of what JAX says when one of them is gone.
    """
    try:
        yield
    except Exception as error:
        if devices.processes == 1 or not _is_loss(error):
            raise
        raise NmtError(f"{_LOST} ({_first_line(error)})", _GO_ON) from None


def _gathered(devices: Devices, values: Any) -> Any:
    """[processes, ...]"""
    from jax.experimental import multihost_utils

    with noticing_losses(devices):
        return np.asarray(multihost_utils.process_allgather(values))


def _is_loss(error: Exception) -> bool:
    """Whether JAX failed to reach another process. Its errors have no kinds, only words."""
    import jax

    words = ("gloo", "nccl", "unavailable", "connection", "deadline_exceeded", "coordination")
    text = str(error).lower()
    return isinstance(error, jax.errors.JaxRuntimeError | ValueError | RuntimeError) and any(
        word in text for word in words
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [repr(error)])[0][:200]


def _leave_at_once() -> None:
    """End the process without JAX's good-bye unless it was said: that one waits for all others,
    which wait for this one, and aborts in the end."""

    def leave() -> None:
        import jax

        if jax.distributed.is_initialized():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    atexit.register(leave)  # the last one registered is called first


def _explain_aborts(meaning: NmtError) -> None:
    """Say in our words what JAX ends the process for.

    Its coordination service knows no exception: when process 0 is not there, or another one
    falls silent, it writes a C++ stack trace and calls abort(). Python's own signal handlers
    would never run then, so that this one is C's.
    """

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def aborting(number: int) -> None:
        time.sleep(ABORT_SECONDS)  # the main thread may be about to say it with more detail
        os.write(2, f"nmt: {meaning}\n".encode())
        os._exit(1)

    global _aborting  # C knows its address alone: it is to stay
    _aborting = aborting
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGABRT, ctypes.cast(aborting, ctypes.c_void_p))


_aborting: Any = None
