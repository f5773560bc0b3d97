"""Where and with what was measured."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.host import cores

# Instructions that decide how fast matrix products are.
FLAGS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm")
PACKAGES = ("onnxruntime", "ctranslate2", "numpy")


def machine() -> dict[str, object]:
    """Processor, its instructions, cores, and the day."""
    cpu = _cpu_info(Path("/proc/cpuinfo"))
    flags = (cpu.get("flags") or cpu.get("Features") or "").split()
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "instructions": [each for each in FLAGS if each in flags],
        "cores": cores(),
        "load_average": list(os.getloadavg()),
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Of everything that is measured; what is not installed is left out."""
    found = {"nmt": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _cpu_info(path: Path) -> dict[str, str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        first = path.read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
