"""This machine: its cores and memory, and quiet imports of large frameworks."""

import logging
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

# Processor instructions that decide how fast matrix products are.
_INSTRUCTIONS = frozenset(
    ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm")
)
_LIMITS = Path("/sys/fs/cgroup")
# Settings in glibc's malloc.h, and bytes: blocks of memory up to the second number are reused.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_FREE, _REUSED = 128 << 20, 32 << 20


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def without_warnings(*packages: str) -> Iterator[None]:
    """Log only the errors of packages; by default of those that warn about bundles and lines."""
    names = packages or ("runtime", "search")
    loggers = [logging.getLogger(f"{__package__}.{name}") for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def processor() -> dict[str, object]:
    """Return the processor's name ("cpu") and its "instructions" that matter for speed."""
    import platform  # not at the start of every command

    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:  # not on Linux
        text = ""
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    name = fields.get("model name") or platform.processor() or platform.machine()
    return {"cpu": name, "instructions": [flag for flag in flags if flag in _INSTRUCTIONS]}


def peak_memory() -> int:
    """Return the largest number of bytes that this process has used so far."""
    # Not ru_maxrss on Linux: a process inherits it from its parent.
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def free_memory() -> int | None:
    """Return the bytes that a new process may use, by the system's estimate and limits.

    None outside Linux.
    """
    try:
        fields = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        free = next(1024 * int(words[1]) for words in fields if words[0] == "MemAvailable:")
    except (OSError, StopIteration):
        return None
    try:
        limit = int((_LIMITS / "memory.max").read_text())
        return min(free, limit - int((_LIMITS / "memory.current").read_text()))
    except (OSError, ValueError):  # no such limit, or "max"
        return free


def reuse_memory() -> None:
    """Let this process keep memory that is free for what it needs next, if it uses glibc.

    The system provides new memory page by page, which took a twentieth of the time of translating.
    """
    import ctypes  # not at the start of every command

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
        mallopt(_M_MMAP_THRESHOLD, _REUSED)


def import_keras(backend: str = "") -> None:
    """Import Keras and a backend with the process's stderr redirected.

    Without a backend, KERAS_BACKEND decides; then TensorFlow, or JAX where that is missing.

    While it loads, TensorFlow writes about logging, CUDA stubs and oneDNN straight to file
    descriptor 2, before any of its own settings can stop it.
    """
    backend = backend or os.environ.get("KERAS_BACKEND", "")
    backend = backend or ("tensorflow" if find_spec("tensorflow") else "jax")
    with without_stderr(), variable("KERAS_BACKEND", backend, override=True):
        # Only to draw galleries and to convert functions of JAX; they take a quarter of the time.
        hidden = {"matplotlib", "jax"} - {backend} - sys.modules.keys()
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
        try:
            # Keras would write keras.json at home, and settings there change what is trained.
            with variable("KERAS_HOME", os.devnull):
                import_module("keras")
                # With JAX, too, Keras loads TensorFlow if it is there, at the first random seed.
                if find_spec("tensorflow"):
                    import_module("tensorflow")
        finally:
            for package in hidden:
                del sys.modules[package]


@contextmanager
def without_stderr() -> Iterator[None]:
    """Redirect the process's stderr, which C++ libraries write to, to /dev/null."""
    sys.stderr.flush()
    saved = os.dup(2)
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def import_matplotlib() -> None:
    """Import matplotlib with a temporary folder for its font list.

    A user who sets MPLCONFIGDIR keeps the list there.
    """
    from tempfile import TemporaryDirectory  # not at the start of every command

    with TemporaryDirectory(prefix="nmt-") as folder, variable("MPLCONFIGDIR", folder):
        import_module("matplotlib.figure")


@contextmanager
def variable(name: str, value: str, *, override: bool = False) -> Iterator[None]:
    """Set an environment variable until the block ends, if it is not set or to be overridden."""
    before = os.environ.get(name)
    os.environ[name] = value if override or not before else before
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
