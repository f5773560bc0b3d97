"""Markdown: prose is translated; code, addresses, HTML, markup and line structure stay.

The library ``markdown-it-py`` finds paragraphs, headings and table cells. Translations replace
their text in place, and the new document is parsed too: where its structure differs, as when a
line now begins with "1.", the source is kept.

Not translated are front matter, code, HTML blocks, link definitions, titles of links, wiki links
without a text, and links whose text is the name of their definition (``[text]``). Texts of images
and inline notes (``^[note]``) are translated by themselves. Links to headings, whose anchors are
GitHub's or MkDocs', follow their translations.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nmt_cli.formats.markdown_inline import COMMAND_LINE, DEFINITION, inline_finder, parser
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, balanced, breaks_of, translate_segments
from nmt_cli.formats.spans import Finder, Kind

# The text of an image, if it does not name a definition, or an inline note.
_LABEL = r"((?:[^\[\]\\`]|\\.|\[[^\[\]]*\]){1,500})"
_INNER = re.compile(rf"!\[{_LABEL}\](?=\(|\[[^\]])|\^\[{_LABEL}\]")
# A link to an anchor of the document; or code, which may look like one.
_ANCHOR_LINK = re.compile(
    r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)"
    r"|(\]\(\s*<?|^[ >]*\[[^\]]+\]:\s*<?|\bhref=[\"']?)#([^\s)>\"']+)",
    re.IGNORECASE,
)
# What has an anchor of its own.
_IDENTIFIER = re.compile(r"""(?:\b(?:id|name)=["']?|\{[^{}\n]*#)([^\s"'{}>]+)""")
# The categories of characters that anchors keep: letters, marks, digits, underscores.
_IN_ANCHORS = ("L", "M", "Nd", "Pc")

# After this many repairs of single blocks, the whole document stays as it is.
MAX_REPAIRS = 4

_WHITE = " \t\v\f"
_FORCED_BREAK = re.compile(r"(?:(?<! ) {2,}|(?<!\\)(?:\\\\)*\\)$")
_COMMAND_LINE = re.compile(rf"{COMMAND_LINE}$")
_DEFINITION = re.compile(DEFINITION)
# At the end of a cell or heading, these would become part of its markup.
_EATEN = re.compile(r"\\$|(?:^|[ \t])#+$")
# At the beginning of a line, these could begin a block.
_BLOCK_MARK = re.compile(r"[-+*>#=|~<:`]|\[(?:!|[^\]\n]{0,999}\]:)|\d{1,9}[.)]")


class _Part(NamedTuple):
    """Part of a line of the document, which is text."""

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class _Block:
    """The text of a paragraph, heading or cell.

    Attributes:
        groups: its parts, by what line breaks with a meaning separate.
    """

    groups: list[list[_Part]]
    segment: Segment

    @property
    def parts(self) -> list[_Part]:
        """All parts."""
        return list(chain(*self.groups))


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
    inner = [(index, *text) for index, block in enumerate(blocks) for text in _inner(block.segment)]
    segments = [*(block.segment for block in blocks), *(segment for _, _, segment in inner)]
    results = translate_segments(segments, translate)
    for (index, sign, segment), result in zip(inner, results[len(blocks) :], strict=True):
        if re.fullmatch(_LABEL, result):
            old = f"{sign}[{segment.text}]"
            results[index] = results[index].replace(old, f"{sign}[{result}]", 1)
    changes = {
        index: new
        for index, (block, result) in enumerate(zip(blocks, results, strict=False))
        if result != block.segment.text and (new := _split(block, result)) is not None
    }
    for _ in range(MAX_REPAIRS):
        new_lines = _replaced(lines, blocks, changes)
        new_tokens, _, now = _parse(markdown, new_lines, first)
        differing = (structure - now) + (now - structure)
        if not differing:
            break
        broken = {line for token in differing if token[0] in _LEAVES for line in token[-1]}
        bad = [
            index for index in changes if any(part.line in broken for part in blocks[index].parts)
        ]
        for index in bad or list(changes):
            del changes[index]
    else:
        return text
    parts: list[tuple[str, str]] = []
    for new_line, end in zip(new_lines, ends, strict=True):
        # The line end before a dropped line is dropped with it.
        parts.append((parts.pop()[0] if new_line is None else new_line, end))
    code = {
        number + first
        for token in new_tokens
        if token.type in ("fence", "code_block") and token.map
        for number in range(*token.map)
    }
    anchors = _anchors(text, tokens, new_tokens)
    return "".join(
        (line if number in code else _relinked(line, anchors)) + end
        for number, (line, end) in enumerate(parts)
    )


def _inner(segment: Segment) -> Iterator[tuple[str, Segment]]:
    """Find the texts in a text's images and inline notes, and the sign before each."""
    if _INNER.search(segment.text):
        for span in segment.find(segment.text):
            if span.kind is Kind.MARK:
                for match in _INNER.finditer(segment.text, span.start, span.end):
                    yield match[0][0], replace(segment, text=match[1] or match[2])


def _anchors(text: str, tokens: Sequence[Token], new_tokens: Sequence[Token]) -> dict[str, str]:
    """Return the new anchors of headings by the old ones, which are no others' anchors."""
    slugs = dict(zip(_slugs(tokens), _slugs(new_tokens), strict=True))
    # MkDocs leaves out accents.
    plain = {_without_accents(old): _without_accents(new) for old, new in slugs.items()}
    others = set(_IDENTIFIER.findall(text))
    return {old: new for old, new in (plain | slugs).items() if old not in others}


def _slugs(tokens: Sequence[Token]) -> Iterator[str]:
    """Return the anchors of headings by the rules of GitHub."""
    counts: Counter[str] = Counter()
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            words = "".join(
                child.content or " "
                for child in token.children or []
                if child.type in ("text", "code_inline", "softbreak")
            )
            slug = "".join(
                character
                for character in words.strip().lower().replace(" ", "-")
                if character == "-" or unicodedata.category(character).startswith(_IN_ANCHORS)
            )
            yield f"{slug}-{counts[slug]}" if counts[slug] else slug
            counts[slug] += 1


def _without_accents(slug: str) -> str:
    return unicodedata.normalize("NFKD", slug).encode("ascii", "ignore").decode()


def _relinked(line: str, anchors: Mapping[str, str]) -> str:
    """Replace the anchors of links outside of code."""

    def new(match: re.Match[str]) -> str:
        anchor = match[3] or ""
        target = anchors.get(unquote(anchor).lower(), "")
        return f"{match[2]}#{quote(target) if '%' in anchor else target}" if target else match[0]

    return _ANCHOR_LINK.sub(new, line) if anchors else line


def _front_matter(lines: Sequence[str]) -> int:
    """Count the lines of front matter (YAML between ---, TOML between +++)."""
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(), ())
    return next((index + 2 for index, line in enumerate(lines[1:]) if line.rstrip() in ends), 0)


_EXACT = {"html_inline", "code_inline"}
_LEAVES = {"inline", "fence", "code_block", "html_block", "hr", "heading_open", "tr_open"}


def _parse(
    markdown: MarkdownIt, lines: Sequence[str | None], first: int
) -> tuple[list[Token], Mapping[str, Any], Counter[tuple[Any, ...]]]:
    """Return the tokens, the link definitions, and their structure, which must not change.

    Parsing begins at line ``first``; lines that are None are left out.
    """
    numbers = [number for number in range(first, len(lines)) if lines[number] is not None]
    env: dict[str, Any] = {}
    tokens = markdown.parse("\n".join(lines[number] or "" for number in numbers), env)
    references = env.get("references", {})
    numbers.append(len(lines))
    structure: Counter[tuple[Any, ...]] = Counter(
        (name, link["href"], link["title"]) for name, link in references.items()
    )
    for token in tokens:  # all but prose, whose spans are kept, but for line ends in tags
        tags = sorted(child.content for child in token.children or [] if child.type in _EXACT)
        content = str(tags) if token.type == "inline" else token.content
        # The lines come last.
        lines_of = range(numbers[token.map[0]], numbers[token.map[1]]) if token.map else range(0)
        structure[token.type, token.level, token.markup, token.info, content, lines_of] += 1
    return tokens, references, structure


def _blocks(
    tokens: Sequence[Token], lines: Sequence[str], first: int, find: Finder
) -> Iterator[_Block]:
    """Find all blocks with text, in order; token lines count from ``first``."""
    cell_end = 0
    for before, token in pairwise(tokens):
        if token.type != "inline" or not token.map:
            cell_end = 0 if token.type == "tr_open" else cell_end
            continue
        begin, end = token.map[0] + first, token.map[1] + first
        rows = [line.replace("\0", "\ufffd") for line in lines[begin:end]]
        parts = list[_Part]()
        if before.type in ("th_open", "td_open"):
            raw = token.content.replace("|", "\\|")
            start = rows[0].find(raw, cell_end)
            cell_end = start + len(raw)
            parts += [_Part(begin, start, cell_end)] if raw and start >= 0 else []
        else:
            parts += _parts(rows, begin, token.content)
        if not parts or len(parts) < len(rows):
            continue
        groups = [parts[:1]]
        for above, part in pairwise(parts):
            row, next_row = lines[above.line][slice(*above[1:])], lines[part.line][slice(*part[1:])]
            is_command = _COMMAND_LINE.match(row) or _COMMAND_LINE.match(next_row)
            if is_command or _FORCED_BREAK.search(row) or _DEFINITION.match(next_row):
                groups.append([])
            groups[-1].append(part)
        text = "\n".join(
            " ".join(lines[line][start:end] for line, start, end in group) for group in groups
        )
        yield _Block(groups, Segment(text, find, f"line {begin + 1}"))


def _parts(rows: Sequence[str], begin: int, content: str) -> Iterator[_Part]:
    """Find the lines of a block's content in the lines of the document."""
    for number, (row, line) in enumerate(zip(rows, content.split("\n"), strict=False)):
        core = line.strip(_WHITE)
        start = row.rfind(core)
        if start < 0 or not core:
            return
        # Spaces or a backslash that force a line break belong to the text.
        forced = number + 1 < len(rows) and _FORCED_BREAK.search(row)
        yield _Part(begin + number, start, len(row) if forced else start + len(core))


def _split(block: _Block, result: str) -> list[str] | None:
    """Split a translation into at most as many lines as its block; None if that is impossible."""
    texts, lines = result.split("\n"), list[str]()
    is_eaten = _EATEN.search(result) and not _EATEN.search(block.segment.text)
    if len(texts) != len(block.groups) or (is_eaten and len(block.parts) == 1):
        return None
    for text, group in zip(texts, block.groups, strict=True):
        breaks = [
            (start, end)
            for start, end in breaks_of(text, block.segment.find(text))
            if not _BLOCK_MARK.match(text, end) and text[start - 1] != "\\"
        ]
        lines += balanced(text, breaks, [part.end - part.start for part in group])
    return lines


def _replaced(
    lines: Sequence[str], blocks: Sequence[_Block], changes: Mapping[int, Sequence[str]]
) -> list[str | None]:
    """Replace the lines of blocks by new ones; None for lines that are dropped."""
    result: list[str | None] = list(lines)
    for index in sorted(changes, reverse=True):  # from the right, where a line has many cells
        new = changes[index]
        for number, (line, start, end) in enumerate(blocks[index].parts):
            old, text = result[line] or "", new[number] if number < len(new) else None
            # A line that takes the words of another one may take its forced break.
            rest = old[end:].rstrip(_WHITE) if (text or "").endswith("\\") else old[end:]
            result[line] = None if text is None else f"{old[:start]}{text}{rest}"
    return result
