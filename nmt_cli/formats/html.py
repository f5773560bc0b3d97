"""HTML and XML: text is translated; tags, comments and code stay byte for byte.

Elements of blocks separate texts, and so do elements side by side without text between them, such
as menus. A text that does not change keeps its bytes. Of HTML, attributes that people read are
translated too.

Not translated are ``translate="no"``, ``class="notranslate"``, code, scripts, styles and what
follows a tag that never ends. CDATA sections are not text either.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape, unescape

from nmt_cli.formats.inline import InlineText
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import translate_segments
from nmt_cli.formats.spans import Interval, Kind, line_finder, replaced
from nmt_cli.formats.tags import NOT_TRANSLATED, RAW, Tags, Token, matches_of, tokens_of

_CODE = frozenset(("code", "kbd", "math", "samp", "svg", "var"))
_UNTOUCHED = RAW | _CODE | {"pre"}
# A comment or the like has no name.
_INLINE = _CODE | frozenset((
    "", "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "mark", "q", "rb", "rp", "rt", "ruby", "s", "script", "slot",
    "small", "span", "strike", "strong", "style", "sub", "sup", "time", "tt", "u", "wbr",
))  # fmt: skip

_NO_TAGS = Tags()
_ATTRIBUTE = re.compile(r"""\s([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_READ = frozenset(("alt", "aria-label", "placeholder", "title"))
_DESCRIPTION = re.compile(
    r"""(?i)<meta\b[^>]*\s(?:name|property)\s*=\s*["']?(?:\w+:)?(?:description|title)\b"""
)

_WHITE = " \t\r\n\f"
_ENTITY = re.compile(r"(&[A-Za-z][\w.-]{0,99};)")
_SPACES = re.compile(f"[{_WHITE}]+")

# The interval of a text in the document, and the text.
_Text = tuple[Interval, InlineText]


def translate_html(text: str, name: str, translate: Translate, tags: Tags = _NO_TAGS) -> str:
    """Translate an HTML document or fragment; any text is HTML, so the ``name`` is not used."""
    groups = tags.untouched, tags.splitting, tags.non_splitting
    named, splitting, kept = ({name.lower() for name in names} for names in groups)
    tags, untouched = Tags(named, splitting, kept, tags.outline), _UNTOUCHED | named
    tokens = tokens_of(text, untouched, xml=False)
    # Attributes first: texts can have them in their tags.
    if new := _translated(text, _attributes(text, tokens), translate):
        text, tokens = new, tokens_of(new, untouched, xml=False)
    return _translated(text, _texts(text, tokens, _INLINE | named, tags), translate) or text


def translate_xml(text: str, name: str, translate: Translate, tags: Tags = _NO_TAGS) -> str:
    """Translate XML: names are case-sensitive, and elements with text beside them separate none."""
    tokens = tokens_of(text, tags.untouched)
    return _translated(text, _texts(text, tokens, None, tags), translate) or text


def _translated(text: str, texts: Iterator[_Text], translate: Translate) -> str:
    """Return a document with its texts translated; empty if there are none."""
    found = list(texts)
    line_of = line_finder(text)
    segments = [inline.segment(where=f"line {line_of(start)}") for (start, _), inline in found]
    results = zip(found, translate_segments(segments, translate), strict=True)
    edits = [(interval, inline.written(result)) for (interval, inline), result in results]
    return replaced(text, 0, len(text), edits) if edits else ""


def _attributes(text: str, tokens: Sequence[Token]) -> Iterator[_Text]:
    """Find the values of attributes that people read."""
    matches, until, escape_value = matches_of(tokens), 0, _escaping(text, quote=True)
    for number, token in enumerate(tokens):
        if number < until or token.is_text or token.closes or not token.name:
            continue
        tag = text[token.start : token.end]
        if token.stays:
            until = matches.get(number, 0)
            if token.name not in RAW or NOT_TRANSLATED.search(tag):
                continue
        for match in _ATTRIBUTE.finditer(tag):
            name, (start, end) = match[1].lower(), match.span(match.lastindex or 0)
            if name in _READ or (name == "content" and _DESCRIPTION.match(tag)):
                inline = InlineText(escape_value)
                inline.add_words(tag[start:end], unescape(tag[start:end]))
                yield (token.start + start, token.start + end), inline


def _texts(
    text: str, tokens: Sequence[Token], names: Collection[str] | None, tags: Tags
) -> Iterator[_Text]:
    """Find the texts between tags that separate them.

    ``names`` are those of elements that are part of a text if there is text beside them, unless
    ``tags`` says otherwise; None for all names.
    """
    matches, escape_words = matches_of(tokens), _escaping(text)
    inline = _inline_tags(text, tokens, matches, names, tags)
    for parts in _parts(tokens, matches, inline):
        if any(tokens[first].is_text for first, _ in parts):
            yield _text(text, tokens, matches, parts, escape_words)


def _inline_tags(
    text: str,
    tokens: Sequence[Token],
    matches: Mapping[int, int],
    names: Collection[str] | None,
    tags: Tags,
) -> set[int]:
    """Return the numbers of the tags that do not separate texts.

    Those have text beside them or beside an element around them, in their block or line, or names
    that never separate texts.
    """
    opened, number, line = [-1], -1, -1  # lines are negative, and elements are start tags
    around: dict[int, int] = {}  # the element or line that each tag is in
    inline, flowing = set[int](), set[int]()
    while (number := number + 1) < len(tokens):
        token, last = tokens[number], matches.get(number, number)
        if token.is_text:
            if any(map(str.isalpha, unescape(text[token.start : token.end]))):
                flowing.add(opened[-1])
            continue
        if token.name == "br":
            inline.add(number)
        splits = tags.splits(token.name)
        if splits is None:
            splits = token.name == "br" or not (names is None or token.name in names)
        if splits:
            line -= 1
            opened = [line]
            continue
        if last == opened[-1]:
            opened.pop()
        around[number] = opened[-1]
        if token.stays:
            number = max(number, last)
        elif last > number:
            # Programs write "<b>The </b><i>cat</i>", but not so two items of a menu.
            before = tokens[number - 1]
            if names and before.closes and around.get(number - 1) == opened[-1]:
                is_space = text[before.start - 1] in _WHITE, text[token.end] in _WHITE
                flowing.update(opened[-1:] if is_space[0] != is_space[1] else ())
            opened.append(number)
    for number, outer in around.items():
        if outer in flowing or tags.splits(tokens[number].name) is False:
            flowing.add(number)
            inline.add(number)
    return inline


def _parts(
    tokens: Sequence[Token], matches: Mapping[int, int], inline: Collection[int]
) -> Iterator[list[Interval]]:
    """Find the texts between blocks: the first and the last token of each of their parts."""
    parts: list[Interval] = []
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
            yield parts
            parts = []
        number = last + 1
    yield parts


def _text(
    text: str,
    tokens: Sequence[Token],
    matches: Mapping[int, int],
    parts: Sequence[Interval],
    escape: Callable[[str], str],
) -> _Text:
    """Make one text of parts."""
    start, end = tokens[parts[0][0]].start, tokens[parts[-1][1]].end
    start += len(text[start:end]) - len(text[start:end].lstrip(_WHITE))
    end = start + len(text[start:end].rstrip(_WHITE))
    inline = InlineText(escape)
    for first, last in parts:
        token = tokens[first]
        raw = text[max(token.start, start) : min(tokens[last].end, end)]
        if token.is_text:
            for part in _ENTITY.split(raw):
                if _ENTITY.fullmatch(part) and unescape(part) == part:  # of the document's own
                    inline.add_element(part, part[1:-1])
                else:
                    inline.add_words(part, _SPACES.sub(" ", unescape(part)))
        elif last > first and token.name not in RAW:
            inline.add_element(raw, _words(text, tokens[first + 1 : last]))
        elif last > first or (token.is_void and token.name != "br"):
            inline.add_markup(raw, Kind.MARK)
        elif parts[0][0] <= matches.get(first, -1) <= parts[-1][0]:
            is_script = not token.closes and token.name in ("sub", "sup")
            inline.add_markup(raw, Kind.CLOSE if token.closes else Kind.OPEN, is_script)
        else:  # a line break, or a tag whose match is not in this text
            inline.add_markup(raw, Kind.BREAK)
    return (start, end), inline


def _words(text: str, tokens: Sequence[Token]) -> str:
    """Return the words of an element that stays, for the model to read."""
    words = "".join(unescape(text[token.start : token.end]) for token in tokens if token.is_text)
    return _SPACES.sub(" ", words).strip()


def _escaping(document: str, quote: bool = False) -> Callable[[str], str]:
    """Return what escapes words: no-break spaces as in the document, as XML has no such name."""
    space = "&nbsp;" if "&nbsp;" in document else "&#160;"
    return lambda text: escape(text, quote).replace("\xa0", space)
