"""What a training runs on: one device, several of this machine, or several processes.

Every device has the whole model and takes its share of each batch's rows. A batch is the same
however many share it: its weights (nmt_cli.training.feed) make the loss a sum over all rows, so
that the sum of the shares' gradients is the gradient of the batch, and neither positions nor
checkpoints know of devices. (Keras takes a loss with the reduction "sum" as it is; means it
would divide by the number of devices.) TensorFlow mirrors the model over the devices of one
machine; JAX spreads over processes and hosts as well, which nmt_cli.training.cluster holds
together.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.training.cores import split_cpu


@dataclass(frozen=True)
class Devices:
    """What to train on.

    Attributes:
        count: devices of this process.
        coordinator: HOST:PORT where process 0 listens; empty for one process alone.
        processes: in all.
        process_id: of this one, from 0. Process 0 alone writes and validates.
    """

    count: int = 1
    coordinator: str = ""
    processes: int = 1
    process_id: int = 0

    @property
    def leads(self) -> bool:
        """Whether this is process 0."""
        return self.process_id == 0

    @property
    def total(self) -> int:
        """Devices of all processes."""
        return self.count * self.processes

    def share(self, rows: NDArray[Any], group: int) -> NDArray[Any]:
        """This process's rows of a batch, of which each device gets as many.

        Args:
            rows: of the whole batch. Zeros are put behind them (PAD, or no weight) where the
                devices do not divide it.
            group: rows that stay together, 2 for R-Drop.
        """
        lacking = -len(rows) % (self.total * group)
        if lacking:
            rows = np.pad(rows, ((0, lacking), (0, 0)))
        size = len(rows) // self.processes
        return rows[self.process_id * size : (self.process_id + 1) * size]


ALONE = Devices()


def check_options(devices: Devices) -> None:
    """Fail if the options contradict each other or the backend.

    Raises:
        NmtError: no such process, no HOST:PORT, or another backend than JAX.
    """
    if not 0 <= devices.process_id < devices.processes:
        raise NmtError(
            f"--process-id {devices.process_id}: of {devices.processes} processes",
            f"give each another one from 0 to {devices.processes - 1}",
        )
    host, _, port = devices.coordinator.rpartition(":")
    if devices.coordinator and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise NmtError(
            f"--coordinator {devices.coordinator}: not of the form HOST:PORT",
            "e.g. --coordinator 10.0.0.1:7733, an address of process 0 and a free port there",
        )
    backend = keras.backend.backend()
    if devices.coordinator and backend != "jax":
        raise NmtError(
            f"several processes train with JAX alone, and the backend is {backend}",
            "set KERAS_BACKEND=jax, and pip install 'nmt_cli[jax]'",
        )
    if devices.count > 1 and backend not in ("tensorflow", "jax"):
        raise NmtError(
            f"--devices {devices.count}: not with the {backend} backend",
            "set KERAS_BACKEND=tensorflow or KERAS_BACKEND=jax",
        )


def check_present(devices: Devices, accumulate: int = 1) -> None:
    """Fail if this machine has fewer devices than asked for.

    With TensorFlow a CPU is split into as many, each with cores of its own.

    Args:
        devices: what is asked for; if several processes, they are connected.
        accumulate: batches a step.

    Raises:
        NmtError: it has; or TensorFlow is to accumulate gradients on several devices.
    """
    if devices.count == 1:
        return
    if _on_tensorflow():
        split_cpu(devices.count)
    names = _local_names()
    kind, found = names[0].partition(":")[0].upper(), len(names)
    if devices.count > found:
        raise NmtError(
            f"--devices {devices.count}: this machine has {found} {kind}{'s' * (found > 1)} that "
            f"{keras.backend.backend()} can see",
            "one CPU device uses all cores" if kind == "CPU" else f"give --devices {found} or less",
        )
    if accumulate > 1 and _on_tensorflow():
        raise NmtError(
            "training.accumulate and --devices do not go together with TensorFlow",
            "raise training.batch_tokens instead, or set KERAS_BACKEND=jax",
        )


@contextmanager
def building(devices: Devices) -> Iterator[None]:
    """Where the model, its optimizer and its metrics are made: every device gets a copy."""
    if devices.total == 1:
        yield
    elif _on_tensorflow():
        import tensorflow as tf

        names = _local_names()[: devices.count]
        # On CPUs NCCL is not there to add gradients up.
        ops = None if names[0].startswith("GPU") else tf.distribute.ReductionToOneDevice()
        with tf.distribute.MirroredStrategy(names, cross_device_ops=ops).scope():
            yield
    else:
        with _distribution(devices).scope():
            yield


@contextmanager
def fitting(devices: Devices) -> Iterator[None]:
    """Around fit. TensorFlow's models know their strategy, JAX's are to be told each time."""
    with nullcontext() if _on_tensorflow() else building(devices):
        yield


@contextmanager
def apart(devices: Devices) -> Iterator[None]:
    """Within :func:`fitting`, where a model of this process alone is made or run."""
    if devices.total == 1 or _on_tensorflow():
        yield
        return
    outer = keras.distribution.distribution()
    keras.distribution.set_distribution(None)
    try:
        yield
    finally:
        keras.distribution.set_distribution(outer)


def part_seeds(devices: Devices, model: keras.Model) -> None:
    """Let each device draw random numbers of its own, after any of the seeds was set.

    MirroredStrategy gives all the same seeds, and so dropout would leave the same cells out of
    each share. JAX draws the numbers of the whole batch.
    """
    if devices.total == 1 or not _on_tensorflow():
        return
    for variable in model.variables:
        if "seed_generator" in variable.path:  # (seed, numbers drawn)
            for number, copy in enumerate(variable.value.values):
                copy.assign_add(np.array([number, 0], copy.dtype.as_numpy_dtype))


def _on_tensorflow() -> bool:
    return keras.backend.backend() == "tensorflow"


def _local_names() -> list[str]:
    """This process's accelerators, or else its CPUs, by Keras' names for them."""
    if _on_tensorflow():
        import tensorflow as tf

        found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return [each.name.removeprefix("/device:") for each in found]
    import jax

    return [f"{each.platform}:{each.id}" for each in jax.local_devices()]


def _distribution(devices: Devices) -> Any:
    """JAX's: the first devices of each process, in the order of the processes' shares."""
    import jax

    chosen = [
        f"{each.platform}:{each.id}"
        for process in range(devices.processes)
        for each in jax.local_devices(process_index=process)[: devices.count]
    ]
    mesh = keras.distribution.DeviceMesh((len(chosen),), ("batch",), chosen)
    return keras.distribution.DataParallel(device_mesh=mesh, auto_shard_dataset=False)
