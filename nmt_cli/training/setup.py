"""Setting up the devices of a training: check the options, connect processes, split the CPU.

TensorFlow trains faster on parts of a CPU's cores than on all of them at once: many operators run
on one core, and those that use all cores wait for the slowest. Devices with cores of their own
work on their shares of a batch in parallel and never wait within a step: on two cores 1.25 times
the tokens a second in batches of 1,024 tokens, 1.15 times in batches of 4,096
(benchmarks/README.md).
"""

from contextlib import suppress
from dataclasses import replace

import keras

from nmt_cli.errors import NmtError
from nmt_cli.host import cores
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.cluster import connect
from nmt_cli.training.devices import Devices, local_devices, on_tensorflow

MOST = 4  # each part holds the weights and the optimizer's state; more are not measured
SHARE = 512  # tokens of a batch for each part: fewer do not pay for the fixed cost of a step


def set_up(devices: Devices, recipe: Recipe, begun: int = 0) -> Devices:
    """Prepare this process for a training, and return the devices with their count.

    TensorFlow and JAX must not have run yet.

    Args:
        devices: what to train on; a count of 0 means 1, or as many parts of a CPU as pay off.
        recipe: what to train.
        begun: number of devices that a resumed run began on, used for a count of 0.

    Raises:
        NmtError: the options contradict each other or the backend; devices are missing; another
            process did not connect in time.
    """
    if not 0 <= devices.process_id < devices.processes:
        raise NmtError(
            f"--process-id {devices.process_id} with {devices.processes} processes",
            f"give each process its own number from 0 to {devices.processes - 1}",
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
            f"training in several processes needs JAX, and the backend is {backend}",
            "set KERAS_BACKEND=jax, and pip install 'nmt_cli[jax]'",
        )
    if not devices.count:
        devices = replace(devices, count=cpu_devices(recipe, begun))
    connect(devices)
    check_present(devices, recipe.training.accumulate)
    return devices


def check_present(devices: Devices, accumulate: int = 1) -> None:
    """Fail if this machine has fewer devices; with TensorFlow, split a CPU into as many."""
    if devices.count == 1:
        return
    if on_tensorflow():
        split_cpu(min(devices.count, cores()))
    names = local_devices()
    kind, found = names[0].partition(":")[0].upper(), len(names)
    if devices.count > found:
        raise NmtError(
            f"--devices {devices.count}: this machine has {found} {kind}{'s' * (found > 1)} that "
            f"{keras.backend.backend()} can see",
            f"give --devices {found} or less",
        )
    if accumulate > 1 and on_tensorflow():
        raise NmtError(
            "training.accumulate does not work with --devices on TensorFlow",
            "raise training.batch_tokens instead, or set KERAS_BACKEND=jax",
        )


def cpu_devices(recipe: Recipe, begun: int = 0) -> int:
    """Split the CPU into several TensorFlow devices if that pays off; return their number.

    A resumed run gets as many as it was ``begun`` on, if there are enough cores.
    """
    if not on_tensorflow() or recipe.training.accumulate > 1:
        return 1
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    budget = recipe.training.batch_tokens or MOST * SHARE  # 0: as large as fits
    wanted = min(begun or min(MOST, budget // SHARE), cores())
    if wanted < 2:
        return 1
    split_cpu(wanted)
    return min(wanted, len(tf.config.list_logical_devices("CPU")))


def split_cpu(count: int) -> None:
    """Make TensorFlow see several CPUs, each with its share of this process's cores.

    Does nothing where TensorFlow has an accelerator or has already run.
    """
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return
    with suppress(RuntimeError):  # TensorFlow has already run
        # Operators of different devices run in parallel, each on its own threads.
        tf.config.threading.set_inter_op_parallelism_threads(count)
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // count))
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
