"""Pairs of text and its machine translation: for back-translation and for distillation."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import tee
from pathlib import Path

from tqdm import tqdm

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_together
from nmt_cli.search.translator import Translator

# A few characters or words, four times one behind the other: a search that went round in circles.
LOOP = re.compile(r"(.{3,60}?)\1{3}")
UNREADABLE = "\ufffd"  # what bytes that are no UTF-8 decode to


@dataclass
class Synthesis:
    """What became of the lines."""

    read: int = 0
    blank: int = 0
    empty: int = 0
    degenerate: int = 0
    written: int = 0

    def report(self) -> str:
        """One line, for people."""
        return (
            f"{self.written:,} pairs of {self.read:,} lines; left out: {self.blank:,} blank, "
            f"{self.empty:,} with an empty translation, {self.degenerate:,} with a degenerate one"
        )


def synthesize(
    lines: Iterable[str], translator: Translator, originals: Path, translations: Path
) -> Synthesis:
    """Translate lines and write both sides, aligned; memory does not depend on how many.

    Raises:
        NmtError: no line gave a pair, or the files cannot be written; both stay as they were.
    """
    counts = Synthesis()
    with replacing_together((originals, translations)) as (original, translation):
        # The translator reads a window ahead: tee holds no more than that.
        given, asked = tee(_not_blank(lines, counts))
        pairs = zip(given, translator.translate(asked), strict=True)
        for line, found in tqdm(pairs, desc="translating", unit="line", disable=None):
            text = found.text.strip()
            if not text:
                counts.empty += 1
            elif is_degenerate(text, line):
                counts.degenerate += 1
            else:
                original.write(f"{line}\n")
                translation.write(f"{text}\n")
                counts.written += 1
        if not counts.written:
            raise NmtError(f"nothing to write: {counts.report()}", "check the text and the model")
    return counts


def is_degenerate(text: str, line: str) -> bool:
    """Whether a translation goes in circles or is unreadable where its original is not."""
    loops = LOOP.search(text) is not None and LOOP.search(line) is None
    return loops or (UNREADABLE in text and UNREADABLE not in line)


def _not_blank(lines: Iterable[str], counts: Synthesis) -> Iterator[str]:
    for line in lines:
        counts.read += 1
        if line.strip():
            yield line
        else:
            counts.blank += 1
