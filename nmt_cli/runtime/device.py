"""Where graphs run: execution providers of ONNX Runtime, and threads."""

from typing import NamedTuple

import onnxruntime

from nmt_cli.errors import NmtError
from nmt_cli.host import cores
from nmt_cli.recipe.model import ModelConfig

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
DEVICES = ("auto", "cpu", "cuda")
# Bytes of a feed-forward matrix, or of a recurrent cell's, from which two threads compute its
# product faster than one for a single sentence: synchronizing takes longer for smaller ones
# (benchmarks/README.md).
_WORTH_SHARING = 512 * 1024
_WEIGHT_BYTES = {"float32": 4, "float16": 2, "int8": 1}


class Threads(NamedTuple):
    """How batches share the cores.

    Attributes:
        workers: batches that run at the same time.
        each: threads inside the operators of one batch.
    """

    workers: int
    each: int


def find_provider(device: str = "cpu", provider: str | None = None) -> str:
    """The execution provider that the user requested, as ONNX Runtime names it.

    Args:
        device: one of DEVICES; "auto" is CUDA where the installed onnxruntime has it.
        provider: an execution provider by name, with or without "ExecutionProvider";
            overrides ``device``.

    Raises:
        NmtError: it is unknown, or the installed onnxruntime does not offer it; names what to
            install.
    """
    available = onnxruntime.get_available_providers()
    if provider is not None:
        for name in available:
            if provider.lower() in (name.lower(), name.lower().removesuffix("executionprovider")):
                return name
        offered = ", ".join(each.removesuffix("ExecutionProvider") for each in available)
        raise NmtError(
            f"--provider {provider}: the installed onnxruntime does not offer it",
            f"it offers {offered}; others come with packages such as onnxruntime-gpu, "
            "onnxruntime-openvino, onnxruntime-directml",
        )
    if device not in DEVICES:
        raise NmtError(f"device {device!r} is unknown", f"it is one of {', '.join(DEVICES)}")
    if device == "cuda" and CUDA not in available:
        raise NmtError(
            "--device cuda: the installed onnxruntime does not support CUDA",
            "pip uninstall onnxruntime; pip install onnxruntime-gpu (or use --device cpu)",
        )
    return CUDA if device != "cpu" and CUDA in available else CPU


def share_threads(
    total: int | None, workers: int | None, sentences: int, alone: int = 1
) -> Threads:
    """Divide cores among batches.

    One batch a core, each with one thread, is fastest (benchmarks/README.md). A single sentence
    is one batch, whose operators then use the threads.

    Args:
        total: threads in all; None for every core that this process may use.
        workers: batches at a time, if the user fixed it.
        sentences: how many there are to translate, as far as is known.
        alone: threads of a single sentence if the user gives no number: see :func:`threads_for`.

    Raises:
        NmtError: a number is less than 1.
    """
    if any(each is not None and each < 1 for each in (total, workers)):
        raise NmtError("threads and workers must be at least 1", "omit them to use every core")
    if total is None and workers is None and sentences <= 1:
        return Threads(workers=1, each=alone)
    total = total or cores()
    if workers is None:
        workers = 1 if sentences <= 1 else total
    return Threads(workers, max(1, total // workers))


def threads_for(config: ModelConfig, precision: str) -> int:
    """Threads inside the operators of a single batch: every core for a large model, else one."""
    matrix = config.widest_product() * _WEIGHT_BYTES[precision]
    return cores() if matrix >= _WORTH_SHARING else 1
