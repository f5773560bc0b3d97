"""No pattern takes more than linear time, whatever the text."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from re import _parser as parser  # type: ignore[attr-defined]  # it has no public name
from typing import Any

import pytest

# Characters. Linear patterns take ten times as long for the last as for the one before, quadratic
# ones a hundred times; cubic ones would not end.
SIZES, MAX_SECONDS, MAX_GROWTH, MIN_SECONDS = (200, 3_000, 30_000), 3.0, 30, 0.1
# Its pattern of code is only tried on texts of at most the first size.
SHORT = "nmt_cli.formats.values"
# What matches classes of characters.
USUAL = "a7 é.-\n\t\0"


# Prints module, pattern and flags of each pattern that is compiled when the package is imported.
COLLECT = """
import importlib, json, pkgutil, re, sys
compile, found = re.compile, []

def record(pattern, flags=0):
    compiled = compile(pattern, flags)
    module = sys._getframe(1).f_globals["__name__"]
    if module.startswith("nmt_cli") and isinstance(compiled.pattern, str):
        found.append((module, compiled.pattern, compiled.flags))
    return compiled

re.compile = record
import nmt_cli
for info in pkgutil.walk_packages(nmt_cli.__path__, "nmt_cli."):
    if not info.name.endswith("__main__"):
        importlib.import_module(info.name)
from nmt_cli.formats.messages import placeholders_finder
placeholders_finder(printf=True, qt=True)
print(json.dumps(found))
"""


def patterns() -> list[tuple[str, re.Pattern[str]]]:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, timeout=120, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return [(module, re.compile(pattern, flags)) for module, pattern, flags in found]


def runs(tree: Any) -> set[str]:
    """Return the literal characters of a parsed pattern, and what each of its groups matches."""
    found = set[str]()
    for operator, value in tree:
        match str(operator):
            case "LITERAL":
                found.add(chr(value))
            case "IN":
                found |= {chr(item) for kind, item in value if str(kind) == "LITERAL"}
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                found |= {*runs(value[2]), example(value[2])}
            case "SUBPATTERN":
                found |= {*runs(value[3]), example(value[3])}
            case "BRANCH":
                found |= set[str]().union(*map(runs, value[1]), map(example, value[1]))
            case "ASSERT" | "ASSERT_NOT":
                found |= runs(value[1])
    return found


def example(tree: Any) -> str:
    """Return a text that resembles what a parsed pattern matches."""
    text = ""
    for operator, value in tree:
        match str(operator):
            case "LITERAL":
                text += chr(value)
            case "IN":
                text += next((chr(item) for kind, item in value if str(kind) == "LITERAL"), "a")
            case "ANY" | "NOT_LITERAL":
                text += "a"
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += example(value[2]) * max(1, value[0])
            case "SUBPATTERN":
                text += example(value[3])
            case "BRANCH":
                text += example(value[1][0])
    return text


def slow_runs(module: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the runs on which a pattern is slow."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    for run in {*USUAL, *runs(tree)} - {""}:
        before = 0.0
        for size in SIZES[:1] if module == SHORT else SIZES:
            texts = run * (size // len(run)), example(tree) + run * (size // len(run)) + "\0"
            seconds = taken(pattern, texts)
            if size == SIZES[-1] and seconds > max(MIN_SECONDS, MAX_GROWTH * before):
                # Other processes may have slowed it down.
                seconds = min(seconds, taken(pattern, texts))
                if seconds > MAX_GROWTH * before:
                    yield run
            if seconds > MAX_SECONDS:
                yield run
                break
            before = seconds


def taken(pattern: re.Pattern[str], texts: Iterable[str]) -> float:
    """Return the seconds of this process that a search of texts takes."""
    began = time.process_time()
    for text in texts:
        for _ in pattern.finditer(text):
            pass
    return time.process_time() - began


@pytest.mark.slow
def test_patterns_take_linear_time() -> None:
    found = [
        (name, pattern.pattern, list(slow_runs(name, pattern))) for name, pattern in patterns()
    ]
    assert len(found) > 100
    assert [one for one in found if one[2]] == []
