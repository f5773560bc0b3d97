"""Where graphs run: execution providers of ONNX Runtime, and threads."""

from dataclasses import dataclass

import onnxruntime

from nmt_cli.errors import NmtError
from nmt_cli.host import cores
from nmt_cli.recipe.config import ModelConfig

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """An execution provider and the memory in which it keeps tensors.

    Attributes:
        provider: ONNX Runtime's name of it.
        memory: its device type in ONNX Runtime, "cpu" for host memory.
    """

    provider: str = CPU
    memory: str = "cpu"

    @property
    def providers(self) -> list[str]:
        """It, and the CPU for operators that it lacks."""
        return [self.provider] if self.provider == CPU else [self.provider, CPU]


@dataclass(frozen=True)
class Threads:
    """How cores are shared out.

    Attributes:
        workers: batches that run side by side.
        each: threads inside the operators of one batch; AUTOMATIC: see :func:`threads_for`.
    """

    workers: int
    each: int


HOST = Device()
# Threads of a lone batch, where nobody says how many: what the model is worth.
AUTOMATIC = 0
ONE_BATCH = Threads(workers=1, each=AUTOMATIC)
# Bytes of a feed-forward matrix, or of a recurrent cell's, from which on two threads are through
# with its product, for one sentence, sooner than one: below, meeting each other costs more
# (benchmarks/README.md).
_WORTH_SHARING = 512 * 1024
_WEIGHT_BYTES = {"float32": 4, "float16": 2, "int8": 1}


def find_device(device: str = "cpu", provider: str | None = None) -> Device:
    """Resolve what the user asked for.

    Args:
        device: one of DEVICES; "auto" is CUDA where the installed onnxruntime has it.
        provider: an execution provider by name, with or without its ending; goes before
            ``device``.

    Raises:
        NmtError: the installed onnxruntime does not offer it; names what to install.
    """
    available = onnxruntime.get_available_providers()
    if provider is not None:
        return _named(provider, available)
    if device == "cuda" and CUDA not in available:
        raise NmtError(
            "CUDA was asked for, and the installed onnxruntime has none",
            "pip uninstall onnxruntime; pip install onnxruntime-gpu (or take --device cpu)",
        )
    if device in ("cuda", "auto") and CUDA in available:
        return Device(CUDA, "cuda")
    return HOST


def _named(provider: str, available: list[str]) -> Device:
    wanted = provider.lower().removesuffix("executionprovider")
    for name in available:
        short = name.lower().removesuffix("executionprovider")
        if short == wanted:
            # Others than CUDA take and give host memory; ONNX Runtime copies as they need.
            return Device(name, "cuda" if name == CUDA else "cpu")
    offered = ", ".join(each.removesuffix("ExecutionProvider") for each in available)
    raise NmtError(
        f"--provider {provider}: the installed onnxruntime does not offer it",
        f"it offers {offered}; others come with packages such as onnxruntime-gpu, "
        "onnxruntime-openvino, onnxruntime-directml",
    )


def share_threads(total: int | None, workers: int | None, sentences: int) -> Threads:
    """Share cores among batches.

    One batch a core, each with one thread, is fastest (benchmarks/README.md), but a lone
    sentence is one batch: threads then work inside its operators, as many as the user says or
    as the model is worth.

    Args:
        total: threads in all; every core that this process may use if None.
        workers: batches side by side, if the user fixed it.
        sentences: how many there are to translate, as far as is known.
    """
    if total is None and workers is None and sentences <= 1:
        return ONE_BATCH
    total = total or cores()
    if workers is None:
        workers = 1 if sentences <= 1 else total
    return Threads(workers, max(1, total // workers))


def threads_for(shape: ModelConfig, precision: str) -> int:
    """Threads inside the operators of a lone batch: every core for a large model, one else."""
    inner = 4 * shape.d_model if shape.architecture == "rnn" else shape.feed_forward
    matrix = shape.d_model * inner * _WEIGHT_BYTES[precision]
    return cores() if matrix >= _WORTH_SHARING else 1
