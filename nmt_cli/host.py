"""Cores and memory of this machine."""

import os
import resource
import sys
from pathlib import Path

# Processor instructions that decide how fast matrix products are.
_INSTRUCTIONS = frozenset(
    ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm")
)
_LIMITS = Path("/sys/fs/cgroup")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> dict[str, object]:
    """The processor's name ("cpu") and those of its "instructions" that matter for speed."""
    import platform  # not at the start of every command

    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:  # not on Linux
        text = ""
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    name = fields.get("model name") or platform.processor() or platform.machine()
    return {"cpu": name, "instructions": [each for each in flags if each in _INSTRUCTIONS]}


def peak_memory() -> int:
    """Largest number of bytes that this process has used so far."""
    # Not ru_maxrss on Linux: a process inherits it from its parent.
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def free_memory() -> int | None:
    """Bytes that a new process may use, by the system's estimate and limits; None outside Linux."""
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
