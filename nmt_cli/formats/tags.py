"""The tags of HTML and XML: a tokenizer that loses no byte and resolves no entity."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.parsers import expat

from nmt_cli.errors import InputError
from nmt_cli.formats.spans import match_tags

_VOID = frozenset((
    "area", "base", "br", "col", "command", "embed", "hr", "img", "input", "keygen", "link",
    "meta", "param", "source", "track", "wbr",
))  # fmt: skip
RAW = frozenset(("iframe", "noembed", "noframes", "script", "style", "textarea", "xmp"))
# As browsers read it: a quote in a tag counts only after "=". The last alternative is a tag,
# comment or instruction that never ends.
_TOKEN = re.compile(
    r"""<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<%.*?%>|<\?.{0,5000}?\?>|<\?[^>]*+>
    |<![^>\[]*+(?:\[[^\]]*+\])?+[^>]*+>
    |<(?P<end>/?)(?P<name>[A-Za-z_][^\s/>]*+)(?:=\s*+(?:"[^"]*+"|'[^']*+')|[^>])*+>
    |<[A-Za-z_/!?%].*""",
    re.DOTALL | re.VERBOSE,
)
NOT_TRANSLATED = re.compile(
    r"""\stranslate\s*=\s*["']?no\b
    |\sclass\s*=\s*(?:[^\s"'>]*|"[^"]*|'[^']*)(?<![\w-])notranslate(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Tags:
    """How to translate elements of HTML or XML, by their names.

    Attributes:
        untouched: their content stays.
        splitting: they separate texts.
        non_splitting: they never separate texts.
        outline: whether any others separate texts.
    """

    untouched: Collection[str] = ()
    splitting: Collection[str] = ()
    non_splitting: Collection[str] = ()
    outline: bool = True

    def splits(self, name: str) -> bool | None:
        """Whether elements of a name separate texts; None if that depends on what is in them."""
        if name in self.non_splitting or not (self.outline or name in self.splitting):
            return False
        return True if name in self.splitting else None


class Token(NamedTuple):
    """Text, a tag, or a comment or the like, which is void and has no name.

    Attributes:
        stays: the content of the element is not translated.
    """

    start: int
    end: int
    name: str = ""
    is_text: bool = False
    is_void: bool = False
    closes: bool = False
    stays: bool = False


def tokens_of(text: str, untouched: Collection[str] = (), xml: bool = True) -> list[Token]:
    """Split a document into text and tags; the content of ``untouched`` elements stays.

    Names of XML are case-sensitive; of HTML, they are in lower case.
    """
    tokens, position, text_start = list[Token](), 0, 0
    while match := _TOKEN.search(text, position):
        if text_start < match.start():
            tokens.append(Token(text_start, match.start(), is_text=True))
        name, closes = match["name"] or "", bool(match["end"])
        name = name if xml else name.lower()
        is_void = not name or text.endswith("/>", *match.span()) or (not xml and name in _VOID)
        stays = name in untouched or bool(NOT_TRANSLATED.search(match[0]))
        stays = stays and not is_void and not closes
        tokens.append(Token(*match.span(), name, False, is_void, closes, stays))
        position = text_start = match.end()
        if name in RAW and not (xml or closes or is_void):
            end_tag = re.compile(rf"</{name}(?=[\s/>])|\Z", re.IGNORECASE).search(text, position)
            position = end_tag.start() if end_tag else position
    if text_start < len(text):
        tokens.append(Token(text_start, len(text), is_text=True))
    return tokens


def matches_of(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the number of each start tag's end tag, and the reverse."""
    return match_tags(
        (number, token.name, token.closes)
        for number, token in enumerate(tokens)
        if not token.is_text and not token.is_void
    )


def check_xml(text: str, name: str) -> None:
    """Raise InputError, with file and line, unless a document is well-formed XML."""
    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError as error:
        reason = f"{name}, line {error.lineno}: not well-formed XML"
        raise InputError(reason, expat.errors.messages[error.code]) from None
