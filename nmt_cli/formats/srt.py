"""SRT subtitles: the words change; numbers, times, positions, tags and line counts stay.

The library ``srt`` finds the subtitles. Translations replace their text in place, and every
other byte stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nmt_cli.errors import NmtError
from nmt_cli.formats.patterns import (
    ADDRESSES,
    COMMENT,
    CONTROL,
    ENTITY,
    LINE_BREAK_TAG,
    TAG,
    spans_finder,
)
from nmt_cli.formats.segments import Place, Segment, Translate, translate_segments
from nmt_cli.formats.wrap import balanced, breaks_of

_ARROW = r"-[ -]*>"
# At the beginning of a line, srt may take these for part of the next subtitle.
_LIKE_NUMBER = re.compile(r"\d+[,.:，．。：]\d+[,.:，．。：]\d+|-?\d+\.?\d*\s*\Z")

find_spans = spans_finder(
    breaks=[*CONTROL, LINE_BREAK_TAG, r"\\[Nn]"],
    marks=[r"\{\\[^{}]*\}", r"\{[A-Za-z]:[^{}]*\}", r"[♪♫]+"],
    free=[COMMENT, ENTITY, *ADDRESSES],
    tags=[TAG],
    # What a translation must not begin with: after a speaker's dash, ">" would complete an arrow.
    fixed=[r"\\h", _ARROW, rf"\A\s*(?:{_LIKE_NUMBER.pattern})", r"\A[ -]*>"],
)

# A speaker's dash, after tags if there are any. Two of them are a dialogue.
_DASH = re.compile(r"\s*(?:\{\\[^{}]*\}|<[^<>]*>|\s)*[-–—‐](?!-)\s*(?=\S)")
# A damaged time line, which srt takes for text.
_BROKEN_TIME = re.compile(r"\d+[:.,]\d+\S*[ \t]*-+[ \t]*>")


@dataclass(frozen=True)
class _Utterance:
    """Lines of a subtitle that belong together, each as a place in the file."""

    lines: list[Place]
    segment: Segment


def translate_srt(text: str, name: str, translate: Translate) -> str:
    """Translate the subtitles of a file.

    The lines of a subtitle, or of each speaker in a dialogue, are translated together. The
    translation is split into as many lines of similar length.

    Raises:
        NmtError: part of the file ``name`` is not a subtitle; names the line.
    """
    utterances = [
        utterance
        for start, end in _contents(text, name)
        for utterance in _utterances(text, start, end)
    ]
    results = translate_segments([each.segment for each in utterances], translate)
    parts, at = [], 0
    for utterance, result in zip(utterances, results, strict=True):
        if result == utterance.segment.text:
            continue
        lines = _lines(result, len(utterance.lines))
        for number, (start, end) in enumerate(utterance.lines):
            if number < len(lines):
                parts += [text[at:start], lines[number]]
            at = end  # a line without a translation is dropped, and the line end before it
    return "".join([*parts, text[at:]])


def _lines(result: str, count: int) -> list[str]:
    """Split a translation into at most ``count`` lines."""
    spans = find_spans(result)
    number = len(result) - len(result.lstrip("0123456789"))  # a number is no line of its own
    breaks = [
        (start, end)
        for start, end in breaks_of(result, spans, between_wide=True)
        if start != number and not _LIKE_NUMBER.match(result, end)
    ]
    tags = [span for span in spans if result[span.start] in "<{"]
    return balanced(result, breaks, [1] * count, tags)


def _contents(text: str, name: str) -> list[Place]:
    """Find the text of each subtitle.

    Raises:
        NmtError: part of the file is not a subtitle.
    """
    import srt

    if not re.search(_ARROW, text):  # srt's pattern would take long to find that out
        if text.strip():
            raise _malformed(text, name, 0)
        return []
    # Parsed for srt's checks; only its pattern says where a text is.
    subtitles = srt.parse(text)
    places: list[Place] = []
    end = 0
    try:
        for match in srt.SRT_REGEX.finditer(text):
            next(subtitles)
            places.append(match.span(match.re.groups))
            end = match.end()
        next(subtitles, None)
    except srt.SRTParseError as error:
        raise _malformed(text, name, error.expected_start) from None
    except (ValueError, OverflowError):
        raise _malformed(text, name, end) from None
    for place in places:
        _check(text, name, *place)
    return places


def _check(text: str, name: str, start: int, end: int) -> None:
    """Refuse a subtitle that contains another one, whose time line is damaged.

    Raises:
        NmtError: there is one.
    """
    blank, number = False, False  # the line before; and whether a number follows a blank line
    for line in re.finditer(r"([^\n]*)\n?", text[start:end]):
        content = line[1].strip()
        if _BROKEN_TIME.search(content) or (number and content):
            raise _malformed(text, name, start + line.start())
        blank, number = line.start() > 0 and line[1] in ("", "\r"), blank and content.isdecimal()


def _malformed(text: str, name: str, place: int) -> NmtError:
    place += len(text[place:]) - len(text[place:].lstrip())
    line = text.count("\n", 0, place) + 1
    return NmtError(
        f"{name}, line {line}: not a subtitle",
        "each is a number, a time line (00:00:01,000 --> 00:00:02,000), text, an empty line",
    )


def _utterances(text: str, start: int, end: int) -> Iterator[_Utterance]:
    """Group the lines of a subtitle; an empty line or a speaker's dash begins a new group."""
    groups: list[list[Place]] = [[]]
    for match in re.finditer(r"[^\n]+|\n(?=\r?\n)", text[start:end]):
        line, at = match[0], start + match.start()
        if not line.strip():
            groups.append([])
            continue
        if dash := _DASH.match(line):
            groups.append([])
            at += dash.end()
        else:
            at += len(line) - len(line.lstrip(" \t"))
        groups[-1].append((at, start + match.start() + len(line.rstrip(" \t\r"))))
    for lines in groups:
        if lines:
            whole = " ".join(text[first:last] for first, last in lines)
            yield _Utterance(lines, Segment(whole, find_spans))
