"""Values of files of keys and values: which are text, and how translations are written.

Only the spans of translated values change in a document. Characters keep the escapes that they have
in the source of a value.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from html import escape, unescape

from nmt_cli.formats.messages import placeholders_finder, translate_messages
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment
from nmt_cli.formats.spans import Finder, line_finder, replaced

_MAX_CODE = 200  # characters; the patterns of code are slow on long ones
_CODE = re.compile(
    r"""(?:\.{0,2}|~|[A-Za-z]:)[/\\]\S*|\S+[/\\]\S*\.\w{1,5}|(?:[a-z0-9_.+-]+/){2,}\S*  # paths
    |(?:application|audio|font|image|text|video)/\S+|[@?][\w:.+]*/\w+
    |\#[0-9A-Fa-f]{3,8}|(?:rgb|hsl)a?\([^()]*\)  # colors
    |(?=\S*\d)(?:[a-z0-9.:+-]+|[0-9A-Fa-f-]{6,})|\d{4}-\d\d-\d\dT\S+
    |(?=.*(?:yy|YY|MM|DD|HH|h:mm|hh:))(?:'[^']*+'|\[[^][]*+\]|[yYMdDEHhmsaAzZT\W\d])*+
    |(?![A-Z][a-z]*_[a-z]+\Z)[\w.-]*[A-Za-z0-9]_[\w.-]*|[a-z]+[A-Z]\w*  # identifiers
    |[A-Za-z][\w-]*(?:\.[A-Za-z_][\w-]*)+|[a-z]{3,}(?:-[a-z]{3,})+|[a-z]{2,3}-[A-Z]{2}
    |true|false|@?null""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Value:
    """The source text ``[start:end]`` of a value; ``write`` makes that of a translation."""

    start: int
    end: int
    text: str
    write: Callable[[str], str]
    find: Finder = field(default_factory=placeholders_finder)


def translate_values(
    document: str, values: Iterable[Value], translate: Translate, java: bool = False
) -> str:
    """Translate the values of a document that are text; they come in its order."""
    values = [value for value in values if is_text(value.text)]
    line_of = line_finder(document)
    messages = [Segment(value.text, value.find, f"line {line_of(value.start)}") for value in values]
    edits = (
        ((value.start, value.end), value.write(result))
        for value, result in zip(values, translate_messages(messages, translate, java), strict=True)
        if result != value.text
    )
    return replaced(document, 0, len(document), edits)


def is_text(text: str) -> bool:
    """Whether a value is to be read: no path, color, date, identifier or half of a character."""
    core = text.strip()
    is_code = len(core) <= _MAX_CODE and _CODE.fullmatch(core)
    return not (is_code or re.search("[\ud800-\udfff]", core))


_ESCAPE = re.compile(
    r"(?P<units>(?:\\u[dD][89abAB]..)?\\[uU][0-9A-Fa-f]{4})|\\(?P<break>\r\n|[\r\n])[ \t\f]*"
    r"|\\(?P<name>[bfnrtv])|\\?(?P<entity>&\#?\w+;)|\\(?P<sign>.)",
    re.DOTALL,
)
_NAMES = dict(zip("bfnrtv", "\b\f\n\r\t\v", strict=True))


@dataclass(frozen=True)
class Escapes:
    """How a format writes characters of values: with backslashes, and entities in XML.

    Attributes:
        special: characters that have a backslash before them.
        only_ascii: whether other characters are written by their number.
        is_xml: whether there are entities.
    """

    special: str
    only_ascii: bool = False
    is_xml: bool = False

    def value(self, match: re.Match[str], group: int) -> Value:
        """Return the value in a group of a match."""
        raw = match[group]
        return Value(*match.span(group), self.decoded(raw), partial(self.encoded, raw))

    def decoded(self, raw: str) -> str:
        """Return the text that a source text means."""
        return _ESCAPE.sub(self._decode, raw)

    def encoded(self, source: str, text: str) -> str:
        """Return a text written as the source text of its source is."""
        raw = {character for character in _ESCAPE.sub("", source) if character.isprintable()}
        known = {self._decode(match): match[0] for match in _ESCAPE.finditer(source)}

        def written(match: re.Match[str]) -> str:
            sign = match[0]
            return sign if sign in raw else known.get(sign) or self._encode(sign)

        return re.sub(r"&\w+;|.", written, text, flags=re.DOTALL)  # also unknown entities

    def _decode(self, match: re.Match[str]) -> str:
        kind = str(match.lastgroup)
        if kind == "units":
            units = bytes.fromhex(re.sub(r"\\[uU]", "", match[0]))
            return units.decode("utf-16-be", "surrogatepass")
        if kind == "entity":
            return unescape(match[kind]) if self.is_xml else match[kind]
        return "" if kind == "break" else _NAMES.get(match[0][1:], match[kind])

    def _encode(self, character: str) -> str:
        if self.only_ascii and not character.isascii():
            return re.sub("(....)", r"\\u\1", character.encode("utf-16-be").hex())
        if character in self.special:
            return "\\" + character
        return escape(character, quote=False) if self.is_xml else character
