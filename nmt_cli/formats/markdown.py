"""Markdown: prose is translated; code, addresses, HTML, markup and line structure stay.

The library ``markdown-it-py`` finds paragraphs, headings and table cells. Translations replace
their text in place, and the new document is parsed too: where its structure differs, as when a
line now begins with "1.", the source is kept.

Not translated are front matter, code, HTML blocks, link definitions, titles of links, and links
whose text is the name of their definition (``[text]``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nmt_cli.formats.inline import COMMAND_LINE, inline_finder, parser
from nmt_cli.formats.segments import Finder, Place, Segment, Translate, translate_segments
from nmt_cli.formats.wrap import balanced, breaks_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# After so many repairs of single blocks, the whole document stays as it is.
REPAIRS = 4

_WHITE = " \t\v\f"
_FORCED_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*\\)$")
_COMMAND_LINE = re.compile(rf"{COMMAND_LINE}$|:[ \t]")
# At the end of a cell or heading, these would become part of its markup.
_EATEN = re.compile(r"\\$|(?:^|[ \t])#+$")
# At the beginning of a line, these could begin a block.
_BLOCK_MARK = re.compile(r"[-+*>#=|~<:`\[]|\d+[.)]")


@dataclass(frozen=True)
class _Block:
    """The text of a paragraph, heading or cell: (line, from, to) for each of its lines."""

    places: list[tuple[int, int, int]]
    segment: Segment


def translate_markdown(text: str, name: str, translate: Translate) -> str:
    """Translate the prose of a Markdown document.

    The lines of a paragraph are translated together, and the translation is split into as many.
    No message needs the ``name`` of the file: any text is Markdown.
    """
    markdown = parser()
    split = re.split(r"(\r\n|\r|\n)", text)
    lines, ends = split[::2], [*split[1::2], ""]
    first = _front_matter(lines)
    tokens, references, structure = _parse(markdown, lines, first)
    find = inline_finder(markdown, references)
    blocks = list(_blocks(tokens, lines, first, find))
    results = translate_segments([block.segment for block in blocks], translate)
    changes = {
        at: new
        for at, (block, result) in enumerate(zip(blocks, results, strict=True))
        if result != block.segment.text and (new := _split(block, result)) is not None
    }
    for _ in range(REPAIRS):
        new_lines = _replaced(lines, blocks, changes)
        _, _, now = _parse(markdown, new_lines, first)
        differing = (structure - now) + (now - structure)
        if not differing:
            break
        broken = {line for each in differing if each[0] in _LEAVES for line in each[-1]}
        bad = [at for at in changes if any(place[0] in broken for place in blocks[at].places)]
        for at in bad or list(changes):
            del changes[at]
    else:
        return text
    parts: list[str] = []
    for line, end in zip(new_lines, ends, strict=True):
        if line is None:
            parts[-1] = end  # the line end before a dropped line is dropped with it
        else:
            parts += [line, end]
    return "".join(parts)


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines of front matter (YAML between ---, TOML between +++) there are."""
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(), ())
    return next((at + 2 for at, line in enumerate(lines[1:]) if line.rstrip() in ends), 0)


_LEAVES = {"inline", "fence", "code_block", "html_block", "hr", "heading_open", "tr_open"}


def _parse(
    markdown: "MarkdownIt", lines: Sequence[str | None], first: int
) -> "tuple[list[Token], Mapping[str, Any], Counter[tuple[Any, ...]]]":
    """Tokens, link definitions, and what of them must not change; lines that are None are left out.

    Parsing begins at line ``first``.
    """
    numbers = [at for at in range(first, len(lines)) if lines[at] is not None]
    env: dict[str, Any] = {}
    tokens = markdown.parse("\n".join(lines[at] or "" for at in numbers), env)
    references = env.get("references", {})
    numbers.append(len(lines))
    structure: Counter[tuple[Any, ...]] = Counter(
        (name, each["href"], each["title"]) for name, each in references.items()
    )
    for token in tokens:  # all but their prose; their lines come last
        lines_of = range(numbers[token.map[0]], numbers[token.map[1]]) if token.map else range(0)
        content = _markup(token) if token.type == "inline" else token.content
        structure[token.type, token.level, token.markup, token.info, content, lines_of] += 1
    return tokens, references, structure


def _markup(token: "Token") -> tuple[Any, ...]:
    """The markup of inline text, which may move but must not change."""
    found = []
    for each in token.children or []:
        if each.type not in ("text", "softbreak"):
            content = _markup(each) if each.type == "image" else each.content
            found.append((each.type, each.markup, str(each.attrs), content))
    return tuple(sorted(found))


def _blocks(
    tokens: "Sequence[Token]", lines: Sequence[str], first: int, find: Finder
) -> Iterator[_Block]:
    """Find all blocks with text, in order; token lines count from ``first``."""
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
            yield _Block(places, Segment(_joined(lines, places), find))


def _places(lines: Sequence[str], begin: int, content: str) -> Iterator[tuple[int, int, int]]:
    """Find the lines of a block's content in the lines of the document."""
    for number, (line, part) in enumerate(zip(lines, content.split("\n"), strict=False)):
        core = part.strip(_WHITE)
        start = line.replace("\0", "\ufffd").rfind(core)
        if start < 0 or not core:
            return
        # Spaces or a backslash that force a line break belong to the text.
        forced = number + 1 < len(lines) and _FORCED_BREAK.search(line)
        yield begin + number, start, len(line) if forced else start + len(core)


def _cell(line: str, number: int, content: str) -> Place | None:
    """Find the content of a cell in its row."""
    raw = content.replace("|", "\\|")
    bounds = [0, *(match.end() for match in re.finditer(r"(?<!\\)\|", line)), len(line) + 1]
    leading = not line[: bounds[1] - 1].strip(f"{_WHITE}>")
    at = number + leading
    if not raw or at + 1 >= len(bounds):
        return None
    end = len(line[: bounds[at + 1] - 1].rstrip(_WHITE))
    start = end - len(raw)
    found = start >= bounds[at] and line[start:end].replace("\0", "\ufffd") == raw
    return (start, end) if found else None


def _joined(lines: Sequence[str], places: Sequence[tuple[int, int, int]]) -> str:
    """Join the lines of a block; line breaks that have a meaning stay."""
    rows = [lines[line][start:end] for line, start, end in places]
    text = rows[0]
    for above, row in pairwise(rows):
        meant = (
            _FORCED_BREAK.search(above) or _COMMAND_LINE.match(above) or _COMMAND_LINE.match(row)
        )
        text += ("\n" if meant else " ") + row
    return text


def _split(block: _Block, result: str) -> list[str] | None:
    """Split a translation into at most as many lines as its block; None if that is impossible."""
    source = block.segment.text
    if len(block.places) == 1:
        eaten = _EATEN.search(result) and not _EATEN.search(source)
        return None if eaten or "\n" in result else [result]
    # By paragraph, which is what line breaks with a meaning separate: the lengths of its lines.
    weights: list[list[int]] = [[]]
    at = 0
    for _, start, end in block.places:
        weights[-1].append(end - start)
        at += end - start + 1
        if source[at - 1 : at] == "\n":
            weights.append([])
    paragraphs = result.split("\n")
    if len(paragraphs) != len(weights):
        return None
    breaks = [
        (start, end)
        for start, end in breaks_of(result, block.segment.find(result))
        if not _BLOCK_MARK.match(result, end) and result[start - 1] != "\\"
    ]
    lines = []
    at = 0
    for paragraph, lengths in zip(paragraphs, weights, strict=True):
        stop = at + len(paragraph)
        inner = [(start - at, end - at) for start, end in breaks if at < start and end < stop]
        lines += balanced(paragraph, inner, lengths)
        at = stop + 1
    return lines


def _replaced(
    lines: Sequence[str], blocks: Sequence[_Block], changes: Mapping[int, Sequence[str]]
) -> list[str | None]:
    """Put new lines in the places of blocks; None for lines that are dropped."""
    result: list[str | None] = list(lines)
    for at in sorted(changes, reverse=True):  # from the right, where a line has many cells
        new = changes[at]
        for number, (line, start, end) in enumerate(blocks[at].places):
            old = result[line] or ""
            result[line] = f"{old[:start]}{new[number]}{old[end:]}" if number < len(new) else None
    return result
