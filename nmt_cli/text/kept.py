"""What a translation must contain: numbers, code, addresses, placeholders, whatever the model says.

Numbers and centuries are written as in the target language, hours in either clock; all else
stays as it is. A text whose translation lacks some of them is translated again with short numbers,
which models copy, as stand-ins, and then piece by piece.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.languages import Language
from nmt_cli.text.numbers import numbers

# Repeats are bounded, here and in the formats, so that search time grows with the text only.
URLS = (
    r"<(?:https?|ftp|mailto):[^<>\s]*>",
    r"(?:(?:https?|ftp)://|(?<![\w.+-])www\.)[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_\\]",
)
E_MAIL = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+"
ADDRESSES = (*URLS, E_MAIL)
IN_BRACES = r"(?:[^{}\s]|\{[^{}\s]*\})"
TEMPLATES = (r"\{\{.{0,999}?\}\}", r"\{%.{0,999}?%\}", rf"[$#%]?\{{(?![:!}}]){IN_BRACES}+\}}")
_CONVERSION = r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGaAcspnr@]"
NAMED_PRINTF = (
    r"%\([^()\s]+\)[-#0+ ]*\d*(?:\.\d+)?[A-Za-z]",
    r"%<\w+>[-+#0]*\d*(?:\.\d+)?[A-Za-z]",
    rf"%\d+\$[-+#0' ]*\d*(?:\.\d+)?{_CONVERSION}",
)
_FIELD = rf"(?:\d+|\*)?(?:\.(?:\d+|\*))?{_CONVERSION}"
PRINTF, SPACED_PRINTF = rf"%[-+#0']*{_FIELD}", rf"%[-+#0' ]*{_FIELD}"
VARIABLES = (r"(?<![\w$])\$[A-Za-z_]\w*", r"(?<!\w)%[A-Z][A-Z_]+%")

# Tokenizers would make other digits of these.
_SUPERSCRIPTS = (
    r"(?:\d[\d.,]{0,40}\s?[^\W\d_]{0,3}|\b[^\W\d_]{1,3})?"
    r"[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u208e\u2150-\u215f]+"
    r"(?:[^\W\d_]{1,3}\b)?"
)
_SCRIPTED = re.compile(_SUPERSCRIPTS)
# No language has such long words; from Thai on, scripts have long lines without spaces.
_NOISE = r"[^\s\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\uffff]{40,}"
# In plain text, "100% de" is no placeholder.
_PLAIN_PRINTF = r"(?<![\d%])%[-+#0]*\d*(?:\.\d+)?l{0,2}[sdiufxX@](?!\w)"
# What may be code, with its punctuation: text without spaces, quotation marks or brackets.
CODE_RUN = r"[^\x1c-\x1f\x85\ufeff\s\"'`,;()<>\[\]“”‘’«»…!?]{4,}"
_OPTION = r"(?<![\w-])(?:-[A-Za-z]|--[A-Za-z][\w-]*)(?![\w-])"
# Escapes of characters in strings.
_ESCAPE = r"\\(?:x[0-9A-Fa-f]{2}(?:\[[\d;]*m)?|u[0-9A-Fa-f]{4}|\\(?!\w+\\))"
_PATTERNS = (*ADDRESSES, _NOISE, *TEMPLATES, *NAMED_PRINTF, _PLAIN_PRINTF, *VARIABLES, _OPTION)
_MARKUP = r"</?[A-Za-z][^<>]{0,200}>|&(?:[A-Za-z]{2,8}|#\d{2,7}|#x[0-9A-Fa-f]{2,6});"
_PLAIN = re.compile("|".join((*_PATTERNS, _SUPERSCRIPTS, _ESCAPE, _MARKUP)))
# What each item but placeholders has: most texts have none, and one pattern is faster than all.
_SIGN = re.compile(
    r"[\d_={}\\/@#$%<>&\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u208e\u2150-\u215f]|[.:]\w|www\.|::|->"
    r"|(?<!\w)-|--|[a-z][A-Z]|[A-Z]{2}[a-z]|\S{40}|\s[XVIxvi]+(?!\w)"
)
_RUN = re.compile(CODE_RUN)
# Words between single underscores are no names.
_EMPHASIS = re.compile(r"(?<!\w)_([^\W\d_](?:[^_\n]{0,80}[^\W\d_])?)_(?!\w)")
CODE_EDGES = re.compile(r"^\*+|(?<![.:*/-])[.:*/-]+$|(?<!\\[nrt])(?:\\[nrt])+$")
# It is code if it is at least so long, has only ASCII and one of these marks.
MIN_CODE = 4
CODE_MARK = re.compile(
    r"[_={}]|[A-Za-z]\d|[A-Z]-\d|\\\w+\\|^\w:\\|[A-Za-z][.:]\w\w|\w\w[.:][A-Za-z]|::|->"
    r"|[a-z][A-Z]|[A-Z]{2}[a-z]|[$%@#][A-Za-z]|--[a-z]|//|^\.{0,2}/\w"
    r"|\w/\w{1,40}/(?=.{0,40}[\d.])|\w/\w{1,40}\.\w"
)
# Hours, with minutes 00: models convert them between 12-hour and 24-hour clocks, and may omit 00.
_HOUR = re.compile(
    r"(?<![\d.,:])([01]?\d|2[0-4])(?:[hH]00(?!\w)|(?=\s?[hH](?:oras?|ORAS?|\d\d)?(?!\w))|(?:[:.]00)?"
    r"(?=(?:[:.]\d\d)?(?:\s?(?:-|–|to|and|or)\s?\d\d?(?:[:.]\d\d)?)?\s?[aApP]\.?[mM]\b))"
)
# Centuries: small models confuse Roman numerals.
_UNITS = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
NUMERALS = [tens + units for tens in ("", "X", "XX") for units in _UNITS]
_CENTURY = r"(?<!\w)(?:{})\s([XVI]+)(?:(?:\s(?:[aeoy]|ao|ou|al?)\s|[-–/])([XVI]+))?(?!\w)"
# Times such as 10h30, and quantities.
_QUANTITY = re.compile(r"\d[\d.,]{0,40}[A-Za-z]{1,4}\d{0,2}")
_WORD_AFTER = re.compile(r"[^\W\d_]{4}")  # longer than units
# Numbers of translations, whose separators may be wrong.
_DIGITS = re.compile(r"\d+(?:[.,'\u00a0\u202f]\d+| \d{3}(?!\d))*")
# Numbers that stand in for items are short, and none of the text's.
STAND_INS = (37, 42, 58, 64, 73, 86, 29, 53, 68, 91, *range(101, 1000, 7))


class Item(NamedTuple):
    """A part of a text that its translation must contain.

    Attributes:
        start, end: where it is in the text.
        written: what the translation has in its place, and what a model may write instead.
        is_number: whether it is digits, with separators.
        is_hour: whether any form of it is right.
        stand_in: the number that the model reads instead; empty if it reads the item.
    """

    start: int
    end: int
    written: tuple[str, ...]
    is_number: bool = False
    is_hour: bool = False
    stand_in: str = ""


def items_of(
    text: str, placeholders: Sequence[Span], source: Language, target: Language, code: bool
) -> list[Item]:
    """Find what a translation must contain, in order: ``placeholders``, numbers, and ``code``."""
    if not (placeholders or _SIGN.search(text)):
        return []
    candidates = [Item(*span, (text[slice(*span)],)) for span in placeholders]
    for start, end in _code(text) if code else ():
        candidates.append(Item(start, end, (_written(text[start:end], source, target),)))
    for match in _HOUR.finditer(text):
        hour, other = int(match[1]), (int(match[1]) + 12) % 24
        hours = (match[0], str(hour), str(other), f"{hour:02}", f"{other:02}")
        candidates.append(Item(*match.span(), hours, is_number=True, is_hour=True))
    is_digits = source.century and target.decimal and not target.century
    pattern = _CENTURY.format(source.century)
    for match in re.finditer(pattern, text, re.IGNORECASE) if is_digits else ():
        for group, numeral in enumerate(match.groups(""), start=1):
            if numeral.upper() in NUMERALS[1:]:
                number = str(NUMERALS.index(numeral.upper()))
                candidates.append(Item(*match.span(group), (number,), stand_in=number))
    for start, end, written in numbers(text, source, target):
        forms = tuple(dict.fromkeys([*written, text[start:end]]))
        candidates.append(Item(start, end, forms, is_number=True))
    items, taken = list[Item](), bytearray(len(text))
    for item in candidates:
        if not any(taken[item.start : item.end]):
            items.append(item)
            taken[item.start : item.end] = b"\1" * (item.end - item.start)
    return _joined(text, sorted(items))


def _written(code: str, source: Language, target: Language) -> str:
    """Return code as the translation has it: only numbers before ``km²`` and the like change."""
    if _SCRIPTED.fullmatch(code):
        for _, end, written in numbers(code, source, target):
            return written[0] + code[end:]
    return code


def _joined(text: str, items: Sequence[Item]) -> list[Item]:
    """Join items without anything between them, and digits joined by a sign, such as times."""
    joined: list[Item] = []
    for item in items:
        if joined:
            last = joined[-1]
            between = text[last.end : item.start]
            are_digits = last.is_number and item.is_number and len(item.written) == 1
            if not between or (are_digits and between in "-/:." and len(last.written) == 1):
                written = last.written[0] + between + item.written[0]
                joined[-1] = Item(last.start, item.end, (written,))
                continue
        joined.append(item)
    return joined


def _code(text: str) -> Iterator[Span]:
    """Find addresses, placeholders, and code among the rest."""
    plain = [match.span() for match in _PLAIN.finditer(text)]
    yield from plain
    if plain:
        text = _PLAIN.sub(lambda match: " " * len(match[0]), text)
    text = _EMPHASIS.sub(r" \1 ", text)
    for run in _RUN.finditer(text):
        if run[0].rstrip(".:-").isalpha() and run[0][1:].islower():
            continue  # most are words
        code = CODE_EDGES.sub("", run[0])
        is_long = len(code) >= MIN_CODE and code.isascii()
        if is_long and CODE_MARK.search(code) and not _QUANTITY.fullmatch(code):
            start = run.start() + run[0].index(code)
            yield start, start + len(code)


def with_stand_ins(text: str, items: Sequence[Item], every: bool) -> list[Item]:
    """Give numbers to the items that the model must not read: those beside letters, or all."""
    free = (str(number) for number in STAND_INS if str(number) not in text)

    def is_hidden(item: Item) -> bool:
        is_beside = text[item.end : item.end + 1].isalpha() or _is_after_letter(text, item)
        return every or (is_beside and not item.is_number)

    return [item._replace(stand_in=next(free, "")) if is_hidden(item) else item for item in items]


def _is_after_letter(text: str, item: Item) -> bool:
    return item.start > 0 and text[item.start - 1].isalpha()


def _is_before_word(text: str, item: Item) -> bool:
    return bool(_WORD_AFTER.match(text, item.end))


def shown(text: str, item: Item) -> str:
    """Return what the model reads instead of an item: a number is no part of a word beside it."""
    return " " * _is_after_letter(text, item) + item.stand_in + " " * _is_before_word(text, item)


def restored(
    source: str, items: Sequence[Item], translation: MappedText, capitals: bool = False
) -> tuple[MappedText, bool]:
    """Put items into a translation, and return whether it has all of them once.

    With ``capitals``, all else is written in capitals.
    """
    text = translation.text
    if not (items or capitals):
        return translation, True
    taken, is_complete = bytearray(len(text)), True
    edits: list[tuple[int, int, str]] = []
    for item in items:
        forms = (item.stand_in,) if item.stand_in else item.written
        is_number = item.is_number or bool(item.stand_in)
        spans = chain(*(_found(text, form, is_number) for form in forms), _numbers(text, item))
        span = next((span for span in spans if not any(taken[slice(*span)])), None)
        if not span:
            is_complete = False
            continue
        start, end = span
        taken[start:end] = b"\1" * (end - start)
        if item.stand_in and _is_after_letter(source, item) and text[:start][-2:-1].isalnum():
            start -= text[start - 1] == " "
        if item.stand_in and _is_before_word(source, item):
            end += text[end : end + 1] == " "
        if item.stand_in or not item.is_hour:
            edits.append((start, end, item.written[0]))
    if capitals:
        others = re.finditer(r"\w+", text)
        edits += [
            (start, end, text[start:end].upper())
            for start, end in map(re.Match.span, others)
            if not any(taken[start:end])
        ]
    rest = "".join(sign for sign, is_taken in zip(text, taken, strict=True) if not is_taken)
    is_left = any(item.stand_in and [*_found(rest, item.stand_in, True)] for item in items)
    return translation.replaced(sorted(edits)), is_complete and not is_left


def _found(text: str, written: str, is_number: bool) -> Iterator[Span]:
    """Find where a translation has an item; a number is not part of another one."""
    before, after = (r"(?<!\d)(?<!\d[.,])", r"(?!\d|[.,]\d)") if is_number else ("", "")
    return (match.span() for match in re.finditer(before + re.escape(written) + after, text))


def _numbers(text: str, item: Item) -> Iterator[Span]:
    """Find where a translation has a number with other separators."""
    digits = re.sub(r"\D", "", item.written[0])
    for match in _DIGITS.finditer(text) if item.is_number and not item.stand_in else ():
        if re.sub(r"\D", "", match[0]) == digits:
            yield match.span()
