"""A CPU as several devices: TensorFlow trains faster on parts of its cores than on all at once.

Many of its operators run on one core, and those that share all cores wait for the slowest. Devices
with cores of their own work on their shares of a batch side by side, so that none waits within
a step: on two cores 1.25 times the tokens a second in batches of 1,024 tokens, 1.15 times in
batches of 4,096 (benchmarks/README.md says how each was measured).
"""

import keras

from nmt_cli.errors import NmtError
from nmt_cli.host import cores
from nmt_cli.recipe.config import Recipe

# More than two have not been measured, and each holds the weights and the optimizer's state.
MOST = 4
SHARE = 512  # tokens of a batch for each: what a step costs however small it is must not show


def cpu_devices(recipe: Recipe, begun: int = 0) -> int:
    """Make devices of the CPU if that is worth it, and say how many there are; else 1.

    TensorFlow must not have run yet, or the devices that there are remain.

    Args:
        recipe: what to train.
        begun: how many devices the run was begun on, to go on alike; 0: it is a new one.
    """
    if keras.backend.backend() != "tensorflow" or recipe.training.accumulate > 1:
        return 1
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    budget = recipe.training.batch_tokens or MOST * SHARE  # 0: as large as memory holds
    wanted = min(begun or min(MOST, budget // SHARE), cores())
    if wanted < 2:
        return 1
    split_cpu(wanted)
    return min(wanted, len(tf.config.list_logical_devices("CPU")))


def split_cpu(count: int) -> None:
    """Make TensorFlow see several CPUs with as many of this process's cores each.

    Once TensorFlow has run this does nothing, and where it has an accelerator.

    Raises:
        NmtError: there are not as many cores.
    """
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return
    if count > cores():
        raise NmtError(
            f"--devices {count}: this machine has {cores()} core{'s' * (cores() > 1)}, "
            "and no accelerator that TensorFlow can see",
            f"give --devices {cores()} or less",
        )
    try:
        # Operators side by side, one of each device; and the threads that all of these share.
        tf.config.threading.set_inter_op_parallelism_threads(count)
        tf.config.threading.set_intra_op_parallelism_threads(max(1, cores() // count))
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
    except RuntimeError:  # TensorFlow has run
        pass
