"""Split lines into what is translated by itself: sentences, columns, and parts of long sentences.

What separates them stays as it is: white space, tabs, columns, labels of lists, escapes such as
``\\n``. Where it is uncertain whether a sentence ends, it does not: two sentences together are
translated worse than apart, and two halves of one much worse.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from nmt_cli.text.edits import Span
from nmt_cli.text.languages import Language

# What is no part of any sentence: line breaks, labels of lists and white space at the start of a
# line, dashes of dialogues, tabs, columns, and escapes of line breaks and tabs, but not in paths.
_SEPARATOR = re.compile(
    r"""(?:\A|(?=\s)(?<!\s)\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])\s*
        (?:\.{2,}\s*|…\s*
        |(?:[-*+•◦▪·–—]|\#{1,6}|\(?(?:\d{1,3}|[A-Za-z])\)|\d{1,3}\.|\d{1,2}(?:\.\d{1,2})+\.?)\s+)?
    |(?=\s)(?:(?<!\s)\s+\Z | (?<!\s)\s*\t\s* | \ {3,})
    |(?=\\)(?:(?<![\\:/])(?<!\\[nrt])(?:\\[nrt])+(?=\s|\Z|[A-ZÀ-Þ])|(?<=[.!?,;])(?:\\[nrt])+)""",
    re.VERBOSE,
)
# The end of a sentence: its signs, closing ones after them, and white space. Chinese and Japanese
# have no white space there.
_END = re.compile(
    r"(?P<stop>(?<![.!?…])[.!?…]+|(?<![。！？])[。！？]+)"
    r"(?P<close>[\"'”’»)\]』」]*)(?P<space>(?<=[。！？』」])\s*|\s+)(?=\S)"
)
_OPENING = "\"'“‘«([{¿¡„‚–—-"
_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "„": "“"}
# By the sign of the other half; one kind of quotation mark is both.
_CLOSINGS = _PAIRS | {'"': '"'}
_OPENINGS = {closing: opening for opening, closing in _CLOSINGS.items()}
_MAX_INNER = 1000  # characters of a quotation
_LAST_WORD = re.compile(r"[^\s(\[{\"“«]*\Z")
# What ends the part of a text that is in capitals.
_LABEL = re.compile(r"(?<=:)\s+|(?<!\s)\s+[-–—]\s+")
_MIN_LETTERS = 4
_NUMBER = re.compile(r"\d|(?:[IVXLC]{2,}|[VX])(?!\w)")  # after "no.", "I" is a word
# Where a long sentence is cut best, and second best.
_CLAUSE = re.compile(r"(?<=[,;:—–])\s+")
_SPACE = re.compile(r"\s+")


def texts(line: str, language: Language | None) -> Iterator[Span]:
    """Yield the spans of what is translated by itself; sentences are not split without language."""
    start, is_lower = 0, line.islower()  # without capitals, every sentence begins in lower case
    for match in _SEPARATOR.finditer(line):
        if match.start() > start:
            yield from _sentences(line, start, match.start(), language, is_lower)
        start = max(start, match.end())
    if start < len(line):
        yield from _sentences(line, start, len(line), language, is_lower)


def _sentences(
    line: str, start: int, end: int, language: Language | None, is_lower: bool
) -> Iterator[Span]:
    if language:
        for match in _LABEL.finditer(line, start, end):
            if _is_label(line[start : match.start()], line[match.end() : end]):
                yield start, match.start()
                start = match.end()
            break
    for match in _END.finditer(line, start, end) if language else ():
        if language and _ends(line, start, match, end, language, is_lower):
            yield start, match.start("space")
            start = match.end()
    yield start, end


def _is_label(before: str, after: str) -> bool:
    """Return whether only the first part of a text is in capitals: ATENÇÃO: não toque."""
    is_word = any(len(word) >= _MIN_LETTERS for word in re.findall(r"[^\W\d_]+", before))
    return is_word and before.isupper() and not after.isupper()


def _ends(
    line: str, start: int, match: re.Match[str], end: int, language: Language, is_lower: bool
) -> bool:
    """Return whether a sentence that begins at ``start`` ends at a match."""
    following = line[match.end() : match.end() + 80].lstrip(_OPENING)
    is_begun = not following[:1].islower() or (is_lower and match["stop"] in ".!?")
    if not following or not is_begun:
        return False
    is_end = match["stop"] != "." or not _is_short(line, start, match, following, language)
    return is_end and _is_balanced(line, start, match, end)


def _is_short(
    line: str, start: int, match: re.Match[str], following: str, language: Language
) -> bool:
    """Return whether a full stop is that of an abbreviation."""
    word = _LAST_WORD.search(line, max(start, match.start() - 40), match.start())
    last = word[0].casefold() if word else ""
    if last in language.abbreviations or (last in language.numbered and _NUMBER.match(following)):
        return True
    # Initials and abbreviations with inner full stops: J. Silva, U.S., a.m.
    is_initial = len(last) == 1 and last.isalpha() and word is not None and word[0].isupper()
    return is_initial or bool(re.fullmatch(r"(?:\w{1,2}\.)+\w{1,2}", last))


def _is_balanced(line: str, start: int, match: re.Match[str], end: int) -> bool:
    """Return whether no bracket or quotation is open that is closed within a later sentence."""
    text = line[max(start, match.start() - _MAX_INNER) : match.end("close")]
    for opening, closing in _PAIRS.items():
        if text.count(opening) > text.count(closing) and not text.startswith(opening):
            return closing not in line[match.end() : min(end, match.end() + _MAX_INNER)]
    is_odd = text.count('"') % 2 == 1 and not text.startswith('"')
    return not is_odd or '"' not in line[match.end() : min(end, match.end() + _MAX_INNER)]


def clauses(text: str) -> list[Span]:
    """Return the spans of the clauses of a text, which commas and the like end."""
    gaps = [(0, 0), *(gap.span() for gap in _CLAUSE.finditer(text)), (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(gaps)]


def cut(line: str, start: int, end: int, is_short: Callable[[int, int], bool]) -> Iterator[Span]:
    """Cut a part of a line into short ones: between clauses near its middle, or else between words,
    or anywhere."""
    waiting = [(start, end)]
    while waiting:
        start, end = waiting.pop()
        if end - start < 2 or is_short(start, end):
            yield start, end
            continue
        middle, size = (start + end) / 2, end - start
        for pattern, share in ((_CLAUSE, 0.3), (_SPACE, 0.5)):
            gaps = [gap.span() for gap in pattern.finditer(line, start + 1, end - 1)]
            gap = min(gaps, key=lambda gap: abs(gap[0] - middle), default=None)
            if gap and abs(gap[0] - middle) <= share * size:
                break
        else:
            gap = int(middle), int(middle)
        waiting += [(gap[1], end), (start, gap[0])]


def without_edges(line: str, start: int, end: int) -> Span:
    """Return a span without white space at its edges, opening signs at its start, and closing ones
    at its end, whose other halves are elsewhere."""
    inner = line[start:end]
    start += len(inner) - len(inner.lstrip())
    end = start + len(inner.strip())
    while start < end and _is_half(line[start], _CLOSINGS, line[start + 1 : end]):
        start += 1
    while start < end and _is_half(line[end - 1], _OPENINGS, line[start : end - 1]):
        end -= 1
    return start, end


def _is_half(sign: str, others: dict[str, str], rest: str) -> bool:
    return sign in others and others[sign] not in rest
