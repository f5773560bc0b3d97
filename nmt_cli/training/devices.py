"""Training devices, of one process or several, and the batches that they share.

Every device holds the whole model and takes its share of each batch's rows. The batch's weights
make the loss a sum over all rows, so the gradients of the shares add up to the gradient of the
batch, and batch positions and checkpoints do not depend on the devices. (Keras uses a loss with the
reduction "sum" unchanged; it would divide a mean by the number of devices.)

TensorFlow mirrors the model over the devices of one machine. JAX also spans processes and hosts
(nmt_cli.training.distributed).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.batches import Batch, Position
from nmt_cli.errors import RecipeError, ResourceError
from nmt_cli.host import cores
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.tokenizer import PAD_ID


@dataclass(frozen=True)
class Devices:
    """The devices of a training.

    Attributes:
        count: devices of this process; 0: let :func:`nmt_cli.training.distributed.set_up` choose.
        coordinator: HOST:PORT where process 0 listens; empty for a single process.
        process_id: number of this process, from 0. Only process 0 writes and validates.
    """

    count: int = 1
    coordinator: str = ""
    processes: int = 1
    process_id: int = 0

    @property
    def is_main(self) -> bool:
        """Whether this is process 0."""
        return self.process_id == 0

    @property
    def total(self) -> int:
        """Devices of all processes."""
        return self.count * self.processes

    def share(self, rows: NDArray[Any], group: int) -> NDArray[Any]:
        """Return this process's rows of a batch; every device gets the same number.
        ``group`` rows stay together. Rows of zeros (PAD, or no weight) are added if needed."""
        padding = -len(rows) % (self.total * group)
        if padding:
            rows = np.pad(rows, ((0, padding), (0, 0)))
        size = len(rows) // self.processes
        return rows[self.process_id * size : (self.process_id + 1) * size]


ONE_DEVICE = Devices()
MAX_PARTS = 4  # each part holds the weights and the optimizer's state; more are not measured
PREFETCH = 4  # batches made ahead of the step that uses them
PART_TOKENS = 512  # tokens of a batch for each part: fewer do not pay for the fixed cost of a step


def strategy_scope(devices: Devices) -> AbstractContextManager[Any]:
    """Return the scope in which to build model, optimizer and metrics, a copy for each device."""
    if devices.total == 1:
        return nullcontext()
    if on_tensorflow():
        import tensorflow as tf

        names = local_devices()[: devices.count]
        # NCCL, which adds gradients up by default, needs GPUs.
        ops = None if names[0].startswith("GPU") else tf.distribute.ReductionToOneDevice()
        return tf.distribute.MirroredStrategy(names, cross_device_ops=ops).scope()
    import jax

    # The first devices of each process, in the order of the shares.
    chosen = [
        f"{device.platform}:{device.id}"
        for process in range(devices.processes)
        for device in jax.local_devices(process_index=process)[: devices.count]
    ]
    mesh = keras.distribution.DeviceMesh((len(chosen),), ("batch",), chosen)
    return keras.distribution.DataParallel(device_mesh=mesh, auto_shard_dataset=False).scope()


@contextmanager
def local_scope(devices: Devices) -> Iterator[None]:
    """Build or run a model in this process only, within :func:`strategy_scope`."""
    if devices.total == 1 or on_tensorflow():
        yield
        return
    outer = keras.distribution.distribution()
    keras.distribution.set_distribution(None)
    try:
        yield
    finally:
        keras.distribution.set_distribution(outer)


def separate_seeds(devices: Devices, model: keras.Model) -> None:
    """Give each device its own random numbers, after the seeds were set or loaded.

    MirroredStrategy gives all devices the same seeds, so dropout would hit the same cells in each
    share. JAX draws the numbers of the whole batch.
    """
    if devices.total == 1 or not on_tensorflow():
        return
    for variable in model.variables:
        if "seed_generator" in variable.path:  # (seed, numbers drawn)
            for number, copy in enumerate(variable.value.values):
                copy.assign_add(np.array([number, 0], copy.dtype.as_numpy_dtype))


def on_tensorflow() -> bool:
    """Whether TensorFlow is the Keras backend."""
    return keras.backend.backend() == "tensorflow"


def local_devices() -> list[str]:
    """Return the Keras names of this process's accelerators, or of its CPUs if there are none."""
    if on_tensorflow():
        import tensorflow as tf

        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return [device.name.removeprefix("/device:") for device in devices]
    import jax

    return [f"{device.platform}:{device.id}" for device in jax.local_devices()]


def check_present(devices: Devices, accumulate: int = 1) -> None:
    """Check that this machine has the devices; TensorFlow splits a CPU into as many."""
    if devices.count == 1:
        return
    if on_tensorflow():
        split_cpu(min(devices.count, cores()))
    names = local_devices()
    device, present = names[0].partition(":")[0].upper(), len(names)
    if devices.count > present:
        seen = f"{present} {device}{'s' * (present > 1)} that {keras.backend.backend()} can see"
        reason = f"`devices={devices.count}`: this machine has {seen}"
        raise ResourceError(reason, f"give `devices={present}` or less")
    if accumulate > 1 and on_tensorflow():
        reason = "training.accumulate does not work with `devices` on TensorFlow"
        raise RecipeError(reason, "raise training.batch_tokens instead, or set KERAS_BACKEND=jax")


def cpu_devices(recipe: Recipe, begun: int = 0) -> int:
    """Split the CPU into several TensorFlow devices if that pays off; return their number.

    TensorFlow trains faster on parts of a CPU's cores than on all of them at once: many operators
    run on one core, and those that use all cores wait for the slowest (benchmarks/README.md). A
    resumed run gets the number that it was ``begun`` on, if there are enough cores.
    """
    if not on_tensorflow() or recipe.training.accumulate > 1:
        return 1
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):  # to list logical devices would take its memory
        return 1
    budget = recipe.training.batch_tokens or MAX_PARTS * PART_TOKENS  # 0: as large as fits
    parts = min(begun or min(MAX_PARTS, budget // PART_TOKENS), cores())
    if parts < 2:
        return 1
    split_cpu(parts)
    return min(parts, len(tf.config.list_logical_devices("CPU")))


def split_cpu(count: int) -> None:
    """Make TensorFlow see several CPUs, each with its share of this process's cores.
    Does nothing if TensorFlow has an accelerator or has already run."""
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return
    with suppress(RuntimeError):  # TensorFlow has already run
        # Operators of different devices run in parallel, each on its own threads.
        tf.config.threading.set_inter_op_parallelism_threads(count)
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // count))
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)


@dataclass(frozen=True)
class BatchRecord:
    """A batch that fit has received: its position and the next one, its real target tokens, and the
    seconds that it took to make."""

    position: Position
    next: Position
    tokens: int
    seconds: float


class BatchFeed:
    """Batches in the form that fit expects, and ``records`` of those that it has not finished.

    ``batches`` starts an iterator of (position, batch, next position): under a strategy, Keras
    reads the first batch and then starts again. ``group`` rows of a batch stay together.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[tuple[Position, Batch, Position]]],
        devices: Devices = ONE_DEVICE,
        group: int = 1,
    ) -> None:
        self._batches = batches
        self._devices, self._group = devices, group
        self.records: deque[BatchRecord] = deque()

    def arrays(self) -> Iterator[tuple[tuple[Any, Any], Any, Any]]:
        """Yield (source, target_in), target_out and weights of each batch.
        The weights, float32 [rows, width], are 1 / (real target tokens), and 0 at padding."""
        # An earlier iterator may still be making batches ahead, in its own thread.
        self.records = records = deque[BatchRecord]()
        began = time.perf_counter()
        for position, batch, following in self._batches():
            weights = (batch.target_out != PAD_ID).astype(np.float32)
            tokens = int(np.count_nonzero(weights))
            weights /= max(tokens, 1)
            seconds = time.perf_counter() - began
            records.append(BatchRecord(position, following, tokens, seconds))
            source, target_in, target_out, weights = (
                self._devices.share(array, self._group) for array in (*batch, weights)
            )
            yield (source, target_in), target_out, weights
            began = time.perf_counter()

    def dataset(self) -> Any:
        """Return the input of fit and evaluate; on TensorFlow, one trace serves all shapes."""
        if not on_tensorflow():
            return self.arrays()
        import tensorflow as tf

        ids, weights = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None])
        signature = ((ids, ids), ids, weights)
        dataset = tf.data.Dataset.from_generator(self.arrays, output_signature=signature)
        return dataset.prefetch(PREFETCH)
