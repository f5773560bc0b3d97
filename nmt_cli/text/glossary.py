"""Glossaries: terms and the translations that users want for them.

A term is matched as it is written, as whole words, the longest first. A term in lower case also
matches at the beginning of a sentence, and in a text in capitals.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import InputError
from nmt_cli.text.edits import MappedText
from nmt_cli.text.languages import base_language
from nmt_cli.text.lines import BYTE_ORDER_MARK, plain_name, read_lines, reading

_WORD = re.compile(r"\w+|[^\w\s]")
_BEGINNING = re.compile(r"(?:\A|[.!?…:][\"'”’»)\]]?\s)\W*\Z")
# The signs before and after the words of a term.
EDGES = re.compile(r"(\W*).*?(\W*)", re.DOTALL)
_MAX_TERM = 1000  # characters
# Characters before a word that decide whether it begins a sentence.
_BEFORE = 20
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class Term(NamedTuple):
    """A term in a line.

    Attributes:
        start, end: where it is.
        source, target: the term, and its translation, as the glossary has them.
        is_first: whether it is capitalized because it begins a sentence.
    """

    start: int
    end: int
    source: str
    target: str
    is_first: bool = False

    def count_in(self, translation: str) -> int:
        """Return how often a translation has the term's translation."""
        forms = {self.target.upper()} if translation.isupper() else set(self._forms)
        return sum(len(whole_words(form).findall(translation)) for form in forms)

    @property
    def expected(self) -> str:
        """The translation as it is probably written in its sentence."""
        return _capitalized(self.target) if self.is_first else self.target

    def written(self, translation: MappedText, is_capitalized: bool) -> MappedText:
        """Write the term's translation with a capital only where it begins a sentence that is
        capitalized."""
        edits = []
        pattern = "|".join(whole_words(form).pattern for form in self._forms)
        for match in re.finditer(pattern, translation.text):
            begins = is_capitalized and _begins(translation.text, match.start())
            edits.append((*match.span(), _capitalized(self.target) if begins else self.target))
        return translation.replaced(edits)

    @property
    def _forms(self) -> tuple[str, str]:
        return self.target, _capitalized(self.target)


def lacking(terms: Iterable[Term], translation: str) -> list[Term]:
    """Return the terms that a translation lacks; one with several must have it as often."""
    counts, missing = dict[str, int](), list[Term]()
    for term in terms:
        left = counts.setdefault(term.target, term.count_in(translation))
        counts[term.target] -= 1
        if left <= 0:
            missing.append(term)
    return missing


@dataclass(frozen=True)
class Glossary:
    """Terms with their translations."""

    terms: Mapping[str, str]

    @cached_property
    def _by_form(self) -> dict[str, list[str]]:
        """The terms that have each form if they are casefolded."""
        forms = dict[str, list[str]]()
        for term in self.terms:
            forms.setdefault(term.casefold(), []).append(term)
        return forms

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """The lengths of the terms that begin with each word, casefolded; the largest first."""
        lengths = dict[str, set[int]]()
        for term in self.terms:
            first = _WORD.match(term)
            lengths.setdefault(first[0].casefold() if first else "", set()).add(len(term))
        return {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def found(self, line: str) -> tuple[Term, ...]:
        """Return the terms in a line, in order; they do not overlap."""
        terms, done = list[Term](), 0
        for word in _WORD.finditer(line):
            lengths = self._lengths.get(word[0].casefold(), ())
            if lengths and word.start() >= done:
                term = next(self._matching(line, word.start(), lengths), None)
                if term:
                    terms.append(term)
                    done = term.end
        return tuple(terms)

    def _matching(self, line: str, start: int, lengths: Iterable[int]) -> Iterator[Term]:
        for length in lengths:
            end = start + length
            piece = line[start:end]
            for source in self._by_form.get(piece.casefold(), ()):
                is_first = piece != source and piece == _capitalized(source)
                is_first = is_first and _begins(line, start)
                is_same = piece == source or (line.isupper() and piece == source.upper())
                if (is_same or is_first) and whole_words(piece).match(line, start):
                    target = self.terms[source]
                    before, after = _common_edges(source, target)
                    words = target[before : len(target) - after]
                    term = source[before : len(source) - after]
                    yield Term(start + before, end - after, term, words, is_first)


def _common_edges(source: str, target: str) -> tuple[int, int]:
    """Return the lengths of the signs that enclose the words of both, if they are the same."""
    pairs = [EDGES.fullmatch(text).groups() for text in (source, target)]  # type: ignore[union-attr]
    before, after = pairs[0]
    return (len(before), len(after)) if before and after and pairs[0] == pairs[1] else (0, 0)


def _begins(text: str, start: int) -> bool:
    """Return whether a sentence begins here."""
    first = max(0, start - _BEFORE)
    return _BEGINNING.search("x" * bool(first) + text[first:start]) is not None


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def whole_words(text: str) -> re.Pattern[str]:
    """Return a pattern of a text as whole words."""
    before, after = (r"(?<!\w)" if text[:1].isalnum() else "", r"(?!\w)" * text[-1:].isalnum())
    return re.compile(before + re.escape(text) + after)


def read_glossary(path: Path, languages: tuple[str, str] = ("", "")) -> Glossary:
    """Read a glossary: .csv or .tsv as for DeepL, with a term and its translation in each line, or
    TBX (ISO 30042), from which the terms of the source and the target language are taken.

    Raises:
        InputError: a line is no pair of terms, or a term has two translations.
    """
    suffix = plain_name(path).suffix.lower()
    if suffix in (".tbx", ".xml"):
        return checked_glossary(_pairs_of_tbx(path, languages), str(path), "entry")
    lines = read_lines(path)
    if suffix == ".csv":
        return checked_glossary(rows_of_csv("\n".join(lines), languages), str(path))
    return checked_glossary((line.split("\t") for line in lines), str(path))


def rows_of_csv(text: str, languages: tuple[str, str]) -> Iterator[list[str]]:
    """Yield term and translation of each row; as for DeepL, two more columns may name languages,
    and rows of others are blank. Raises csv.Error."""
    wanted = [base_language(code) for code in languages]
    for row in csv.reader(io.StringIO(text, newline=""), strict=True):
        named = [base_language(code.strip()) for code in row[2:]]
        if len(named) == 2:
            yield row[:2] if named in (wanted, ["", ""]) else []
        else:
            yield row


def checked_glossary(rows: Iterator[list[str]], name: str, unit: str = "line") -> Glossary:
    """Return the glossary of rows with a term and its translation; blank rows are left out.

    Raises:
        InputError: names the row, counted from 1.
    """
    terms, numbers = dict[str, str](), dict[str, int]()
    for number, row in enumerate(_valid(rows, name), start=1):
        cells = [" ".join(cell.removeprefix(BYTE_ORDER_MARK).split()) for cell in row]
        if not any(cells):
            continue
        if any(len(cell) > _MAX_TERM for cell in cells):
            reason = f"a term of over {_MAX_TERM:,} characters"
            raise InputError(f"{name}, {unit} {number}: {reason}", "remove it")
        if len(cells) != 2 or not all(cells):
            hint = "write a term and its translation, with a tab (TSV) or a comma (CSV) between"
            raise InputError(f"{name}, {unit} {number}: not a pair of terms", hint)
        source, target = cells
        if terms.get(source, target) != target:
            reason = f"{source!r} has another translation in {unit} {numbers[source]}"
            raise InputError(f"{name}, {unit} {number}: {reason}", "remove one of them")
        terms[source], numbers[source] = target, numbers.get(source, number)
    if not terms:
        raise InputError(f"{name}: has no term", "write at least one pair")
    return Glossary(terms)


def _valid(rows: Iterator[list[str]], name: str) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{name}: not CSV ({error})", "check its quotation marks") from None


def _pairs_of_tbx(path: Path, languages: tuple[str, str]) -> Iterator[list[str]]:
    """Yield the first term of both languages of each entry; of homonyms, the first one."""
    from xml.etree import ElementTree  # not at the start of every command

    try:
        with reading(path) as stream:
            root = ElementTree.parse(stream).getroot()
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # or an unknown encoding
        raise InputError(f"{path}: not XML ({error})", "give a file in TBX, TSV or CSV") from None
    bases, known = [base_language(code) for code in languages], set[str]()
    for entry in (*root.iterfind(".//{*}conceptEntry"), *root.iterfind(".//{*}termEntry")):
        terms = dict[str, str]()
        for section in (*entry.iterfind("{*}langSec"), *entry.iterfind("{*}langSet")):
            term = section.find(".//{*}term")
            base = base_language(section.get(_LANGUAGE, ""))
            if term is not None:
                terms.setdefault(base, "".join(term.itertext()))
        pair = [" ".join(terms.get(base, "").split()) for base in bases]
        yield pair if all(pair) and pair[0] not in known else []
        known.add(pair[0])
