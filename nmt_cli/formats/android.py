"""Android's string resources: strings, arrays and plurals are translated; all else stays.

Not translated are ``translatable="false"``, ``xliff:g`` and references such as ``@string/name``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from nmt_cli.formats.inline import InlineText
from nmt_cli.formats.messages import placeholders_finder
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.spans import Kind
from nmt_cli.formats.tags import Token, check_xml, matches_of, tokens_of
from nmt_cli.formats.values import Escapes, Value, translate_values

_STAYS = re.compile(r"""\stranslat(?:e|able)\s*=\s*["'](?:false|no)|<item\b[^>]*\sname\s*=""")
_OUTER = ("resources", "string-array", "plurals")
_CONTENT = re.compile(
    r"""\s*+(?:<!\[CDATA\[(?P<cdata>(?:(?!]]>).)*+)]]>|"(?P<quoted>[^"]*+)"|(?P<plain>(?:\s*+\S++)*+))\s*\Z""",
    re.DOTALL,
)
_TAG = re.compile("<[^<>]*>")


def translate_android(text: str, name: str, translate: Translate) -> str:
    """Translate the strings of a resource file."""
    check_xml(text, name)
    return translate_values(text, _strings(text, tokens_of(text)), translate)


def _strings(text: str, tokens: Sequence[Token]) -> Iterator[Value]:
    matches, until = matches_of(tokens), 0
    for number, token in enumerate(tokens):
        last = matches.get(number, number)
        stays = _STAYS.search(text, token.start, token.end)
        if number >= until and last > number and (stays or token.name not in _OUTER):
            until = last
            content = _CONTENT.match(text, token.end, tokens[last].start)
            if content and not stays and token.name in ("string", "item"):
                yield _string(content, tokens[number + 1 : last])


def _string(content: re.Match[str], tokens: Sequence[Token]) -> Value:
    """Return the words and the markup of an element."""
    kind = str(content.lastgroup)
    text, (start, end) = content.string, content.span(kind)
    escapes = Escapes("\\'\"@?", is_xml=kind != "cdata")
    source = content[kind] if kind == "cdata" else _TAG.sub("", content[kind])
    inline, matches, until = InlineText(partial(escapes.encoded, source)), matches_of(tokens), 0
    for number, token in enumerate(tokens):
        match = matches.get(number, number)
        raw = text[max(token.start, start) : min(token.end, end)]
        if number < until:
            continue
        if token.is_text or kind == "cdata":
            words = raw if kind == "quoted" else re.sub(r"\s+", " ", raw)
            inline.add_words(raw, escapes.decoded(words))
        elif token.name == "xliff:g" and match > number:
            raw, until = text[token.start : tokens[match].end], match + 1
            inline.add_element(raw, escapes.decoded(_TAG.sub("", raw)))
        else:
            moves = Kind.OPEN if match > number else Kind.CLOSE if match < number else Kind.MARK
            inline.add_markup(raw, moves)
    segment = inline.segment(placeholders_finder())
    return Value(start, end, segment.text, inline.written, segment.find)
