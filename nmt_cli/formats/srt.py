"""SRT subtitles: the words change; numbers, times, positions, tags and line counts stay.

The library ``srt`` finds the subtitles. Translations replace their text in place, and every
other byte stays. A translation that ``srt`` would read as more than text, or that has other markup,
is replaced by its source.
"""

import re
from collections.abc import Iterator
from contextlib import suppress

import srt

from nmt_cli.errors import InputError
from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, balanced, breaks_of, translate_segments
from nmt_cli.formats.spans import Interval

find_spans = spans.spans_finder(
    breaks=[*spans.CONTROL, spans.LINE_BREAK_TAG, r"\\[Nn]"],
    marks=[r"\{\\[^{}]*\}", r"\{[A-Za-z]:[^{}]*\}", r"[♪♫]+"],
    free=[spans.COMMENT, spans.ENTITY, *spans.ADDRESSES],
    tags=[spans.TAG],
    fixed=[r"\\h"],
)

# A speaker's dash, after tags if there are any. Two of them are a dialogue.
_DASH = re.compile(r"\s*(?:\{\\[^{}]*\}|<[^<>]*>|\s)*[-–—‐](?!-)\s*(?=\S)")
# Some programs mistake such a line for the beginning of a subtitle.
_LIKE_NUMBER = re.compile(r"\d+[,.:，．。：]\d+[,.:，．。：]\d+|-?\d+\.?\d*\s*\Z")
# A damaged time line, which srt mistakes for text: by itself, or after an empty line and a number.
_DAMAGED = re.compile(r"\d+[:.,]\d+\S*[ \t]*-+[ \t]*>|(?<=\n)\r?\n[^\S\n]*\d+[^\S\n]*\n[^\n]*\S")


def translate_srt(text: str, name: str, translate: Translate) -> str:
    """Translate the subtitles of a file.

    The lines of a subtitle, or of each speaker in a dialogue, are translated together. The
    translation is split into as many lines of similar length.
    """
    contents = _contents(text, name)
    subtitles = [list(_groups(text, *content)) for content in contents]
    sources = [
        " ".join(text[slice(*line)] for line in lines) for groups in subtitles for lines in groups
    ]
    segments = [Segment(source, find_spans) for source in sources]
    results = zip(sources, translate_segments(segments, translate), strict=True)
    parts, done = [], 0
    following = [*(start for start, _ in contents[1:]), None]
    for (start, end), groups, until in zip(contents, subtitles, following, strict=False):
        new = _replaced(text, (start, end), groups, results)
        before, kept, after = text[done:start], text[start:end], text[end:until]
        with suppress(InputError):
            reread = _contents(before + new + after, name)
            is_same = reread[:1] == [(len(before), len(before + new))]
            if is_same and len(reread) == (2 if until else 1) and _markup(new) == _markup(kept):
                kept = new
        parts += [before, kept]
        done = end
    return "".join([*parts, text[done:]])


def _markup(text: str) -> list[str]:
    """Return the markup of a subtitle: two speakers' translations can form a comment together."""
    line = re.sub(r"[\n\t]", " ", text.replace("\r", ""))
    return sorted(line[span.start : span.end] for span in find_spans(line))


def _replaced(
    text: str, content: Interval, groups: list[list[Interval]], results: Iterator[tuple[str, str]]
) -> str:
    """Return a subtitle's text with the next result instead of each group of lines."""
    edits: list[tuple[Interval, str]] = []
    for lines in groups:
        source, result = next(results)
        if result == source:
            continue
        found = find_spans(result)
        tags = [span for span in found if result[span.start] in "<{"]
        breaks = [
            (start, end)
            for start, end in breaks_of(result, found, between_wide=True)
            if not result[:start].isdigit() and not _LIKE_NUMBER.match(result, end)
        ]
        new = balanced(result, breaks, [1] * len(lines), tags)
        # A line without a translation is dropped, and the line end before it.
        kept = [*lines[: len(new) - 1], (lines[len(new) - 1][0], lines[-1][1])]
        edits += zip(kept, new, strict=True)
    return spans.replaced(text, *content, edits)


def _contents(text: str, name: str) -> list[Interval]:
    """Find the text of each subtitle; raise InputError with the line of what is none."""
    if not re.search(r"-[ -]*>", text):  # srt's pattern is slow on text without arrows
        if text.strip():
            raise _malformed(text, name, 0)
        return []
    # Parsed for srt's checks; only its pattern has the position of a text.
    subtitles = srt.parse(text)
    contents: list[Interval] = []
    end = 0
    try:
        for match in srt.SRT_REGEX.finditer(text):
            next(subtitles)
            contents.append(match.span(match.re.groups))
            end = match.end()
        next(subtitles, None)
    except srt.SRTParseError as error:
        raise _malformed(text, name, error.expected_start) from None
    except (ValueError, OverflowError):
        raise _malformed(text, name, end) from None
    for start, end in contents:
        if damaged := _DAMAGED.search(text[start:end]):
            raise _malformed(text, name, start + damaged.end() - 1)
    return contents


def _malformed(text: str, name: str, position: int) -> InputError:
    position += len(text[position:]) - len(text[position:].lstrip())
    line = text.count("\n", 0, position) + 1
    hint = "each is a number, a time line (00:00:01,000 --> 00:00:02,000), text, an empty line"
    return InputError(f"{name}, line {line}: not a subtitle", hint)


def _groups(text: str, start: int, end: int) -> Iterator[list[Interval]]:
    """Group the lines of a subtitle; an empty line or a speaker's dash begins a new group."""
    groups: list[list[Interval]] = [[]]
    for match in re.finditer(r"[^\n]+|\n(?=\r?\n)", text[start:end]):
        line, line_start = match[0], start + match.start()
        if not line.strip():
            groups.append([])
            continue
        if dash := _DASH.match(line):
            groups.append([])
            line_start += dash.end()
        else:
            line_start += len(line) - len(line.lstrip(" \t"))
        groups[-1].append((line_start, start + match.start() + len(line.rstrip(" \t\r"))))
    return filter(None, groups)
