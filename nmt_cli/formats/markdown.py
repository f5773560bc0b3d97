"""Markdown: prose is translated; code, addresses, HTML, marks and the structure of lines stay.

The library ``markdown-it-py`` finds paragraphs, headings and table cells; their translations
are put in where they stood, so that with a translation that changes nothing the document is
the same, byte for byte. Then the new document is parsed too: where its structure is not that
of the old one, as when a line now begins with "1.", the source stays.

Left alone are front matter, code, HTML blocks, link definitions, titles of links, and links
whose text is the name of their definition (``[text]``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nmt_cli.formats.blocks import Block, find_blocks, front_matter
from nmt_cli.formats.inline import inline_finder, parser
from nmt_cli.formats.kept import Translate, translate_segments
from nmt_cli.formats.wrap import balanced, breaks_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# After how many repairs of single blocks all of a document is left as it is.
REPAIRS = 4

# At the end of a cell or heading, these would be taken for part of its marks.
_EATEN = re.compile(r"\\$|(?:^|[ \t])#+$")
# At the beginning of a line, these could be a mark of a block.
_BLOCK_MARK = re.compile(r"[-+*>#=|~<:`\[]|\d+[.)]")


@dataclass(frozen=True)
class _Parsed:
    """A document's tokens, and where its link definitions lead."""

    tokens: "list[Token]"
    references: Mapping[str, Any]


def translate_markdown(text: str, name: str, translate: Translate) -> str:
    """Translate the prose of a Markdown document.

    The lines of a paragraph are translated together and parted again into as many.

    Args:
        text: of the file.
        name: of the file; any text is Markdown, so that no message needs it.
        translate: translations of texts, in order.
    """
    markdown = parser()
    split = re.split(r"(\r\n|\r|\n)", text)
    lines, ends = split[::2], [*split[1::2], ""]
    first = front_matter(lines)
    parsed = _parse(markdown, lines[first:])
    find = inline_finder(markdown, parsed.references)
    blocks = list(find_blocks(parsed.tokens, lines, first, find))
    results = translate_segments([block.segment for block in blocks], translate)
    changes = {
        at: new
        for at, (block, result) in enumerate(zip(blocks, results, strict=True))
        if result != block.segment.text and (new := _parted(block, result)) is not None
    }
    for _ in range(REPAIRS):
        new_lines = _replaced(lines, blocks, changes)
        numbers = [at for at in range(first, len(lines)) if new_lines[at] is not None]
        new_parsed = _parse(markdown, [new_lines[at] or "" for at in numbers])
        old_numbers = range(first, len(lines) + 1)
        broken = _differences(parsed, old_numbers, new_parsed, [*numbers, len(lines)])
        if broken is None:
            break
        bad = [at for at in changes if not broken.isdisjoint(blocks[at].lines)]
        for at in bad or list(changes):
            del changes[at]
    else:
        new_lines = list(lines)
    parts: list[str] = []
    for line, end in zip(new_lines, ends, strict=True):
        if line is None:
            parts[-1] = end  # a line that is dropped goes with the line end before it
        else:
            parts += [line, end]
    return "".join(parts)


def _parse(markdown: "MarkdownIt", lines: Sequence[str]) -> _Parsed:
    env: dict[str, Any] = {}
    tokens = markdown.parse("\n".join(lines), env)
    return _Parsed(tokens, env.get("references", {}))


def _parted(block: Block, result: str) -> list[str] | None:
    """A translation as lines for a block's places, no more than these; None if it has none."""
    if len(block.places) == 1:
        eaten = _EATEN.search(result) and not _EATEN.search(block.segment.text)
        return None if eaten or "\n" in result else [result]
    lengths = _lengths(block)
    paragraphs = result.split("\n")
    if len(paragraphs) != len(lengths):
        return None
    breaks = [
        (start, end)
        for start, end in breaks_of(result, block.segment.find(result))
        if not _BLOCK_MARK.match(result, end) and result[start - 1] != "\\"
    ]
    lines = []
    at = 0
    for paragraph, weights in zip(paragraphs, lengths, strict=True):
        inner = [
            (start - at, end - at)
            for start, end in breaks
            if at < start and end < at + len(paragraph)
        ]
        lines += balanced(paragraph, inner, weights)
        at += len(paragraph) + 1
    return lines


def _lengths(block: Block) -> list[list[int]]:
    """Lengths of a block's lines, by paragraph: what stands between line breaks that are meant."""
    lengths: list[list[int]] = [[]]
    text = block.segment.text
    at = 0
    for _, start, end in block.places:
        at += end - start
        lengths[-1].append(end - start)
        if text[at : at + 1] == "\n":
            lengths.append([])
        at += 1
    return lengths


def _replaced(
    lines: Sequence[str], blocks: Sequence[Block], changes: Mapping[int, Sequence[str]]
) -> list[str | None]:
    """The document with other lines in the places of blocks; None for lines that are dropped."""
    result: list[str | None] = list(lines)
    for at in sorted(changes, reverse=True):  # from the right, where a line has many cells
        new = changes[at]
        for number, (line, start, end) in enumerate(blocks[at].places):
            old = result[line] or ""
            result[line] = f"{old[:start]}{new[number]}{old[end:]}" if number < len(new) else None
    return result


def _differences(
    old: _Parsed, old_numbers: Sequence[int], new: _Parsed, new_numbers: Sequence[int]
) -> set[int] | None:
    """Lines at which two documents differ in structure; None if they do not.

    The numbers are what lines are to be called, so that those of both can be compared.
    """
    was = Counter(_shape(token, old_numbers) for token in old.tokens)
    now = Counter(_shape(token, new_numbers) for token in new.tokens)
    if was == now and _targets(old) == _targets(new):
        return None
    return {
        line
        for shape in (was - now) + (now - was)
        if shape[0] in _LEAVES
        for line in range(*shape[-1])
    }


_LEAVES = {"inline", "fence", "code_block", "html_block", "hr", "heading_open", "tr_open"}


def _shape(token: "Token", numbers: Sequence[int]) -> tuple[Any, ...]:
    """What of a token must not change: all but its prose. Its lines come last."""
    place = (numbers[token.map[0]], numbers[token.map[1]]) if token.map else (0, 0)
    content = "" if token.type == "inline" else token.content
    children = Counter(_inline_shape(each) for each in _all_children(token))
    kept = frozenset(item for item in children.items() if item[0])
    return (token.type, token.level, token.markup, token.info, content, kept, place)


def _all_children(token: "Token") -> "Iterator[Token]":
    for child in token.children or []:
        yield child
        yield from _all_children(child)


def _inline_shape(token: "Token") -> tuple[Any, ...]:
    if token.type in ("text", "softbreak"):
        return ()
    content = "" if token.type == "image" else token.content
    return (token.type, token.markup, content, token.attrGet("href"), token.attrGet("src"))


def _targets(parsed: _Parsed) -> dict[str, tuple[str, str]]:
    return {name: (each["href"], each["title"]) for name, each in parsed.references.items()}
