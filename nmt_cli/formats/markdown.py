"""Markdown: prose is translated; code, addresses, HTML, markup and line structure stay.

The library ``markdown-it-py`` finds paragraphs, headings and table cells. Translations replace
their text in place, and the new document is parsed too: where its structure differs, as when a
line now begins with "1.", the source is kept.

Not translated are front matter, code, HTML blocks, link definitions, titles of links, and links
whose text is the name of their definition (``[text]``).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, balanced, breaks_of, translate_segments
from nmt_cli.formats.spans import Finder, Interval, Kind, Span, masked, pair_tags

# A line of a paragraph that is a command to a site generator: an alert, an admonition, a
# container, a template.
COMMAND_LINE = r"(?:\[![A-Za-z]+\][+-]?|(?:!!!|\?\?\?\+?)[ \t][^\n]*|:{3,}[^\n]*|\{%[^\n]*%\}|\$\$)"

# Nothing inside these is markup: 2*x*y in a formula is no emphasis.
_find_code = spans.spans_finder(
    free=[
        spans.CODE_ELEMENT,
        r"\$\$[^$]{1,2000}\$\$|(?<![\w$\\])\$[^$\s`](?:[^$\n`]{0,500}[^$\s\\`])?\$(?!\w)",
    ]
)
_find_in_text = spans.spans_finder(
    breaks=[rf"^{COMMAND_LINE}$", r"(?: {2,}|\\)?\n[ \t]*", *spans.CONTROL],
    marks=[r"\A\[[ xX]\](?=\s)", r"\A\[\^[^\]\s]+\]:", r"\{[:#.][^{}]*\}", r"^:[ \t]+"],
    free=[
        r"\[\^[^\]\s]+\]",
        *spans.ADDRESSES,
        spans.ENTITY,
        *spans.TEMPLATES,
        *spans.VARIABLES,
        r"(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])",
        r"(?<![\w\\])\w{0,64}(?:\\_\w{1,64}){1,64}",
    ],
    fixed=[r"\\[!-/:-@\[-`{-~]"],
)

# After this many repairs of single blocks, the whole document stays as it is.
MAX_REPAIRS = 4

_WHITE = " \t\v\f"
_FORCED_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*\\)$")
_COMMAND_LINE = re.compile(rf"{COMMAND_LINE}$|:[ \t]")
# At the end of a cell or heading, these would become part of its markup.
_EATEN = re.compile(r"\\$|(?:^|[ \t])#+$")
# At the beginning of a line, these could begin a block.
_BLOCK_MARK = re.compile(r"[-+*>#=|~<:`\[]|\d+[.)]")

_Rule = Callable[[StateInline, bool], bool]


@dataclass(frozen=True)
class _Block:
    """The text of a paragraph, heading or cell.

    Attributes:
        parts: its parts of lines of the document: number of the line, start and end.
    """

    parts: list[tuple[int, int, int]]
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
        index: new
        for index, (block, result) in enumerate(zip(blocks, results, strict=True))
        if result != block.segment.text and (new := _split(block, result)) is not None
    }
    for _ in range(MAX_REPAIRS):
        new_lines = _replaced(lines, blocks, changes)
        _, _, now = _parse(markdown, new_lines, first)
        differing = (structure - now) + (now - structure)
        if not differing:
            break
        broken = {line for token in differing if token[0] in _LEAVES for line in token[-1]}
        bad = [
            index for index in changes if any(line in broken for line, _, _ in blocks[index].parts)
        ]
        for index in bad or list(changes):
            del changes[index]
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
    """Count the lines of front matter (YAML between ---, TOML between +++)."""
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(), ())
    return next((index + 2 for index, line in enumerate(lines[1:]) if line.rstrip() in ends), 0)


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
    for token in tokens:  # all but their prose; their lines come last
        lines_of = range(numbers[token.map[0]], numbers[token.map[1]]) if token.map else range(0)
        content = _inline_markup(token) if token.type == "inline" else token.content
        structure[token.type, token.level, token.markup, token.info, content, lines_of] += 1
    return tokens, references, structure


def _inline_markup(token: Token) -> tuple[Any, ...]:
    """Return the markup of inline text, which may move but must not change."""
    markup = []
    for child in token.children or []:
        if child.type not in ("text", "softbreak"):
            content = _inline_markup(child) if child.type == "image" else child.content
            markup.append((child.type, child.markup, str(child.attrs), content))
    return tuple(sorted(markup))


def _blocks(
    tokens: Sequence[Token], lines: Sequence[str], first: int, find: Finder
) -> Iterator[_Block]:
    """Find all blocks with text, in order; token lines count from ``first``."""
    cell = 0
    for before, token in pairwise(tokens):
        if token.type != "inline" or not token.map:
            cell = 0 if token.type == "tr_open" else cell
            continue
        begin, end = token.map[0] + first, token.map[1] + first
        if before.type in ("th_open", "td_open"):
            interval = _cell(lines[begin], cell, token.content)
            parts = [(begin, *interval)] if interval else []
            cell += 1
        else:
            parts = list(_parts(lines[begin:end], begin, token.content))
        if parts and len(parts) == end - begin:
            yield _Block(parts, Segment(_joined(lines, parts), find))


def _parts(lines: Sequence[str], begin: int, content: str) -> Iterator[tuple[int, int, int]]:
    """Find the lines of a block's content in the lines of the document."""
    for number, (line, part) in enumerate(zip(lines, content.split("\n"), strict=False)):
        core = part.strip(_WHITE)
        start = line.replace("\0", "\ufffd").rfind(core)
        if start < 0 or not core:
            return
        # Spaces or a backslash that force a line break belong to the text.
        forced = number + 1 < len(lines) and _FORCED_BREAK.search(line)
        yield begin + number, start, len(line) if forced else start + len(core)


def _cell(line: str, number: int, content: str) -> Interval | None:
    """Find the content of a cell in its row."""
    raw = content.replace("|", "\\|")
    bounds = [0, *(match.end() for match in re.finditer(r"(?<!\\)\|", line)), len(line) + 1]
    leading = not line[: bounds[1] - 1].strip(f"{_WHITE}>")
    bound = number + leading
    if not raw or bound + 1 >= len(bounds):
        return None
    end = len(line[: bounds[bound + 1] - 1].rstrip(_WHITE))
    start = end - len(raw)
    is_content = start >= bounds[bound] and line[start:end].replace("\0", "\ufffd") == raw
    return (start, end) if is_content else None


def _joined(lines: Sequence[str], parts: Sequence[tuple[int, int, int]]) -> str:
    """Join the lines of a block; line breaks that have a meaning stay."""
    rows = [lines[line][start:end] for line, start, end in parts]
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
    if len(block.parts) == 1:
        eaten = _EATEN.search(result) and not _EATEN.search(source)
        return None if eaten or "\n" in result else [result]
    # By paragraph, which is what line breaks with a meaning separate: the lengths of its lines.
    weights: list[list[int]] = [[]]
    done = 0
    for _, start, end in block.parts:
        weights[-1].append(end - start)
        done += end - start + 1
        if source[done - 1 : done] == "\n":
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
    first = 0
    for paragraph, lengths in zip(paragraphs, weights, strict=True):
        last = first + len(paragraph)
        inner = [
            (start - first, end - first) for start, end in breaks if first < start and end < last
        ]
        lines += balanced(paragraph, inner, lengths)
        first = last + 1
    return lines


def _replaced(
    lines: Sequence[str], blocks: Sequence[_Block], changes: Mapping[int, Sequence[str]]
) -> list[str | None]:
    """Replace the lines of blocks by new ones; None for lines that are dropped."""
    result: list[str | None] = list(lines)
    for index in sorted(changes, reverse=True):  # from the right, where a line has many cells
        new = changes[index]
        for number, (line, start, end) in enumerate(blocks[index].parts):
            old = result[line] or ""
            result[line] = f"{old[:start]}{new[number]}{old[end:]}" if number < len(new) else None
    return result


def parser() -> MarkdownIt:
    """Make a parser of CommonMark with tables and strikethrough that notes inline positions."""
    # The preset's 20 levels are soon reached by a list in a list in a quote.
    markdown = MarkdownIt("commonmark", {"maxNesting": 60}).enable(["table", "strikethrough"])
    ruler = markdown.inline.ruler
    for name, rule in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        ruler.at(name, _noting_positions(rule))
    return markdown


def _noting_positions(rule: _Rule) -> _Rule:
    """Wrap a rule, so that the ``meta`` of its tokens has their positions in the text."""

    def run(state: StateInline, silent: bool) -> bool:
        start = token_start = state.pos
        first = len(state.tokens) + bool(state.pending)  # pending text becomes a token before
        if not rule(state, silent):
            return False
        new = [] if silent else state.tokens[first:]
        label_end = -1
        if new and new[0].type in ("link_open", "image") and new[0].info != "auto":
            is_image = new[0].type == "image"
            label_end = state.md.helpers.parseLinkLabel(state, start + is_image, not is_image)
        for token in new:
            # The text of a delimiter may become the markup of emphasis later.
            token.meta.setdefault("start", token_start if token.type == "text" else start)
            token.meta.setdefault("end", state.pos)
            token.meta.setdefault("label_end", label_end)
            token_start += len(token.content)
        return True

    return run


def inline_finder(markdown: MarkdownIt, references: Mapping[str, Any]) -> Finder:
    """Make a function that finds markup and other spans in the text of a paragraph.

    The references are the link definitions of the document, as markdown-it has them.
    """

    def find(text: str) -> list[Span]:
        tokens = markdown.parseInline(text, {"references": dict(references)})[0].children or []
        markup = list(_inline_spans(tokens, text, 0))
        tags = [(span.start, span.end) for span in markup if span.kind is Kind.FIXED]
        markup = [span for span in markup if span.kind is not Kind.FIXED]
        markup += [*pair_tags(text, tags), *_find_code(text)]
        outer: list[Span] = []
        for span in sorted(markup, key=lambda span: (span.start, -span.end)):
            if not outer or outer[-1].end <= span.start:
                outer.append(span)
        covered = {index for span in outer for index in range(span.start, span.end)}
        others = _find_in_text(masked(text, outer))
        outer += [span for span in others if covered.isdisjoint(range(span.start, span.end))]
        return sorted(outer, key=lambda span: span.start)

    return find


def _inline_spans(tokens: Sequence[Token], text: str, offset: int) -> Iterator[Span]:
    """Spans of inline tokens; HTML tags are FIXED."""
    whole: list[bool] = []  # for each open link, whether it is one span
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        start, end, label_end = (
            token.meta.get(key, 0) + offset for key in ("start", "end", "label_end")
        )
        if token.type == "code_inline":
            yield Span(start, end, Kind.FREE)
        elif token.type == "html_inline":
            is_break = re.fullmatch(spans.LINE_BREAK_TAG, text[start:end])
            yield Span(start, end, Kind.BREAK if is_break else Kind.FIXED)
        elif name in ("em", "s", "strong"):
            # The token of the inner one of two asterisks became that of both.
            start -= token.type == "strong_open"
            length = 1 if name == "em" else 2
            yield Span(start, start + length, Kind.OPEN if side == "open" else Kind.CLOSE)
        elif token.type == "link_close" and not whole.pop():
            yield Span(label_end, end, Kind.CLOSE)
        elif token.type in ("image", "link_open"):
            is_image = token.type == "image"
            # The text of [text] and [text][] is also the name of its definition.
            is_whole = token.info == "auto" or text[label_end:end] in ("]", "][]")
            yield Span(
                start,
                end if is_whole else start + 1 + is_image,
                Kind.FREE if is_whole else Kind.OPEN,
            )
            if not is_image:
                whole.append(is_whole)
            elif not is_whole:
                yield from _inline_spans(token.children or [], text, start + 2)
                yield Span(label_end, end, Kind.CLOSE)
