"""SRT subtitles: the words change; numbers, times, positions, tags and line counts stay.

The library ``srt`` finds the subtitles. Translations replace their text in place, and every
other byte stays. A translation that ``srt`` would read as more than text, or that has other markup,
is replaced by its source.
"""

import re
from collections.abc import Iterator
from contextlib import suppress

from nmt_cli.errors import NmtError
from nmt_cli.formats import patterns
from nmt_cli.formats.segments import Place, Segment, Translate, translate_segments
from nmt_cli.formats.wrap import balanced, breaks_of

find_spans = patterns.spans_finder(
    breaks=[*patterns.CONTROL, patterns.LINE_BREAK_TAG, r"\\[Nn]"],
    marks=[r"\{\\[^{}]*\}", r"\{[A-Za-z]:[^{}]*\}", r"[♪♫]+"],
    free=[patterns.COMMENT, patterns.ENTITY, *patterns.ADDRESSES],
    tags=[patterns.TAG],
    fixed=[r"\\h"],
)

# A speaker's dash, after tags if there are any. Two of them are a dialogue.
_DASH = re.compile(r"\s*(?:\{\\[^{}]*\}|<[^<>]*>|\s)*[-–—‐](?!-)\s*(?=\S)")
# Some programs take such a line for the beginning of a subtitle.
_LIKE_NUMBER = re.compile(r"\d+[,.:，．。：]\d+[,.:，．。：]\d+|-?\d+\.?\d*\s*\Z")
# A damaged time line, which srt takes for text: by itself, or after an empty line and a number.
_DAMAGED = re.compile(r"\d+[:.,]\d+\S*[ \t]*-+[ \t]*>|(?<=\n)\r?\n[^\S\n]*\d+[^\S\n]*\n[^\n]*\S")


def translate_srt(text: str, name: str, translate: Translate) -> str:
    """Translate the subtitles of a file.

    The lines of a subtitle, or of each speaker in a dialogue, are translated together. The
    translation is split into as many lines of similar length.

    Raises:
        NmtError: part of the file ``name`` is not a subtitle; names the line.
    """
    places = _contents(text, name)
    groups = [list(_groups(text, *place)) for place in places]
    sources = [" ".join(text[slice(*line)] for line in lines) for each in groups for lines in each]
    segments = [Segment(source, find_spans) for source in sources]
    results = zip(sources, translate_segments(segments, translate), strict=True)
    parts, at = [], 0
    following = [*(start for start, _ in places[1:]), None]
    for (start, end), lines_of, until in zip(places, groups, following, strict=False):
        new = _replaced(text, (start, end), lines_of, results)
        before, kept, after = text[at:start], text[start:end], text[end:until]
        with suppress(NmtError):
            found = _contents(before + new + after, name)
            same = found[:1] == [(len(before), len(before + new))]
            if same and len(found) == (2 if until else 1) and _markup(new) == _markup(kept):
                kept = new
        parts += [before, kept]
        at = end
    return "".join([*parts, text[at:]])


def _markup(text: str) -> list[str]:
    """Return the markup of a subtitle: two speakers' translations can form a comment together."""
    line = re.sub(r"[\n\t]", " ", text.replace("\r", ""))
    return sorted(line[each.start : each.end] for each in find_spans(line))


def _replaced(
    text: str, place: Place, groups: list[list[Place]], results: Iterator[tuple[str, str]]
) -> str:
    """Return a subtitle's text with the next result in the place of each group of lines."""
    parts, at = [], place[0]
    for lines in groups:
        source, result = next(results)
        if result == source:
            continue
        spans = find_spans(result)
        tags = [span for span in spans if result[span.start] in "<{"]
        breaks = [
            (start, end)
            for start, end in breaks_of(result, spans, between_wide=True)
            if not result[:start].isdigit() and not _LIKE_NUMBER.match(result, end)
        ]
        new = balanced(result, breaks, [1] * len(lines), tags)
        for row, (start, end) in enumerate(lines):
            if row < len(new):
                parts += [text[at:start], new[row]]
            at = end  # a line without a translation is dropped, and the line end before it
    return "".join([*parts, text[at : place[1]]])


def _contents(text: str, name: str) -> list[Place]:
    """Find the text of each subtitle; errors as of translate_srt."""
    import srt

    if not re.search(r"-[ -]*>", text):  # srt's pattern would take long to find that out
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
    for start, end in places:
        if damaged := _DAMAGED.search(text[start:end]):
            raise _malformed(text, name, start + damaged.end() - 1)
    return places


def _malformed(text: str, name: str, place: int) -> NmtError:
    place += len(text[place:]) - len(text[place:].lstrip())
    line = text.count("\n", 0, place) + 1
    return NmtError(
        f"{name}, line {line}: not a subtitle",
        "each is a number, a time line (00:00:01,000 --> 00:00:02,000), text, an empty line",
    )


def _groups(text: str, start: int, end: int) -> Iterator[list[Place]]:
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
    return filter(None, groups)
