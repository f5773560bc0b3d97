"""Where graphs run: execution providers of ONNX Runtime, and threads."""

from dataclasses import dataclass

import onnxruntime

from nmt_cli.errors import NmtError
from nmt_cli.host import cores
from nmt_cli.recipe.architecture import ModelConfig, architecture_of

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
    """How batches share the cores.

    Attributes:
        workers: batches that run at the same time.
        each: threads inside the operators of one batch; AUTOMATIC: see :func:`threads_for`.
    """

    workers: int
    each: int


HOST = Device()
# Threads of a single batch when the user gives no number: depends on the size of the model.
AUTOMATIC = 0
ONE_BATCH = Threads(workers=1, each=AUTOMATIC)
# Bytes of a feed-forward matrix, or of a recurrent cell's, from which two threads compute its
# product faster than one for a single sentence: synchronizing takes longer for smaller ones
# (benchmarks/README.md).
_WORTH_SHARING = 512 * 1024
_WEIGHT_BYTES = {"float32": 4, "float16": 2, "int8": 1}


def find_device(device: str = "cpu", provider: str | None = None) -> Device:
    """The device that the user requested.

    Args:
        device: one of DEVICES; "auto" is CUDA where the installed onnxruntime has it.
        provider: an execution provider by name, with or without "ExecutionProvider";
            overrides ``device``.

    Raises:
        NmtError: the installed onnxruntime does not offer it; names what to install.
    """
    available = onnxruntime.get_available_providers()
    if provider is not None:
        return _named(provider, available)
    if device == "cuda" and CUDA not in available:
        raise NmtError(
            "--device cuda: the installed onnxruntime does not support CUDA",
            "pip uninstall onnxruntime; pip install onnxruntime-gpu (or use --device cpu)",
        )
    if device in ("cuda", "auto") and CUDA in available:
        return Device(CUDA, "cuda")
    return HOST


def _named(provider: str, available: list[str]) -> Device:
    wanted = provider.lower().removesuffix("executionprovider")
    for name in available:
        short = name.lower().removesuffix("executionprovider")
        if short == wanted:
            # Providers other than CUDA exchange host memory, and ONNX Runtime copies it.
            return Device(name, "cuda" if name == CUDA else "cpu")
    offered = ", ".join(each.removesuffix("ExecutionProvider") for each in available)
    raise NmtError(
        f"--provider {provider}: the installed onnxruntime does not offer it",
        f"it offers {offered}; others come with packages such as onnxruntime-gpu, "
        "onnxruntime-openvino, onnxruntime-directml",
    )


def share_threads(total: int | None, workers: int | None, sentences: int) -> Threads:
    """Divide cores among batches.

    One batch a core, each with one thread, is fastest (benchmarks/README.md). A single sentence
    is one batch, whose operators then use the threads.

    Args:
        total: threads in all; None for every core that this process may use.
        workers: batches at a time, if the user fixed it.
        sentences: how many there are to translate, as far as is known.
    """
    if total is None and workers is None and sentences <= 1:
        return ONE_BATCH
    total = total or cores()
    if workers is None:
        workers = 1 if sentences <= 1 else total
    return Threads(workers, max(1, total // workers))


def threads_for(config: ModelConfig, precision: str) -> int:
    """Threads inside the operators of a single batch: every core for a large model, else one."""
    matrix = architecture_of(config).widest_product(config) * _WEIGHT_BYTES[precision]
    return cores() if matrix >= _WORTH_SHARING else 1
