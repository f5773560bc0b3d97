"""Where and with which versions a benchmark ran."""

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.host import cores, processor


def machine() -> dict[str, object]:
    """The processor, its cores and load, the system and the date."""
    return {
        "date": datetime.date.today().isoformat(),
        **processor(),
        "cores": cores(),
        "load_average": list(os.getloadavg()),
        "system": platform.platform(),
    }


def resident_mib(process: int | str = "self") -> float:
    """Memory that a process uses now; Linux only."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def versions(*packages: str) -> dict[str, str]:
    """Versions of nmt, Python and these packages."""
    found = {"nmt": __version__, "python": platform.python_version()}
    return found | {each: importlib.metadata.version(each) for each in packages}
