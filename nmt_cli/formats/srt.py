"""SRT subtitles: the words change; numbers, times, positions, tags and line counts stay.

A translation that would be read as a time line is replaced by its source.
"""

import re
from itertools import pairwise

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.spans import Interval
from nmt_cli.formats.subtitles import cue_finder, translate_cues

find_spans = cue_finder(r"\{[A-Za-z]:[^{}]*\}")

_DATE = r"\d{1,9}[,.:，．。：]\d{1,9}[,.:，．。：]\d{1,9}(?!\d)"  # or the time without milliseconds
_TIME = rf"[^\S\n]*{_DATE}(?:[,.:，．。：]\d*)?[^\S\n]*"
_HEAD = re.compile(rf"(?m)^(?:[^\S\n]*[\d.-]{{1,9}}[^\S\n]*\n)?{_TIME}-[ -] *>{_TIME}.*(?:\n|\Z)")
# A damaged time line, by itself, or what some programs read as one: a date after an empty line.
_DAMAGED = re.compile(
    r"\d{1,20}[,.:，．。：]\d{1,20}\S{0,20}[ \t]{0,20}-{1,9}[ \t]{0,20}>"
    rf"|(?<=\n)\r?\n[^\S\n]*(?:\d+[^\S\n]*\n[^\n]*\S|(?:\d+[^\S\n]*\n)?{_DATE})"
)


def translate_srt(text: str, name: str, translate: Translate) -> str:
    """Translate the subtitles of a file."""
    return translate_cues(text, _contents(text, name), find_spans, translate, _DAMAGED.pattern)


def _contents(text: str, name: str) -> list[Interval]:
    """Find the text of each subtitle; raise InputError with the line of what is none."""
    contents, heads = list[Interval](), [match.span() for match in _HEAD.finditer(text)]
    bad = None if not text[: heads[0][0] if heads else None].strip() else 0
    for (_, start), (end, _) in pairwise([*heads, (len(text), 0)]):
        content = text[start:end].rstrip("\r\n")
        contents.append((start, start + len(content)))
        if bad is None and (damaged := _DAMAGED.search(content)):
            bad = start + damaged.end() - 1
    if bad is not None:
        bad += len(text[bad:]) - len(text[bad:].lstrip())
        line = text.count("\n", 0, bad) + 1
        hint = "each is a number, a time line (00:00:01,000 --> 00:00:02,000), text, an empty line"
        raise InputError(f"{name}, line {line}: not a subtitle", hint)
    return contents
