"""The text path: what happens to a line before the source tokenizer and after the target one.

A line is split into sentences and what separates them, which stays. Each sentence passes the steps
of STEPS that its model's settings switch on, in order, and becomes ids. Its translation is joined,
becomes one line, is edited as the steps request, and gets the items that it must contain: numbers,
code, placeholders. One that lacks some of them, or words, is read again: with stand-ins for the
items, and then in pieces between them. Every step keeps track of positions, so that words are
always words of the user's line and of the final translation.

The tokenizers normalize text themselves: punctuation if tokenizer.json says so, and then
SentencePiece's or WordPiece's own rules. docs/clients/ and the page of `nmt export --web` implement
parts of the same path; tests/vectors/text_path.json has examples for all of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from nmt_cli.text import steps
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.glossary import Term
from nmt_cli.text.kept import Item, items_of, with_stand_ins
from nmt_cli.text.languages import Language, language_of
from nmt_cli.text.lines import is_blank
from nmt_cli.text.reading import Attempt, Reading
from nmt_cli.text.sentences import clauses, cut, texts, without_edges
from nmt_cli.text.steps import Step
from nmt_cli.text.tokenizer import UNK_ID, TokenizerPair, encode_lines
from nmt_cli.text.units import Passage, Unit

if TYPE_CHECKING:
    from nmt_cli.recipe.model import DecodingConfig

# The setting of [decoding] that switches each step on, or "" for always, and the step, in the order
# of lines. Lines whose translation must contain given words skip them.
STEPS: tuple[tuple[str, Step], ...] = (
    ("fold_capitals", steps.fold_capitals),
    ("", steps.keep_ellipses),
)
# Steps after these of a second reading, which replaces a first of which the model is less certain.
SECOND_STEPS: tuple[Step, ...] = (
    steps.fold_words,
    steps.set_off_signs,
    steps.set_off_slashes,
    steps.fold_labels,
)
# The mean log-probability of a token under which a translation is uncertain.
CERTAIN = -0.2
# Longer texts are read once: a single word matters less, and the search takes longer.
MAX_WORDS = 12
# The log-probability of a translation that copies words may be higher by this.
MAX_LOSS = 0.5

# A sentence that is too long is cut into parts of at most 32 tokens, or a quarter of the limit if
# that is more: models drop clauses of longer ones.
PART_TOKENS, PARTS = 32, 4

# Invisible characters, which split words into other tokens: soft hyphens, zero-width spaces, word
# joiners, byte-order marks, marks of direction; variation selectors, but not of emoji; joiners
# between Latin letters.
_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+"
    r"|(?<=[^\W\d_])[\ufe00-\ufe0f]+"
    "|(?<=[A-Za-z\xc0-\u052f])[\u200c\u200d]+(?=[A-Za-z\xc0-\u052f])"
)
# A long text is no language if the characters of its words are a smaller share than this.
_MIN_LANGUAGE, _LONG = 0.3, 200
_LANGUAGE = re.compile(r"[^\W\d_]{3,}|[\u2e80-\uffff]")


@dataclass(frozen=True)
class TextPath:
    """The path of a model's lines, of ``max_source`` tokens at a time, and of translations.

    Attributes:
        languages: what is known of the source and the target language.
        splits: whether lines are split into sentences.
        reads_twice: whether texts with signs are read a second time.
        keeps_code: whether translations must contain the code of lines.
        aligns: whether the model can align words.
        edits: whether lines are edited at all.
    """

    tokenizers: TokenizerPair
    max_source: int
    steps: tuple[Step, ...] = ()
    languages: tuple[Language, Language] = (Language(), Language())
    splits: bool = True
    reads_twice: bool = False
    keeps_code: bool = False
    aligns: bool = False
    edits: bool = True

    @classmethod
    def of(
        cls,
        tokenizers: TokenizerPair,
        decoding: "DecodingConfig",
        languages: tuple[str, str] = ("", ""),
        aligns: bool = False,
    ) -> "TextPath":
        """Return the path that a model's settings and languages describe."""
        chosen = tuple(step for name, step in STEPS if not name or getattr(decoding, name))
        source, target = map(language_of, languages)
        if not decoding.convert_numbers:
            target = Language()
        flags = decoding.split_sentences, decoding.set_off_signs, decoding.repair_code
        return cls(tokenizers, decoding.max_source, chosen, (source, target), *flags, aligns)

    def read(
        self,
        lines: Sequence[str],
        is_free: Sequence[bool],
        placeholders: Sequence[Sequence[Span]] = (),
    ) -> list[Passage]:
        """Prepare lines for the model; those that are not free are not edited.

        ``placeholders`` are the parts of each line that its translation must contain.
        """
        passages = list[Passage]()
        for index, (line, free) in enumerate(zip(lines, is_free, strict=True)):
            marks = placeholders[index] if placeholders else ()
            passage = Passage(line, [], marks, free and self.edits)
            whole = 0, len(line)
            if is_blank(line):
                passage.units.append(Unit(whole, MappedText(line)))
            else:
                spans: Iterable[Span] = [whole]
                if passage.is_free:
                    spans = texts(_masked(line, marks), self.languages[0] if self.splits else None)
                passage.units.extend(self._units(passage, whole, spans, Attempt.WHOLE))
            passages.append(passage)
        self._encode(passages)
        return passages

    def again(self, passage: Passage, unit: Unit) -> list[Unit]:
        """Read a unit in another way, since its translation was not complete.

        Returns no unit if there is none.
        """
        reading, (start, end) = unit.reading, unit.span
        spans: Sequence[Span] = [unit.span]
        attempt = Attempt.STAND_INS
        if reading.attempt is not Attempt.WHOLE or not reading.items:
            attempt = Attempt.PIECES
            items = [reading.source.origin(item.start, item.end) for item in reading.items]
            bounds = [(start, start), *items, (end, end)]
            spans = [(before[1], after[0]) for before, after in pairwise(bounds)]
            if not items:
                parts = clauses(passage.line[start:end])
                spans = [(start + first, start + last) for first, last in parts]
            if reading.attempt is attempt or spans == [unit.span]:
                return []
        part = replace(passage, units=self._units(passage, unit.span, spans, attempt))
        self._encode([part])
        return part.units

    def second(self, passage: Passage, unit: Unit) -> list[Unit]:
        """Read a text a second time, if that makes a difference."""
        reading = unit.reading
        if not self.reads_twice or len(reading.text.split()) > MAX_WORDS:
            return []
        second = self._reading(
            unit.span, reading.source, reading.items, reading.attempt, (*self.steps, *SECOND_STEPS)
        )
        if second.text.text == unit.text.text:
            return []
        (ids,) = encode_lines(self.tokenizers.source, [second.text.text])
        if len(ids) > self.max_source:
            return []
        return [replace(second, ids=self.tokenizers.source.with_special_tokens(ids), first=unit)]

    def free_terms(self, passage: Passage, terms: Sequence[Term]) -> list[Term]:
        """Return the terms in sentences, but not in what their translations must contain."""
        if not terms:
            return []
        read = [unit for unit in passage.units if unit.how]
        fixed = list(passage.placeholders)
        for unit in read:
            source = unit.reading.source
            fixed += [source.origin(item.start, item.end) for item in unit.reading.items]
        return [
            term
            for term in terms
            if not any(start < term.end and term.start < end for start, end in fixed)
            and any(unit.span[0] <= term.start and term.end <= unit.span[1] for unit in read)
        ]

    def requiring(self, unit: Unit, terms: Sequence[Term]) -> list[Unit]:
        """Read a text again, whose translation must contain those of terms, if the model can."""
        reading = unit.reading
        encoded = self.tokenizers.target.encode([term.expected for term in terms])
        known = {
            term: tuple(ids)
            for term, ids in zip(terms, encoded, strict=True)
            if ids and UNK_ID not in ids
        }
        if not known:
            return []
        is_capitalized = next(filter(str.isalpha, reading.text), "").isupper()
        edits = [partial(term.written, is_capitalized=is_capitalized) for term in known]
        how = replace(reading, after=[*reading.after, *edits])
        return [replace(unit, how=how, terms=known)]

    def _units(
        self, passage: Passage, span: Span, spans: Iterable[Span], attempt: Attempt
    ) -> list[Unit]:
        """Return units for parts of a span of a line, and for what is between them."""
        units, done = list[Unit](), span[0]
        for part in [*spans, (span[1], span[1])]:
            start, end = without_edges(passage.line, *part) if passage.is_free else part
            if done < start:
                units.append(self._unit(passage, (done, start), None))
            if start < end:
                units.append(self._unit(passage, (start, end), attempt))
            done = max(end, done)
        return units

    def _unit(self, passage: Passage, span: Span, attempt: Attempt | None) -> Unit:
        """Read part of a line; without an attempt, or words, it stays, but for its numbers."""
        start, end = span
        text, marks = MappedText(passage.line[start:end], first=start), passage.placeholders
        if not passage.is_free:
            stays = Unit(span, text)
            return stays if attempt is None else self._reading(span, text, [], attempt, ())
        if attempt is not None and any(map(str.isalpha, text.text)):
            text = text.substituted(_INVISIBLE, "")
        inside = [text.current(*mark) for mark in marks if start <= mark[0] and mark[1] <= end]
        items = items_of(text.text, inside, *self.languages, self.keeps_code)
        if attempt is None or not _is_language(text.text, items):
            final = text.replaced((item.start, item.end, item.written[0]) for item in items)
            return Unit(span, final)
        items = with_stand_ins(text.text, items, attempt is Attempt.STAND_INS)
        return self._reading(span, text, items, attempt, self.steps)

    def _reading(
        self,
        span: Span,
        text: MappedText,
        items: Sequence[Item],
        attempt: Attempt,
        steps: Sequence[Step],
    ) -> Unit:
        """Read a text with its items in the way of the steps."""
        reading = Reading(text, attempt, items, self.tokenizers.source, self.aligns)
        for step in steps:
            step(reading)
        return Unit(span, reading.shown(), reading)

    def _encode(self, passages: Sequence[Passage]) -> None:
        """Add ids to the units that the model translates, and cut those that are too long."""
        tokenizer = self.tokenizers.source
        read = [unit.text.text for passage in passages for unit in passage.units if unit.how]
        encoded = iter(encode_lines(tokenizer, read))
        for passage in passages:
            units = list[Unit]()
            for unit in passage.units:
                ids = next(encoded) if unit.how else []
                if len(ids) > self.max_source:
                    units += self._cut(passage, unit)
                    continue
                if ids:
                    unit.ids.extend(tokenizer.with_special_tokens(ids))
                units.append(unit)
            passage.units[:] = units

    def _cut(self, passage: Passage, unit: Unit) -> list[Unit]:
        """Return the units of parts of a text that is too long."""
        tokenizer, attempt = self.tokenizers.source, unit.reading.attempt
        limit = min(self.max_source, max(self.max_source // PARTS, PART_TOKENS))

        def encoded(units: Sequence[Unit]) -> Iterator[list[int]]:
            return iter(encode_lines(tokenizer, [part.text.text for part in units if part.how]))

        def is_short(first: int, last: int) -> bool:
            ids = encoded(self._units(passage, (first, last), [(first, last)], attempt))
            return max(map(len, ids), default=0) <= limit

        units = self._units(passage, unit.span, cut(passage.line, *unit.span, is_short), attempt)
        ids = map(tokenizer.with_special_tokens, encoded(units))
        return [replace(part, ids=next(ids), is_cut=True) if part.how else part for part in units]

    @property
    def before_source(self) -> int:
        """The number of special tokens before those of the source."""
        return len(self.tokenizers.source.with_special_tokens([])) - 1

    def token_spans(self, unit: Unit) -> list[Span]:
        """Return the spans of a unit's tokens, without special ones, in its text."""
        text = unit.text.text
        return self.tokenizers.source.spans(text) or [(0, len(text))]


def _masked(line: str, spans: Sequence[Span]) -> str:
    """Replace placeholders by digits, so that no sentence ends inside one."""
    return MappedText(line).replaced((start, end, "0" * (end - start)) for start, end in spans).text


def _is_language(text: str, items: Sequence[Item]) -> bool:
    """Return whether a text has letters outside of items; many words, if it is long."""
    rest = MappedText(text).replaced((item.start, item.end, " ") for item in items).text
    if len(text) > _LONG:
        words = sum(map(len, _LANGUAGE.findall(rest)))
        return words >= _MIN_LANGUAGE * len(text.replace(" ", ""))
    return any(map(str.isalpha, rest))
