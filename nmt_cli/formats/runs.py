"""Paragraphs of office documents: the runs of a paragraph become one text, and runs again.

The formatting of most parts of a paragraph is that of its translation; other formatting goes around
the words that had it, as an element does.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from html import escape, unescape
from itertools import count, groupby
from typing import NamedTuple

from nmt_cli.formats.inline import InlineText
from nmt_cli.formats.spans import Kind, match_tags
from nmt_cli.formats.tags import matches_of, tokens_of

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Around the number of a content in the XML around it, and before the start of a run in a tag.
_INNER, _RUN = "\0{}\0", "\1"
_INNERS = re.compile(_INNER.format(r"(\d+)"))
_SPACES = re.compile(r"[ \t\r\n]+")
# What programs add to the properties of runs that look the same.
_UNSEEN = re.compile(
    r'<w:(?:lang|noProof|rsid)\b[^>]*/>| (?:lang|altLang|dirty|err|smtClean|noProof)="[^"]*"'
)
_EMPTY = re.compile(r"<[\w:]+\s*/>|<([\w:]+)></\1>")
# Properties of subscripts and superscripts.
_SCRIPT = re.compile(r'(?:vertAlign [\w:]*val|baseline|text-position)="(?:su[bp]|-?[1-9])')
# The start and the end of a field of Word; between them are its code and what it shows.
_FIELD = re.compile(r'fldCharType="(?:(begin)|(end))"')
_STYLE_NAME = re.compile(r'style-name="([^"]*)"')
_STYLE = re.compile(r'<style:style style:name="([^"]+)"[^>]*><style:text-properties ([^>]*)/>')
# Deleted paragraphs, and what cells show of numbers, dates and formulas.
_STAYS = re.compile(
    r"<text:tracked-changes\b.*?</text:tracked-changes>"
    r'|<table:table-cell\b[^>]* (?:table:formula=|office:value-type="(?!string)).*?'
    r"</table:table-cell>",
    re.DOTALL,
)
_RSIDS = re.compile(r'(?:officeooo:[\w-]*rsid="\w*"\s*)+')


class Layout(NamedTuple):
    """The elements with text of one kind of XML, by their names without prefix.

    Attributes:
        namespace: a pattern of the end of its name.
        paragraphs: elements whose words are translated together.
        pairs: elements around some of the words.
        breaks: elements between texts, and at the edges of paragraphs.
        run: the element of words with the same properties; none if words are not in runs.
        words: the start tag of the words of a run, without prefix.
    """

    namespace: str
    paragraphs: str
    pairs: str = ""
    breaks: str = ""
    run: str = ""
    words: str = ""


@dataclass
class _Piece:
    """Words of a paragraph, or markup.

    Attributes:
        kind: of markup; None for words.
        raw: markup, with the numbers of paragraphs in it; words are decoded.
        run: the start of the run of words, with its properties; empty outside of runs.
        is_script: whether it is the start tag of a subscript or superscript.
        name: of the element of a tag; "field" for markup of a field of Word.
    """

    kind: Kind | None
    raw: str
    run: str = ""
    is_script: bool = False
    name: str = ""


class Paragraph(NamedTuple):
    """The content of a paragraph, and the start of the runs with its usual formatting."""

    raw: str
    run: str
    inline: InlineText


class Part:
    """The XML of a member, and its paragraphs, in the order of their ends."""

    def __init__(self, text: str, layout: Layout, kept: Collection[str] = ()) -> None:
        """Find the paragraphs, but not those with ``kept`` words only."""
        self.layout = layout
        self.stays = _STAYS.findall(text)
        numbers = count()
        text = _STAYS.sub(lambda match: _INNER.format(next(numbers)), text)
        prefix = re.search(rf'xmlns(?::([\w.-]+))?="[^"]*{layout.namespace}"', text)
        self.prefix = f"{prefix[1]}:" if prefix and prefix[1] else ""
        names, pairs = ([f"{self.prefix}{name}" for name in group.split()] for group in layout[1:3])
        has_any = prefix and re.search(rf"<(?:{'|'.join(names)})[\s>]", text)
        self.tokens = tokens_of(text) if has_any else []
        self.matches = matches_of(self.tokens)
        # The raw tokens; the content of a paragraph becomes its number.
        self.raw = [text[token.start : token.end] for token in self.tokens] or [text]
        self.pairs, self.breaks = set(pairs), set(layout.breaks.split())
        self.start, self.end = f"<{self.prefix}{layout.run}>", f"</{self.prefix}{layout.run}>"
        self.words = layout.words.partition(" ")[0]
        self.properties: dict[str, str] = {}  # the first of those that look the same
        self.styles = dict(_STYLE.findall(text))
        self.paragraphs = list[Paragraph]()
        intervals = (item for item in self.matches.items() if item[0] < item[1])
        for first, last in sorted(intervals, key=lambda interval: interval[1]):
            if self.tokens[first].name in names:
                self._add_paragraph(first + 1, last, kept)

    def _add_paragraph(self, first: int, last: int, kept: Collection[str]) -> None:
        pieces = list(self._pieces(first, last))
        words = [piece for piece in pieces if piece.kind is None]
        if not any(piece.raw.strip() for piece in words) or "".join(p.raw for p in words) in kept:
            return
        # As few parts of other formatting as possible, and then letters.
        runs = [(piece.run, len(piece.raw.strip())) for piece in words if piece.raw.strip()]
        parts, lengths = Counter(run for run, _ in groupby(run for run, _ in runs)), Counter[str]()
        for run, length in runs:
            lengths[run] += length
        run = max(lengths, key=lambda run: (parts[run], lengths[run]))
        inline = _inline_text(_with_pairs(pieces), run)
        number = _INNER.format(len(self.stays) + len(self.paragraphs))
        self.paragraphs.append(Paragraph("".join(self.raw[first:last]), run, inline))
        self.raw[first:last] = [number, *[""] * (last - first - 1)]

    def _pieces(self, first: int, last: int) -> Iterator[_Piece]:
        """Yield the words and the markup between two tokens."""
        run, number, unseen = "", first - 1, set[int]()
        while (number := number + 1) < last:
            token, close = self.tokens[number], self.matches.get(number, number)
            name = token.name.removeprefix(self.prefix)
            name = name if token.name == self.prefix + name else ""
            if token.is_text:
                if not self.layout.run:
                    yield _Piece(None, _SPACES.sub(" ", unescape(self.raw[number])))
            elif token.name in self.pairs and not token.is_void:
                style = _STYLE_NAME.search(self.raw[number])
                properties = self.styles.get(style[1], "") if style else ""
                if _RSIDS.fullmatch(properties):
                    unseen.add(close)
                elif number not in unseen:
                    kind = Kind.CLOSE if token.closes else Kind.OPEN
                    is_script = bool(_SCRIPT.search(properties))
                    yield _Piece(kind, self.raw[number], "", is_script, token.name)
            elif name and name == self.layout.run:
                run = "" if token.closes or token.is_void else self.start
            elif name and name == self.words:
                texts = (i for i in range(number, close) if self.tokens[i].is_text)
                yield _Piece(None, unescape("".join(self.raw[i] for i in texts)), run)
                number = close
            else:
                raw = "".join(self.raw[number : close + 1])
                if name == "rPr" and run:
                    run = self.start + self._canonical(raw)
                else:
                    kind = Kind.BREAK if name in self.breaks else Kind.MARK
                    if field := _FIELD.search(raw) if name == "fldChar" else None:
                        kind = Kind.OPEN if field[1] else Kind.CLOSE
                    is_field = name in ("fldChar", "instrText")
                    raw = run + raw + (self.end if run else "")
                    yield _Piece(kind, raw, name="field" if is_field else "")
                number = close

    def _canonical(self, properties: str) -> str:
        """Return the first properties that look the same."""
        key = _UNSEEN.sub("", properties)
        return "" if _EMPTY.fullmatch(key) else self.properties.setdefault(key, properties)

    def translated(self, results: Iterator[str]) -> str:
        """Return the XML with the translations of its paragraphs, the next of the results."""
        contents = [*self.stays]  # those of inner paragraphs come first
        for paragraph, result in zip(self.paragraphs, results, strict=False):
            content = self._written(paragraph, result)
            contents.append(_INNERS.sub(lambda match: contents[int(match[1])], content))
        return _INNERS.sub(lambda match: contents[int(match[1])], "".join(self.raw))

    def _written(self, paragraph: Paragraph, result: str) -> str:
        """Return the content of a translated paragraph."""
        if result == paragraph.inline.text:
            return paragraph.raw
        parts, runs = [], [paragraph.run]
        for raw, kind in paragraph.inline.pieces(result):
            markup, is_run, run = raw.partition(_RUN)
            if kind is None and self.words and raw:
                words = f"<{self.prefix}{self.layout.words}>{raw}</{self.prefix}{self.words}>"
                markup = runs[-1] + words + (self.end if runs[-1] else "")
            parts.append(markup)
            if kind is Kind.OPEN:
                runs.append(run if is_run else runs[-1])
            elif kind is Kind.CLOSE and len(runs) > 1:
                runs.pop()
        return "".join(parts)


def _with_pairs(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Make breaks of tags that are no pair, and one piece of a start tag and what belongs to it."""
    result = list[_Piece]()
    for piece in pieces:
        # Properties of an element and the code of a field belong to their start tag.
        is_part = piece.kind is Kind.MARK or (piece.kind is Kind.BREAK and piece.name)
        if is_part and result and result[-1].kind is Kind.OPEN:
            result[-1].raw += piece.raw
        else:
            result.append(piece)
    matches = match_tags(
        (number, piece.name, piece.kind is Kind.CLOSE)
        for number, piece in enumerate(result)
        if piece.kind in (Kind.OPEN, Kind.CLOSE)
    )
    for number, piece in enumerate(result):
        if piece.kind in (Kind.OPEN, Kind.CLOSE) and number not in matches:
            piece.kind = Kind.BREAK
    return result


def _inline_text(pieces: Iterable[_Piece], usual: str) -> InlineText:
    """Make one text of the pieces of a paragraph; runs other than the usual one become pairs."""
    inline, current = InlineText(_escape), usual
    for piece in [*pieces, _Piece(Kind.BREAK, "")]:
        run = piece.run if piece.kind is None else usual
        if piece.kind is Kind.MARK or (piece.kind is None and not piece.raw.strip()):
            run = current
        if current not in (run, usual):
            inline.add_markup("", Kind.CLOSE)
        if run not in (current, usual):
            inline.add_markup(_RUN + run, Kind.OPEN, bool(_SCRIPT.search(run)))
        current = run
        if piece.kind is None:
            inline.add_words("", piece.raw)
        elif piece.raw:
            inline.add_markup(piece.raw, piece.kind, piece.is_script)
    return inline


def _escape(text: str) -> str:
    return escape(_NO_XML.sub("", text), quote=False)
