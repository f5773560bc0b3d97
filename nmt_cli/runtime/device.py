"""Where graphs run: execution providers of ONNX Runtime, and threads."""

from typing import NamedTuple

import onnxruntime

from nmt_cli.errors import OptionError, ResourceError
from nmt_cli.host import cores
from nmt_cli.recipe.model import ModelConfig

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
DEVICES = ("auto", "cpu", "cuda")
# Size in bytes of a feed-forward matrix, or of a recurrent cell's, from which two threads compute
# its product faster than one for a single sentence: synchronizing takes longer for smaller ones
# (benchmarks/README.md).
_MIN_SHARED_BYTES = 512 * 1024
_WEIGHT_BYTES = {"float32": 4, "float16": 2, "int8": 1}


class Threads(NamedTuple):
    """Batches that run at the same time, and threads inside the operators of each."""

    batches: int
    intra_op: int


def find_provider(device: str = "cpu", provider: str | None = None) -> str:
    """Return the execution provider that was requested, as ONNX Runtime names it.

    Args:
        device: one of DEVICES; "auto" is CUDA where the installed onnxruntime has it.
        provider: an execution provider by name, with or without "ExecutionProvider";
            overrides ``device``.
    """
    available = onnxruntime.get_available_providers()
    if provider is not None:
        for name in available:
            if provider.lower() in (name.lower(), name.lower().removesuffix("executionprovider")):
                return name
        offered = ", ".join(name.removesuffix("ExecutionProvider") for name in available)
        raise ResourceError(
            f"`provider={provider}`: the installed onnxruntime does not offer it",
            f"it offers {offered}; others come with packages such as onnxruntime-gpu, "
            "onnxruntime-openvino, onnxruntime-directml",
        )
    if device not in DEVICES:
        raise OptionError(f"`device={device}` is unknown", f"use one of {', '.join(DEVICES)}")
    if device == "cuda" and CUDA not in available:
        raise ResourceError(
            "`device=cuda`: the installed onnxruntime does not support CUDA",
            "pip uninstall onnxruntime; pip install onnxruntime-gpu (or use `device=cpu`)",
        )
    return CUDA if device != "cpu" and CUDA in available else CPU


def share_threads(
    total: int | None, workers: int | None, single: bool, threads_of_single: int = 1
) -> Threads:
    """Divide cores among batches.

    One batch per core, each with one thread, is fastest (benchmarks/README.md). A single sentence
    is one batch, whose operators then use the threads.

    Args:
        total: threads in all; None for every core that this process may use.
        workers: batches at a time, if the user fixed it.
        single: whether there is only one sentence to translate.
        threads_of_single: its threads if the user gives no number; see :func:`threads_for`.
    """
    if any(number is not None and number < 1 for number in (total, workers)):
        raise OptionError(
            "`threads` and `workers` must be at least 1", "omit them to use every core"
        )
    if total is None and workers is None and single:
        return Threads(batches=1, intra_op=threads_of_single)
    total = total or cores()
    if workers is None:
        workers = 1 if single else total
    return Threads(workers, max(1, total // workers))


def threads_for(config: ModelConfig, precision: str) -> int:
    """Return the threads of a single batch: every core for a large model, one for others."""
    matrix = config.widest_product() * _WEIGHT_BYTES[precision]
    return cores() if matrix >= _MIN_SHARED_BYTES else 1
