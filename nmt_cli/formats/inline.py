"""Inline markup: text in which each tag is one private character.

So entities can be decoded for the model, nothing in the text can be mistaken for a tag, and a
translation is checked and written back in the same way for each format.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nmt_cli.formats import spans
from nmt_cli.formats.segments import Segment
from nmt_cli.formats.spans import Finder, Kind, Span, replaced
from nmt_cli.text.kept import ADDRESSES, TEMPLATES

# Characters in place of tags.
_FIRST_TAG, _LAST_TAG = "\U00100000", "\U0010fffd"
_T = f"[{_FIRST_TAG}-{_LAST_TAG}]"
_TAG = re.compile(_T)
_MAX_TAGS = ord(_LAST_TAG) - ord(_FIRST_TAG)

# Addresses and templates, of which all formats keep every character.
find_in_text = spans.spans_finder(free=[*ADDRESSES, *TEMPLATES])

# Subscripts and superscripts with what they touch (H2O, 10^6, km^2, x_i), for their start tags and
# all end tags. Beside longer words and numbers they are marks: Recife^1, 1995^2.
_SHORT = r"\d{0,3}(?:[kcdmµ]m|[A-Z]?[A-Za-zΑ-ω])?"
_FORMULA = (
    rf"(?<!\w)(?<!\d[.,])(?=\w|.\d+.\w){_SHORT}"
    rf"(?:[%s](?:[-+−–\d/.,]{{1,5}}|(?<!\d.)[^\W\d_]{{1,3}})[%s]{_SHORT})+(?!\w)"
)

# A part of a document, and the kind of markup; None for words.
_Piece = tuple[str, Kind | None]


class _Tag(NamedTuple):
    """The markup that a private character replaces.

    Attributes:
        until: the character that ends an element that stays.
        is_script: whether it is the start tag of a subscript or superscript.
    """

    kind: Kind
    pieces: tuple[_Piece, ...]
    until: str = ""
    is_script: bool = False


@dataclass
class InlineText:
    """A text that is put together from words and markup, translated, and written back.

    Elements without letters become marks beside the words, unless they hold a number of the
    sentence. Formulas and units with subscripts or superscripts stay as they are. So does a text
    with more tags than there are private characters.

    Attributes:
        escape: turns words of a translation into source text of the document.
    """

    escape: Callable[[str], str]
    _raw: list[str] = field(default_factory=list)
    _shown: list[str] = field(default_factory=list)
    _tags: dict[str, _Tag] = field(default_factory=dict)

    def add_words(self, raw: str, words: str) -> None:
        """Add words as the document has them, and as the model reads them: decoded."""
        self._raw.append(raw)
        self._shown.append(_TAG.sub(lambda match: self._tag(Kind.MARK, [(match[0], None)]), words))

    def add_markup(self, raw: str, kind: Kind, is_script: bool = False) -> None:
        """Add a tag, or an element that the model does not see."""
        self._raw.append(raw)
        self._shown.append(self._tag(kind, [(raw, kind)], is_script=is_script))

    def add_element(self, raw: str, words: str) -> None:
        """Add an element that stays as it is, which may move; the model reads its ``words``."""
        self._raw.append(raw)
        self._shown.append(self._element([(raw, Kind.FREE)], words))

    @cached_property
    def text(self) -> str:
        """What is to be translated."""
        text = "".join(self._shown)
        if scripts := "".join(tag for tag in self._tags if self._tags[tag].is_script):
            closing = "".join(tag for tag in self._tags if self._tags[tag].kind is Kind.CLOSE)
            text = re.sub(_FORMULA % (scripts, closing), self._formula, text)
        marks = spans.marks_of(text, _finder(self._tags)(text))
        edits = [(mark, self._tag(Kind.MARK, self.pieces(text[slice(*mark)]))) for mark in marks]
        text = replaced(text, 0, len(text), edits)
        return "" if len(self._tags) >= _MAX_TAGS else text

    def segment(self, find: Finder = find_in_text, where: str = "") -> Segment:
        """Return what is to be translated; ``find`` finds spans in text without markup."""
        return Segment(self.text, _finder(self._tags, find), where)

    def written(self, result: str) -> str:
        """Return the source text of the translation of the segment: markup is put back."""
        if result == self.text:
            return "".join(self._raw)
        return "".join(piece for piece, _ in self.pieces(result))

    def pieces(self, result: str) -> Iterator[_Piece]:
        """Split a translation into escaped words and the raw markup between them."""
        done = 0
        for match in _TAG.finditer(result):
            if match.start() >= done:
                tag = self._tags[match[0]]
                yield self.escape(result[done : match.start()]), None
                yield from tag.pieces
                done = result.index(tag.until, match.end()) + 1 if tag.until else match.end()
        yield self.escape(result[done:]), None

    def _tag(
        self, kind: Kind, pieces: Iterable[_Piece], until: str = "", is_script: bool = False
    ) -> str:
        character = chr(ord(_FIRST_TAG) + min(len(self._tags), _MAX_TAGS))
        self._tags[character] = _Tag(kind, tuple(pieces), until, is_script)
        return character

    def _element(self, pieces: Iterable[_Piece], words: str) -> str:
        words = _TAG.sub("", words)
        if not words:
            return self._tag(Kind.MARK, pieces)
        close = self._tag(Kind.CLOSE, [])
        return self._tag(Kind.OPEN, pieces, until=close) + words + close

    def _formula(self, match: re.Match[str]) -> str:
        return self._element(list(self.pieces(match[0])), match[0])


def _finder(tags: Mapping[str, _Tag], find_in_words: Finder = lambda text: []) -> Finder:
    def find(text: str) -> list[Span]:
        found, done = list[Span](), 0
        for match in _TAG.finditer(text):
            start, end = match.span()
            if start < done:
                continue
            tag = tags.get(match[0], _Tag(Kind.FIXED, ()))
            found += [span.shifted(done) for span in find_in_words(text[done:start])]
            found.append(Span(start, end, tag.kind))
            done = end
            if tag.until and (close := text.find(tag.until, end)) > end:
                found.append(Span(end, close, Kind.FREE))
                done = close
        return found + [span.shifted(done) for span in find_in_words(text[done:])]

    return find
