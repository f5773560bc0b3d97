r"""Cues of subtitles: their lines, speakers and markup, which the formats of subtitles share.

The lines of a cue, or of each speaker in it, are translated together, and the translation is split
into as many lines of similar length. What is no text (tags, ``{\an8}``, ``\h``) is hidden from the
model. Everything between cues stays byte for byte.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape, unescape

from nmt_cli.formats import spans
from nmt_cli.formats.inline import InlineText
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, balanced, breaks_of, translate_segments
from nmt_cli.formats.spans import Finder, Interval, Kind, Span
from nmt_cli.text.kept import ADDRESSES

_LINE_END = re.compile(r"\r\n?|\n|\\[Nn]")
# What begins another speaker's text: a dash or >>, after tags, or a voice of WebVTT.
_SPEAKER = re.compile(
    r"\A(?:(?:\{[^{}]*+\}|<[^<>]*+>|\s++)*(?:[-–—‐](?!-)|(?:>|&gt;){2,3})\s*(?=\S)"
    r"|\s*<v[\s.][^<>]*>\s*(?=[^\s<]))"
)

# Spaces that do not break. The model reads a space before them.
_SPACE = r"\\h|&nbsp;|&\#160;|&\#[xX][aA]0;"
_SPACED = re.compile(rf" {{0,9}}({_SPACE}) *")
# The end and the name of a tag: </b>, {/b}, {\b0}; or only the name.
_TAG_NAME = re.compile(r"[<{](/|\\(?=[bius]0\}))?(?:\\(?=[bius]\d+\}))?([A-Za-z]\w*?)(?![A-Za-z_])")
_ENTITY = re.compile(spans.ENTITY)
# A speaker's dash inside a line.
_DASH = r"(?<=[.!?…])[ ]+[-–—‐][ ]*(?=[^\s-])"
_find_addresses = spans.spans_finder(free=ADDRESSES)


def cue_finder(*marks: str) -> Finder:
    """Make a function that finds the markup of a cue; ``marks`` are patterns of the format."""
    hidden = [r"\{\\[^{}]*\}|\{/?[biusBIUS]\}", r"[♪♫]+", r"<[\d:.]+>", spans.TAG, spans.COMMENT]
    find = spans.spans_finder(
        breaks=[
            *spans.CONTROL,
            spans.LINE_BREAK_TAG,
            _LINE_END.pattern,
            _DASH,
            r"</?v(?:[\s.][^<>]*)?>",
        ],
        marks=[*marks, *hidden, _SPACE, spans.ENTITY],
    )

    def find_pairs(text: str) -> list[Span]:
        found = [span for span in find(text) if not _character(text[span.start : span.end])]
        return spans.paired(text, found, _TAG_NAME)

    return find_pairs


def _character(raw: str) -> str:
    """Return the visible character of an entity, or nothing."""
    character = unescape(raw) if raw.startswith("&") else ""
    return character if character != raw and character.isprintable() else ""


def translate_cues(
    text: str, cues: Sequence[Interval], find: Finder, translate: Translate, no_text: str = ""
) -> str:
    """Translate the text of cues, but not to what would match the pattern ``no_text``."""
    groups = [list(_groups(text, *cue)) for cue in cues]
    texts, segments, line_of = list[InlineText](), list[Segment](), spans.line_finder(text)
    for lines in (lines for cue in groups for lines in cue):
        texts.append(_inline(" ".join(text[slice(*line)] for line in lines), find))
        segments.append(texts[-1].segment(_find_addresses, f"line {line_of(lines[0][0])}"))
    results = zip(texts, translate_segments(segments, translate), strict=True)
    edits = list[tuple[Interval, str]]()
    for cue, speakers in zip(cues, groups, strict=True):
        new = _replaced(text, cue, speakers, find, results)
        keeps_markup = _markup(new, find) == _markup(text[slice(*cue)], find)
        if keeps_markup and not (no_text and re.search(no_text, new)):
            edits.append((cue, new))
    return spans.replaced(text, 0, len(text), edits)


def _replaced(
    text: str,
    cue: Interval,
    groups: list[list[Interval]],
    find: Finder,
    results: Iterator[tuple[InlineText, str]],
) -> str:
    """Return a cue's text with the next result instead of each group of lines."""
    edits: list[tuple[Interval, str]] = []
    for lines in groups:
        inline, result = next(results)
        if result == inline.text:
            continue
        new = _lines(_written(inline, result), len(lines), find)
        # A line without a translation is dropped, and the line end before it.
        kept = [*lines[: len(new) - 1], (lines[len(new) - 1][0], lines[-1][1])]
        edits += zip(kept, new, strict=True)
    return spans.replaced(text, *cue, edits)


def _groups(text: str, start: int, end: int) -> Iterator[list[Interval]]:
    """Group the lines of a cue; an empty line or another speaker begins a new group."""
    groups: list[list[Interval]] = [[]]
    ends = [match.span() for match in _LINE_END.finditer(text, start, end)]
    for line_end, following in [*ends, (end, end)]:
        line = text[start:line_end]
        speaker = _SPEAKER.match(line)
        if speaker or not line.strip():
            groups.append([])
        if line.strip():
            first = start + (speaker.end() if speaker else len(line) - len(line.lstrip(" \t")))
            groups[-1].append((first, start + len(line.rstrip(" \t"))))
        start = following
    return filter(None, groups)


def _inline(source: str, find: Finder) -> InlineText:
    """Separate the words of a text from its markup."""
    inline = InlineText(partial(escape, quote=False) if _ENTITY.search(source) else str)
    done = 0
    for span in [*find(source), Span(len(source), len(source), Kind.MARK)]:
        raw = source[done : span.start]
        is_space = bool(_SPACED.fullmatch(source, span.start, span.end))
        inline.add_words(raw, _ENTITY.sub(lambda match: unescape(match[0]), raw) + " " * is_space)
        if span.start < span.end:
            inline.add_markup(source[span.start : span.end], span.kind)
        done = span.end
    return inline


def _written(inline: InlineText, result: str) -> str:
    """Return a translation as the format has it. Overrides keep their order: a later one wins."""

    def is_override(raw: str, kind: Kind | None) -> bool:
        return kind is Kind.MARK and raw.startswith("{")

    overrides = (raw for raw, kind in inline.pieces(inline.text) if is_override(raw, kind))
    new = ""
    for raw, kind in inline.pieces(result):
        new += next(overrides) if is_override(raw, kind) else raw
    return _SPACED.sub(r"\1", new)


def _lines(text: str, count: int, find: Finder) -> list[str]:
    """Split a translation into lines of similar length."""
    found = find(text)
    tags = [span for span in found if text[span.start] in "<{"]
    return balanced(text, breaks_of(text, found, between_wide=True), [1] * count, tags)


def _markup(text: str, find: Finder) -> list[str]:
    """Return the markup of a cue: two speakers' translations can form a comment together."""
    line = _LINE_END.sub(" ", text).replace("\t", " ")
    found = [line[span.start : span.end] for span in find(line)]
    return sorted(raw for raw in found if not raw.startswith(" "))
