"""XLIFF 1.x and 2.x: units without a translation get one, and everything else stays.

An empty or missing target is written after its source, with the same inline codes, for review: its
state is ``needs-review-translation`` in XLIFF 1.x, and the segment is ``translated`` in 2.x. Both
say that it is a suggestion of machine translation, and how good it may be (mtConfidence of ITS 2.0,
from 0 to 1). Other targets and ``translate="no"`` stay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape, unescape
from typing import NamedTuple

from nmt_cli.errors import InputError
from nmt_cli.formats.inline import InlineText
from nmt_cli.formats.messages import placeholders_finder, translate_messages
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment
from nmt_cli.formats.spans import Interval, Kind, line_finder, match_tags, replaced
from nmt_cli.formats.tags import check_xml, matches_of, tokens_of

_NATIVE = {"bpt", "ept", "ph", "it"}  # around code of the original document, in 1.x
_OPENING, _CLOSING = {"bpt", "bx", "sc", "sm"}, {"ept", "ex", "ec", "em"}
_ATTRIBUTE = r"""\s%s\s*=\s*(["'])(.*?)\1"""
_TYPES = ("ctype", "mtype", "type", "subType")
_SPACE = re.compile(r"[ \t\r\n]+")
_ITS = {"its:annotatorsRef": "mt-confidence|nmt", "xmlns:its": "http://www.w3.org/2005/11/its"}


class _Unit(NamedTuple):
    """Tokens of a unit whose source has no translation: numbers of the first and the last."""

    number: int
    source: Interval
    target: Interval | None
    keeps_space: bool


def translate_xliff(text: str, name: str, translate: Translate) -> str:
    """Fill the empty and missing targets of an XLIFF document."""
    check_xml(text, name)
    document = _Document(text, name)
    units = list(document.units())
    sources = [document.inline(unit) for unit in units]
    messages, line_of = list[Segment](), line_finder(text)
    for number, (unit, inline) in enumerate(zip(units, sources, strict=True), 1):
        line = line_of(document.tokens[unit.number].start)
        messages.append(inline.segment(placeholders_finder(), f"line {line}, unit {number}"))
    qualities = dict[str, int]()

    def record(where: str, source: str, result: str, quality: int | None) -> None:
        if quality is not None:
            qualities[where] = min(quality, qualities.get(where, quality))
        translate.record(where, source, result, quality)

    results = translate_messages(messages, replace(translate, record=record))
    language, edits = translate.languages[1], list[tuple[Interval, str]]()
    if units and document.is_new and language and not document.attribute(document.root, "trgLang"):
        edits.append(document.with_attributes(document.root, {"trgLang": escape(language)}))
    for unit, inline, message, result in zip(units, sources, messages, results, strict=True):
        written = inline.written(result)
        edits += document.edits(unit, written, qualities.get(message.where))
    return replaced(text, 0, len(text), edits)


class _Document:
    """The tokens of an XLIFF document."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.tokens = text, tokens_of(text)
        self.matches = matches_of(self.tokens)
        self.root = next(number for number, token in enumerate(self.tokens) if token.name)
        self.prefix = self.tokens[self.root].name.removesuffix("xliff")
        self.is_new = self.attribute(self.root, "version").startswith("2")
        if self.prefix == self.tokens[self.root].name:
            reason = f"{name}, line 1: not XLIFF, but XML whose root is <{self.prefix}>"
            raise InputError(reason, "translate it with `format=xml`")

    def tag(self, number: int) -> str:
        """Return the source text of a token."""
        return self.text[self.tokens[number].start : self.tokens[number].end]

    def attribute(self, number: int, *names: str) -> str:
        """Return the first of some attributes that a start tag has, or nothing."""
        matches = (re.search(_ATTRIBUTE % name, self.tag(number), re.DOTALL) for name in names)
        return next((match[2] for match in matches if match), "")

    def name(self, number: int) -> str:
        """Return the name of a tag without the prefix of XLIFF."""
        return self.tokens[number].name.removeprefix(self.prefix)

    def children(self, first: int) -> Iterator[tuple[str, Interval]]:
        """Return the name of each child of an element, and its first and last token."""
        child = first + 1
        while child < self.matches.get(first, first):
            last = self.matches.get(child, child)
            yield self.name(child), (child, last)
            child = last + 1

    def units(self) -> Iterator[_Unit]:
        """Find the units that need a translation, in order."""
        unit = "segment" if self.is_new else "trans-unit"
        levels = [("", "")]  # what each open element passes on
        for number in sorted(self.matches):
            if self.matches[number] < number:
                levels.pop()
                continue
            space, translated = levels[-1]
            space = self.attribute(number, "xml:space") or space
            translated = self.attribute(number, "translate") or translated
            levels.append((space, translated))
            if self.name(number) == unit and translated != "no":
                children = dict(reversed(list(self.children(number))))  # the first of each name
                source = children.get("seg-source") or children.get("source")
                target = children.get("target")
                is_done = target and self.has_content(target)
                if source and self.has_content(source) and not is_done:
                    yield _Unit(number, source, target, space == "preserve")

    def has_content(self, element: Interval) -> bool:
        """Return whether an element has text or codes, and not only the frames of segments."""
        return any(
            self.tag(child).strip()
            if self.tokens[child].is_text
            else name != "mrk" or self.has_content((child, last))
            for name, (child, last) in self.children(element[0])
        )

    def inline(self, unit: _Unit) -> InlineText:
        """Return the words and the codes of a source."""
        inline = InlineText(lambda words: escape(words, quote=False))
        number, last = unit.source
        numbers = range(number + 1, last)
        pairs = match_tags((code, *pair) for code in numbers for pair in self.pair(code))
        while (number := number + 1) < last:
            token, other = self.tokens[number], pairs.get(number, number)
            raw = self.tag(number)
            if token.is_text or raw.startswith("<![CDATA["):
                words = unescape(raw) if token.is_text else raw[9:-3]
                inline.add_words(raw, words if unit.keeps_space else _SPACE.sub(" ", words))
                continue
            opening = min(number, self.matches.get(number, number))
            types = {self.attribute(opening, name) for name in _TYPES}
            kind = Kind.OPEN if number < other else Kind.CLOSE if other < number else Kind.MARK
            if kind is Kind.MARK and self.name(number) in ("x", "ph") and not any(types):
                kind = Kind.FREE  # probably a placeholder
            is_protected = "protected" in types or self.attribute(number, "translate") == "no"
            if is_protected and kind is Kind.OPEN:
                number = other
            elif self.name(number) in _NATIVE:
                number = self.matches.get(number, number)
            raw = self.text[token.start : self.tokens[number].end]
            if is_protected and kind is Kind.OPEN:
                inline.add_element(raw, unescape(re.sub("<[^<>]*>", "", raw)))
            else:
                inline.add_markup(raw, Kind.BREAK if types & {"lb", "xlf:lb", "seg"} else kind)
        return inline

    def pair(self, number: int) -> Iterator[tuple[str, bool]]:
        """Return what the two codes of a pair have in common, and whether this is the second."""
        token, name = self.tokens[number], self.name(number)
        code = self.attribute(number, "rid", "startRef", "id")
        if name in ("g", "pc", "mrk") and not token.is_void:
            yield name, token.closes
        elif name == "x" and re.match("START_|CLOSE_", code):  # of Angular
            yield code[6:], code.startswith("C")
        elif name in _OPENING | _CLOSING and not token.closes:
            yield f"#{code}", name in _CLOSING

    def edits(
        self, unit: _Unit, translation: str, quality: int | None
    ) -> Iterator[tuple[Interval, str]]:
        """Return the edits that write a translation, marked as one of a machine."""
        confidence = dict[str, str]()
        if quality is not None:
            confidence = {"its:mtConfidence": f"{quality / 100:.2f}", **_ITS}
        if unit.target:
            interval = self.tokens[unit.target[0]].start, self.tokens[unit.target[1]].end
            before, tag = "", self.tag(unit.target[0]).removesuffix("/>").removesuffix(">") + ">"
        else:
            end, tag = self.tokens[unit.source[1]].end, f"<{self.prefix}target>"
            interval, is_indented = (end, end), self.tokens[unit.source[0] - 1].is_text
            before = self.tag(unit.source[0] - 1) if is_indented else ""
        if self.is_new:
            states = {"state": "translated", "subState": "nmt:mt-suggestion"}
            yield self.with_attributes(unit.number, states)
            mark = {"id": f"nmt{unit.number}", "type": "its:generic"} | confidence
            if confidence:
                name = f"{self.prefix}mrk"
                translation = f"{_with(f'<{name}>', mark)}{translation}</{name}>"
        else:
            states = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
            tag = _with(tag, states | confidence)
        yield interval, f"{before}{tag}{translation}</{self.prefix}target>"

    def with_attributes(self, number: int, values: Mapping[str, str]) -> tuple[Interval, str]:
        """Return the edit that sets attributes of a start tag."""
        token = self.tokens[number]
        return (token.start, token.end), _with(self.tag(number), values)


def _with(tag: str, values: Mapping[str, str]) -> str:
    """Return a start tag with attributes."""
    for name, value in values.items():
        attribute = f' {name}="{value}"'
        tag, count = re.subn(r"\s*" + _ATTRIBUTE % name, attribute, tag, count=1)
        tag = tag if count else f"{tag.removesuffix('>').rstrip()}{attribute}>"
    return tag
