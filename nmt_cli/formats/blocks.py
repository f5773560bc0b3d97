"""Where the prose of a Markdown document stands, by markdown-it's tokens and their lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from nmt_cli.formats.inline import COMMAND_LINE
from nmt_cli.formats.kept import Finder, Segment

if TYPE_CHECKING:
    from markdown_it.token import Token

_WHITE = " \t\v\f"
_FORCED_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*\\)$")
_COMMAND_LINE = re.compile(rf"{COMMAND_LINE}$|:[ \t]")


@dataclass(frozen=True)
class Block:
    """Text of a paragraph, heading or cell: a place (line, from, to) for each of its lines."""

    places: list[tuple[int, int, int]]
    segment: Segment

    @property
    def lines(self) -> range:
        """Their numbers."""
        return range(self.places[0][0], self.places[-1][0] + 1)


def front_matter(lines: Sequence[str]) -> int:
    """How many lines of front matter (YAML between ---, TOML between +++) there are."""
    mark = lines[0].rstrip()
    if mark in ("---", "+++"):
        for number in range(1, len(lines)):
            if lines[number].rstrip() in (mark, "..." if mark == "---" else mark):
                return number + 1
    return 0


def find_blocks(
    tokens: "Sequence[Token]", lines: Sequence[str], first: int, find: Finder
) -> Iterator[Block]:
    """All blocks with text, in order; ``first`` is the line that the tokens count from."""
    cell = 0
    for before, token in pairwise(tokens):
        if token.type != "inline" or not token.map:
            cell = 0 if token.type == "tr_open" else cell
            continue
        begin, end = token.map[0] + first, token.map[1] + first
        if before.type in ("th_open", "td_open"):
            place = _cell(lines[begin], cell, token.content)
            places = [(begin, *place)] if place else []
            cell += 1
        else:
            places = list(_places(lines[begin:end], begin, token.content))
        if places and len(places) == end - begin:
            yield Block(places, Segment(_text(lines, places), find))


def _places(lines: Sequence[str], begin: int, content: str) -> Iterator[tuple[int, int, int]]:
    """Where in lines of the document those of a block's content stand."""
    for number, (line, part) in enumerate(zip(lines, content.split("\n"), strict=False)):
        core = part.strip(_WHITE)
        start = line.replace("\0", "\ufffd").rfind(core)
        if start < 0 or not core:
            return
        end = start + len(core)
        # Spaces or a backslash that force a line break belong to the text.
        forced = number + 1 < len(lines) and _FORCED_BREAK.search(line)
        yield begin + number, start, len(line) if forced else end


def _cell(line: str, number: int, content: str) -> tuple[int, int] | None:
    """Where in a row the content of a cell stands."""
    raw = content.replace("|", "\\|")
    bounds = [0, *(match.end() for match in re.finditer(r"(?<!\\)\|", line)), len(line) + 1]
    leading = not line[: bounds[1] - 1].strip(f"{_WHITE}>")
    at = number + leading
    if not raw or at + 1 >= len(bounds):
        return None
    start, end = bounds[at], bounds[at + 1] - 1
    piece = line[start:end].replace("\0", "\ufffd").rstrip(_WHITE)
    if not piece.endswith(raw):
        return None
    return start + len(piece) - len(raw), start + len(piece)


def _text(lines: Sequence[str], places: Sequence[tuple[int, int, int]]) -> str:
    """The lines of a block as one, but for line breaks that are meant."""
    rows = [lines[line][start:end] for line, start, end in places]
    text = rows[0]
    for above, row in pairwise(rows):
        meant = (
            _FORCED_BREAK.search(above) or _COMMAND_LINE.match(above) or _COMMAND_LINE.match(row)
        )
        text += ("\n" if meant else " ") + row
    return text
