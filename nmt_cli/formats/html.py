"""HTML and XML: text is translated; tags, attributes, comments and code stay byte for byte.

Elements of blocks separate texts. Inside a text, a tag is one private character, so that entities
can be decoded for the model and nothing in the text can be mistaken for a tag. A text that does
not change keeps its bytes.

Not translated are attributes, ``translate="no"``, ``class="notranslate"``, code, scripts, styles
and what follows a tag that never ends. CDATA sections are not text either.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import NamedTuple

from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.formats.spans import Finder, Interval, Kind, Span, match_tags

# A comment or the like has no name.
_INLINE = frozenset((
    "", "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em",
    "font", "i", "img", "input", "ins", "label", "mark", "q", "rb", "rp", "rt", "ruby", "s",
    "slot", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "wbr",
))  # fmt: skip
_VOID = frozenset((
    "area", "base", "br", "col", "command", "embed", "hr", "img", "input", "keygen", "link",
    "meta", "param", "source", "track", "wbr",
))  # fmt: skip
_RAW = frozenset(("iframe", "noembed", "noframes", "script", "style", "textarea", "xmp"))
_UNTOUCHED = _RAW | frozenset(("code", "kbd", "math", "pre", "samp", "svg", "var"))
_UNTOUCHED_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
    "h4", "h5", "h6", "head", "header", "html", "iframe", "legend", "li", "main", "nav", "noembed",
    "noframes", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "td",
    "textarea", "tfoot", "th", "thead", "title", "tr", "ul", "xmp",
))  # fmt: skip

# As browsers read it: a quote in a tag counts only after "=". The last alternative is a tag,
# comment or instruction that never ends.
_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<%.*?%>|<\?.*?\?>|<\?[^>]*+>
    |<![^>\[]*+(?:\[[^\]]*+\])?+[^>]*+>
    |<(?P<end>/?)(?P<name>[A-Za-z_][^\s/>]*+)(?:=\s*+(?:"[^"]*+"|'[^']*+')|[^>])*+>
    |<[A-Za-z_/!?%].*""",
    re.DOTALL | re.VERBOSE,
)
_NOT_TRANSLATED = re.compile(
    r"""\stranslate\s*=\s*["']?no\b
    |\sclass\s*=\s*(?:[^\s"'>]*|"[^"]*|'[^']*)(?<![\w-])notranslate(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)
_WHITE = " \t\r\n\f"
_SPACES = re.compile(f"[{_WHITE}]+")

# Characters in place of tags. A text that already has one is not translated.
_FIRST_TAG, _LAST_TAG = "\U00100000", "\U0010fffd"
_TAG = re.compile(f"[{_FIRST_TAG}-{_LAST_TAG}]")
_MAX_TAGS = 65_000
_find_in_text = spans.spans_finder(free=[*spans.ADDRESSES, *spans.TEMPLATES])


@dataclass(frozen=True)
class _Token:
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


class _Tag(NamedTuple):
    """The markup that a private character replaces; ``until`` ends an untouched element."""

    raw: str
    kind: Kind
    until: str = ""


# A part of a document that is translated together.
_Text = tuple[Interval, Segment, Mapping[str, _Tag]]


def translate_html(
    text: str, name: str, translate: Translate, untouched: Collection[str] = ()
) -> str:
    """Translate an HTML document or fragment; any text is HTML, so the ``name`` is not used."""
    names = _UNTOUCHED | {element.lower() for element in untouched}
    return _translated(text, translate, names, xml=False)


def translate_xml(
    text: str, name: str, translate: Translate, untouched: Collection[str] = ()
) -> str:
    """Translate XML: names are case-sensitive, and elements with text beside them separate none."""
    return _translated(text, translate, frozenset(untouched), xml=True)


def _translated(text: str, translate: Translate, untouched: Collection[str], xml: bool) -> str:
    tokens = list(_tokens(text, untouched, xml))
    matches = match_tags(
        (number, token.name, token.closes)
        for number, token in enumerate(tokens)
        if not token.is_text and not token.is_void
    )
    inline = _mixed(text, tokens, matches) if xml else _in_lines(tokens)
    texts = list(_texts(text, tokens, matches, inline))
    results = translate_segments([segment for _, segment, _ in texts], translate)
    edits = (
        (interval, _written(result, tags, xml))
        for (interval, segment, tags), result in zip(texts, results, strict=True)
        if result != segment.text
    )
    return spans.replaced(text, 0, len(text), edits)


def _tokens(text: str, untouched: Collection[str], xml: bool) -> Iterator[_Token]:
    position = text_start = 0
    while match := _TOKEN.search(text, position):
        if text_start < match.start():
            yield _Token(text_start, match.start(), is_text=True)
        name, closes = match["name"] or "", bool(match["end"])
        name = name if xml else name.lower()
        is_void = not name or text.endswith("/>", *match.span()) or (not xml and name in _VOID)
        stays = name in untouched or bool(_NOT_TRANSLATED.search(match[0]))
        stays = stays and not is_void and not closes
        yield _Token(*match.span(), name, False, is_void, closes, stays)
        position = text_start = match.end()
        if name in _RAW and not xml and not closes:
            end_tag = re.compile(rf"</{name}(?=[\s/>])|\Z", re.IGNORECASE).search(text, position)
            position = end_tag.start() if end_tag else position
    if text_start < len(text):
        yield _Token(text_start, len(text), is_text=True)


def _in_lines(tokens: Sequence[_Token]) -> set[int]:
    """Return the numbers of the tags of HTML that do not separate texts."""
    return {
        number
        for number, token in enumerate(tokens)
        if not token.is_text
        and (token.name in _INLINE or (token.stays and token.name not in _UNTOUCHED_BLOCKS))
    }


def _mixed(text: str, tokens: Sequence[_Token], matches: Mapping[int, int]) -> set[int]:
    """Return the numbers of the tags that have text beside them, in the same element."""
    inline: set[int] = set()
    levels: list[tuple[list[int], bool]] = [([], False)]
    for number, token in enumerate(tokens):
        if token.is_text:
            tags, has_text = levels[-1]
            levels[-1] = (tags, has_text or bool(text[token.start : token.end].strip()))
            continue
        if matches.get(number, number) < number:
            tags, has_text = levels.pop()
            inline.update(tags if has_text else ())
        levels[-1][0].append(number)
        if matches.get(number, number) > number:
            levels.append(([], False))
    for tags, has_text in levels:
        inline.update(tags if has_text else ())
    return inline


def _texts(
    text: str, tokens: Sequence[_Token], matches: Mapping[int, int], inline: Collection[int]
) -> Iterator[_Text]:
    """Find the texts between blocks."""
    parts: list[tuple[int, int]] = []  # numbers of tokens: first and last
    number = 0
    while number < len(tokens):
        token = tokens[number]
        last = matches.get(number, number) if token.stays else number
        while (  # without an end tag, an element that stays ends before the next block
            token.stays
            and number not in matches
            and last + 1 < len(tokens)
            and (tokens[last + 1].is_text or last + 1 in inline)
        ):
            last += 1
        if token.is_text or number in inline:
            parts.append((number, last))
        else:
            yield from _text(text, tokens, matches, parts)
            parts = []
        number = last + 1
    yield from _text(text, tokens, matches, parts)


def _text(
    text: str,
    tokens: Sequence[_Token],
    matches: Mapping[int, int],
    parts: Sequence[tuple[int, int]],
) -> Iterator[_Text]:
    """Make one text of parts, unless there is nothing to translate."""
    if not any(tokens[first].is_text for first, _ in parts):
        return
    start, end = tokens[parts[0][0]].start, tokens[parts[-1][1]].end
    start += len(text[start:end]) - len(text[start:end].lstrip(_WHITE))
    end = start + len(text[start:end].rstrip(_WHITE))
    tags: dict[str, _Tag] = {}
    shown = ""
    for first, last in parts:
        token = tokens[first]
        raw = text[max(token.start, start) : min(tokens[last].end, end)]
        if token.is_text:
            if _TAG.search(unescape(raw)) or len(tags) > _MAX_TAGS:
                return
            shown += _SPACES.sub(" ", unescape(raw))
            continue
        tag, until = chr(ord(_FIRST_TAG) + len(tags)), chr(ord(_FIRST_TAG) + len(tags) + 1)
        words = _words(text, tokens[first + 1 : last]) if token.name not in _RAW else ""
        shown += tag
        if words:  # an element that stays
            tags |= {tag: _Tag(raw, Kind.OPEN, until), until: _Tag("", Kind.CLOSE)}
            shown += words + until
        elif last > first or (token.is_void and token.name != "br"):
            tags[tag] = _Tag(raw, Kind.MARK)
        elif parts[0][0] <= matches.get(first, -1) <= parts[-1][0]:
            tags[tag] = _Tag(raw, Kind.CLOSE if token.closes else Kind.OPEN)
        else:  # a line break, or a tag whose match is not in this text
            tags[tag] = _Tag(raw, Kind.BREAK)
    yield (start, end), Segment(shown, _finder(tags)), tags


def _words(text: str, tokens: Sequence[_Token]) -> str:
    """Return the words of an element that stays, for the model to read."""
    words = "".join(unescape(text[token.start : token.end]) for token in tokens if token.is_text)
    return _TAG.sub("", _SPACES.sub(" ", words)).strip()


def _finder(tags: Mapping[str, _Tag]) -> Finder:
    def find(text: str) -> list[Span]:
        found, done = list[Span](), 0
        for match in _TAG.finditer(text):
            start, end = match.span()
            if start < done:
                continue
            tag = tags.get(match[0], _Tag("", Kind.FIXED))
            found += [span.shifted(done) for span in _find_in_text(text[done:start])]
            found.append(Span(start, end, tag.kind))
            done = end
            if tag.until and (close := text.find(tag.until, end)) > end:
                found.append(Span(end, close, Kind.FREE))
                done = close
        return found + [span.shifted(done) for span in _find_in_text(text[done:])]

    return find


def _written(result: str, tags: Mapping[str, _Tag], xml: bool) -> str:
    """Put tags and entities back into a translation."""
    parts, done = [], 0
    for match in _TAG.finditer(result):
        if match.start() >= done:
            tag = tags[match[0]]
            parts += [_escaped(result[done : match.start()], xml), tag.raw]
            done = result.index(tag.until, match.end()) + 1 if tag.until else match.end()
    return "".join([*parts, _escaped(result[done:], xml)])


def _escaped(text: str, xml: bool) -> str:
    return escape(text, quote=False).replace("\xa0", "&#160;" if xml else "&nbsp;")
