r"""ASS and SSA subtitles: the text of ``Dialogue`` lines changes, and everything else stays.

Drawings (``\p1``) and ``Comment`` lines are no text. The syllables of karaoke become words of a
translation, and their times stay in order.
"""

import re
from collections.abc import Iterator

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.spans import Interval
from nmt_cli.formats.subtitles import cue_finder, translate_cues

find_spans = cue_finder(
    r"(?<!\\)\{[^{}]*\\p[1-9][^{}]*\}(?:(?!\{[^{}]*\\p0).)*", r"(?<!\\)\{[^{}]*\}"
)

_FIELDS = 9  # before the text, if no line says which there are


def translate_ass(text: str, name: str, translate: Translate) -> str:
    """Translate the dialogue of a file."""
    return translate_cues(text, list(_contents(text, name)), find_spans, translate)


def _contents(text: str, name: str) -> Iterator[Interval]:
    """Find the text of each line of dialogue; raise InputError with the line that has none."""
    fields, in_events = _FIELDS, False
    if text.strip() and not re.search(r"(?mi)^\[Events\]", text):
        raise InputError(
            f"{name}, line 1: no section [Events]", "use the file of a subtitle editor"
        )
    for line in re.finditer(r"(?m)^[ \t]*([^\s:]+:?)([^\r\n]*)", text):
        key = line[1].lower()
        if key.startswith("["):
            in_events = key == "[events]"
        elif in_events and key == "format:":
            fields = line[2].count(",")
        elif in_events and key == "dialogue:":
            head = re.match(rf"(?:[^,\r\n]*,){{{fields}}}\s*", line[2])
            if not head:
                number = text.count("\n", 0, line.start()) + 1
                hint = f"the line `Format:` requires {fields} commas before the text"
                raise InputError(f"{name}, line {number}: Dialogue without a text", hint)
            yield line.start(2) + head.end(), line.end()
