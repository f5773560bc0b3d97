"""Where and with which versions a benchmark ran."""

import compileall
import datetime
import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import nmt_cli
from nmt_cli.host import cores, processor


def compile_nmt() -> None:
    """Compile nmt, as pip does; otherwise each process might (PYTHONDONTWRITEBYTECODE)."""
    compileall.compile_dir(Path(nmt_cli.__file__).parent, quiet=1)


def machine() -> dict[str, object]:
    """The processor, its cores and load, the system and the date."""
    return {
        "date": datetime.date.today().isoformat(),
        **processor(),
        "cores": cores(),
        "load_average": list(os.getloadavg()),
        "system": platform.platform(),
    }


@dataclass(frozen=True)
class Usage:
    """What a process uses now: memory and its peak, threads, and open descriptors."""

    resident_mib: float
    peak_mib: float
    threads: int
    descriptors: int


def usage(process: int | str = "self") -> Usage:
    """What a process uses now; Linux only.

    Raises:
        OSError, KeyError: the process has ended.
    """
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    fields = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    resident, peak = (int(fields[name][0]) / 1024 for name in ("VmRSS", "VmHWM"))
    descriptors = len(os.listdir(f"/proc/{process}/fd"))
    return Usage(resident, peak, int(fields["Threads"][0]), descriptors)


def versions(*packages: str) -> dict[str, str]:
    """Versions of nmt, Python and these packages."""
    known = {"nmt": nmt_cli.__version__, "python": platform.python_version()}
    return known | {package: importlib.metadata.version(package) for package in packages}
