"""PO files of gettext: messages without a translation get one, everything else stays.

Only an empty ``msgstr`` and a flag are written; comments, the header, obsolete entries, line
wrapping and order stay byte for byte.

New translations are marked ``fuzzy``, as gettext's own tools do for what nobody has reviewed:
editors list them, and ``msgfmt`` omits them without ``--use-fuzzy``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nmt_cli.errors import InputError
from nmt_cli.formats.messages import placeholders_finder, translate_messages
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment
from nmt_cli.formats.spans import Interval, replaced
from nmt_cli.formats.values import Escapes

_STRING = r'"((?:[^"\\\n]|\\.)*+)"'
_TOKEN = re.compile(
    rf"\s+|(\#.*)|(msgctxt|msgid(?:_plural)?|msgstr(?:\[\d+\])?)((?:\s*{_STRING})++)|(?P<bad>\S)"
)
_MAX_LINE = 78  # columns, as gettext's tools write it
_WRAPPED = re.compile(r".{1,76}\Z|.{0,75} |[^ ]+ ?", re.DOTALL)
# A line that these tools would have wrapped, without --no-wrap.
_UNWRAPPED = re.compile(r'^(?=.{82})[^"#\n]*"[^ \n]{1,70} [^ ]', re.MULTILINE)
_ODD_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*\\[^\\ntrvbf"]')
_ESCAPES = Escapes('\\"')


@dataclass
class _Entry:
    """A message, or the header: its tokens, of which fields have a keyword, and its line."""

    line: int
    comments: list[re.Match[str]]
    fields: dict[str, re.Match[str]] = field(default_factory=dict)

    def text(self, keyword: str) -> str:
        """Return the text of a field as in the file; nothing without the field."""
        token = self.fields.get(keyword)
        return "".join(re.findall(_STRING, token[3])) if token else ""

    def flags(self) -> list[str]:
        """Return flags such as ``c-format``."""
        lines = [comment[1] for comment in self.comments if comment[1].startswith("#,")]
        return re.findall(r"[\w-]+", " ".join(lines))

    def messages(self) -> Iterator[tuple[str, Segment]]:
        """Find the empty translations: their keywords, and their sources as in the file."""
        singular, plural = self.text("msgid"), self.text("msgid_plural")
        if not singular or _ODD_ESCAPE.search(f"{singular} {plural}"):
            return
        formats = {flag for flag in self.flags() if re.fullmatch("(?!no-).*-format", flag)}
        qt = bool(formats & {"qt-format", "qt-plural-format", "kde-format"})
        find = placeholders_finder(bool(formats) and not qt, qt)
        for keyword in self.fields:
            if keyword.startswith("msgstr") and not self.text(keyword):
                is_singular = keyword == "msgstr[0]" and "msgstr[1]" in self.fields
                source = singular if is_singular else plural or singular
                yield keyword, Segment(source, find, f"line {self.line}")

    def fuzzy(self, line_end: str) -> tuple[Interval, str]:
        """Return the edit that adds the flag."""
        starts = {comment[1][:2]: comment.start() for comment in reversed(self.comments)}
        if "#," in starts:
            return (starts["#,"] + 2, starts["#,"] + 2), " fuzzy,"
        start = starts.get("#|", next(iter(self.fields.values())).start())
        return (start, start), f"#, fuzzy{line_end}"


def translate_po(text: str, name: str, translate: Translate) -> str:
    r"""Fill the empty translations of a PO file and mark them fuzzy.

    ``msgstr[0]`` gets the translation of the singular, and other plural forms that of the plural;
    so does the only form of a language with one. Messages keep their line breaks. A message with
    an unusual escape (``\a``, ``\x41``) is left as it is.
    """
    gaps = [(entry, *gap) for entry in _entries(text, name) for gap in entry.messages()]
    messages = [replace(raw, text=_ESCAPES.decoded(raw.text)) for _, _, raw in gaps]
    line_end, wraps = "\r\n" if "\r\n" in text else "\n", not _UNWRAPPED.search(text)
    edits = dict(entry.fuzzy(line_end) for entry, *_ in gaps if "fuzzy" not in entry.flags())
    results = translate_messages(messages, translate)
    for (entry, keyword, raw), result in zip(gaps, results, strict=True):
        pieces = re.findall(r"[^\n]*\n|[^\n]+", result)
        rows = [_ESCAPES.encoded(raw.text, piece) for piece in pieces]
        is_long = len(rows) > 1 or (wraps and len(f'{keyword} "{rows[0]}"') > _MAX_LINE)
        if wraps:
            rows = [row for piece in rows for row in _WRAPPED.findall(piece)]
        strings = (f'"{row}"' for row in ["", *rows][not is_long :])
        edits[entry.fields[keyword].span(3)] = " " + line_end.join(strings)
    return replaced(text, 0, len(text), sorted(edits.items()))


def _entries(text: str, name: str) -> list[_Entry]:
    """Read the header and the messages that are not obsolete."""
    entries, comments, line = list[_Entry](), list[re.Match[str]](), 1
    for token in _TOKEN.finditer(text):
        keyword = token[2]
        if keyword in ("msgctxt", "msgid") and (not entries or "msgid" in entries[-1].fields):
            entries.append(_Entry(line, comments))
            comments = []
        if token["bad"] or (keyword and (not entries or keyword in entries[-1].fields)):
            reason = f"{name}, line {line}: not the syntax of a PO file"
            raise InputError(reason, "msgfmt --check shows what is wrong with it")
        if keyword:
            entries[-1].fields[keyword] = token
        elif token[1]:
            comments = [] if token[1].startswith("#~") else comments
            comments.append(token)
        line += token[0].count("\n")
    for entry in entries:
        if not any(keyword.startswith("msgstr") for keyword in entry.fields):
            reason = f"{name}, line {entry.line}: a msgid without msgstr"
            raise InputError(reason, "complete the entry")
        charset = re.search(r"(?i)charset=(?!utf-?8\b|charset\b)([\w.:-]+)", entry.text("msgstr"))
        if charset and not entry.text("msgid"):
            reason = f"{name}: its header says charset={charset[1]}, and translations need UTF-8"
            raise InputError(reason, "convert the file with msgconv --to-code=UTF-8")
    return entries
