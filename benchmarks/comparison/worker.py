"""The process of one side: reads a job, then measures one cell per line (see process.py)."""

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from comparison.answers import write_answers
from comparison.ceiling import PRODUCT, Product
from comparison.plan import OURS, THEIRS
from comparison.sides import Job, Ours, Side, Theirs
from machine import usage

from nmt_cli.host import peak_memory

MEBIBYTE = 2**20

SIDES: dict[str, Callable[[Job], Side]] = {OURS: Ours, THEIRS: Theirs, PRODUCT: Product}


def main() -> None:
    """Answer until standard input ends."""
    write_answers(_answers())


def _answers() -> Iterator[dict[str, Any]]:
    job = Job(**json.loads(sys.stdin.readline()))
    # Importing a library is not part of the load time.
    importlib.import_module("ctranslate2" if job.side == THEIRS else "nmt_cli.runtime.load")
    began = time.perf_counter()
    side = SIDES[job.side](job)
    took = time.perf_counter() - began
    yield {"load_seconds": took, "memory": usage().resident_mib}
    for line in sys.stdin:
        seconds, translations = side.run(**json.loads(line))
        yield {"seconds": seconds, "translations": translations, "peak": peak_memory() / MEBIBYTE}
