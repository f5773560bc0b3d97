"""WebVTT subtitles: the text of cues changes; notes, styles, regions, times and voices stay."""

import re
from collections.abc import Iterator

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.spans import Interval
from nmt_cli.formats.subtitles import cue_finder, translate_cues

find_spans = cue_finder()

_END = r"(?:\r\n?|\n|\Z)"
_BLOCK = re.compile(rf"(?:[^\r\n]+{_END})+")
_TIME = r"(?:\d+:)?\d\d:\d\d\.\d{3}"
_CUE_HEAD = re.compile(
    rf"(?<![^\r\n])(?:(?![^\r\n]*-->)[^\r\n]+{_END})?"
    rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t][^\r\n]*)?{_END}"
)
_WITHOUT_TEXT = re.compile(r"(?:NOTE|STYLE|REGION)(?!\S)")


def translate_webvtt(text: str, name: str, translate: Translate) -> str:
    """Translate the cues of a file."""
    return translate_cues(text, list(_contents(text, name)), find_spans, translate, "-->")


def _contents(text: str, name: str) -> Iterator[Interval]:
    """Find the text of each cue; raise InputError with the line of what is none."""
    for block in _BLOCK.finditer(text if text.strip() else ""):
        start, end = block.span()
        head = _CUE_HEAD.match(text, start, end)
        is_header = start == 0 and re.match(r"WEBVTT(?!\S)", text)
        if start == 0 and not is_header:
            raise InputError(f"{name}, line 1: not WebVTT", "its first line must be WEBVTT")
        if head and "-->" not in text[head.end() : end]:
            yield head.end(), head.end() + len(text[head.end() : end].rstrip("\r\n"))
        elif "-->" in block[0] or not (is_header or _WITHOUT_TEXT.match(block[0])):
            line = len(re.findall(r"\r\n?|\n", text[:start])) + 1
            hint = "each is a time line (00:01.000 --> 00:02.000), text and an empty line"
            raise InputError(f"{name}, line {line}: not a cue", hint)
