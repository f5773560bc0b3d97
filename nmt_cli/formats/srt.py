"""SRT subtitles: the words change; numbers, times, positions, tags and line counts stay.

The library ``srt`` finds the subtitles; translations are put in where their texts stood, and
every other byte stays, so that with a translation that changes nothing the file is the same.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.formats.kept import Segment, Translate, translate_segments
from nmt_cli.formats.patterns import (
    ADDRESSES,
    COMMENT,
    CONTROL,
    ENTITY,
    LINE_BREAK_TAG,
    TAG,
    spans_finder,
)
from nmt_cli.formats.wrap import balanced, breaks_of

_ARROW = r"-[ -] *>"

find_spans = spans_finder(
    breaks=[*CONTROL, LINE_BREAK_TAG, r"\\[Nn]"],
    marks=[r"\{\\[^{}]*\}", r"\{[A-Za-z]:[^{}]*\}", r"[♪♫]+"],
    free=[COMMENT, ENTITY, *ADDRESSES],
    tags=[TAG],
    fixed=[r"\\h", _ARROW],
)

# A speaker's dash, behind tags if there are any. Two of them are a dialogue.
_DASH = re.compile(r"\s*(?:\{\\[^{}]*\}|<[^<>]*>|\s)*[-–—‐](?!-)\s*")
# What looks like a time line and was not taken for one.
_BROKEN_TIME = re.compile(r"\d+[:.,]\d+\S*[ \t]*-+[ \t]*>")
# What could be taken for the beginning of one behind an empty line, were it in a translation.
_LIKE_TIME = re.compile(r"^\s*\d+[,.:，．。：]\d+[,.:，．。：]\d+")


@dataclass(frozen=True)
class _Utterance:
    """Lines of a subtitle that belong together, each as a place in the file."""

    lines: list[tuple[int, int]]
    segment: Segment


def translate_srt(text: str, name: str, translate: Translate) -> str:
    """Translate the subtitles of a file.

    The lines of a subtitle are translated together and parted again into as many, of like
    length; in a dialogue, each speaker's lines.

    Args:
        text: of the file.
        name: of the file, for messages.
        translate: translations of texts, in order.

    Raises:
        NmtError: part of the file is no subtitle; names the line.
    """
    utterances = [
        utterance
        for start, end in _contents(text, name)
        for utterance in _utterances(text, start, end)
    ]
    results = translate_segments([each.segment for each in utterances], translate)
    pairs = [
        (utterance, lines)
        for utterance, result in zip(utterances, results, strict=True)
        if result != utterance.segment.text
        for lines in [_lines(result, len(utterance.lines))]
    ]
    if not pairs:
        return text
    new = _replaced(text, pairs)
    if _timing(new) != _timing(text):
        harmless = [pair for pair in pairs if not any(map(_LIKE_TIME.search, pair[1]))]
        new = _replaced(text, harmless)
    return new


def _timing(text: str) -> list[tuple[Any, ...]] | None:
    """What stands before the text of each subtitle; None if there is more than subtitles."""
    import srt

    try:
        return [(each.index, each.start, each.end) for each in srt.parse(text)]
    except srt.SRTParseError:
        return None


def _contents(text: str, name: str) -> list[tuple[int, int]]:
    """Where the texts of the subtitles stand.

    Raises:
        NmtError: part of the file is no subtitle.
    """
    import srt

    if not re.search(_ARROW, text):  # the pattern would take long to see that
        if text.strip():
            raise _malformed(text, name, 0)
        return []
    # Parsed for its checks; only the pattern that it parses by says where things stand.
    subtitles = srt.parse(text)
    places: list[tuple[int, int]] = []
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
    for start, end in places:
        _check(text, name, start, end)
    return places


def _check(text: str, name: str, start: int, end: int) -> None:
    """Whether a subtitle has swallowed another, as it does when that one's time is damaged.

    Raises:
        NmtError: it has.
    """
    before_blank = False
    for line in re.finditer(r"[^\n]+", text[start:end]):
        content = line[0].strip()
        if _BROKEN_TIME.search(content):
            raise _malformed(text, name, start + line.start())
        after_blank = text[start : start + line.start()].endswith(("\n\n", "\n\r\n"))
        if before_blank and content and not after_blank:
            raise _malformed(text, name, start + line.start())
        before_blank = after_blank and content.isdecimal()


def _malformed(text: str, name: str, place: int) -> NmtError:
    place += len(text[place:]) - len(text[place:].lstrip())
    line = text.count("\n", 0, place) + 1
    return NmtError(
        f"{name}, line {line}: not a subtitle",
        "each is a number, a time line (00:00:01,000 --> 00:00:02,000), text, an empty line",
    )


def _utterances(text: str, start: int, end: int) -> list[_Utterance]:
    """The utterances of a subtitle: its lines, parted at empty ones and at speakers' dashes."""
    groups: list[list[tuple[int, int]]] = [[]]
    for match in re.finditer(r"[^\n]*", text[start:end]):
        line = match[0]
        if not line.strip():
            if match.start() == 0 or text[start + match.start() - 1] == "\n":
                groups.append([])
            continue
        at = start + match.start()
        dash = _DASH.match(line)
        if dash and line[dash.end() :].strip():
            groups.append([])
            line_start = at + dash.end()
        else:
            line_start = at + len(line) - len(line.lstrip(" \t"))
        groups[-1].append((line_start, at + len(line.rstrip(" \t\r"))))
    return [
        _Utterance(lines, Segment(" ".join(text[a:b] for a, b in lines), find_spans))
        for lines in groups
        if lines
    ]


def _lines(result: str, count: int) -> list[str]:
    spans = find_spans(result)
    tags = [span for span in spans if result[span.start] in "<{"]
    return balanced(result, breaks_of(result, spans, between_wide=True), [1] * count, tags)


def _replaced(text: str, pairs: Iterable[tuple[_Utterance, list[str]]]) -> str:
    """The file with other lines in the places of utterances; lines too many are dropped."""
    parts = []
    at = 0
    for utterance, lines in pairs:
        for number, (start, end) in enumerate(utterance.lines):
            if number < len(lines):
                parts += [text[at:start], lines[number]]
            # A line that is dropped goes with the line end before it.
            at = end
    return "".join([*parts, text[at:]])
