"""Numbers spelt out in both languages."""

from functools import cache

from tools.phrasebook.entries import Gender, Text

_PT_SMALL = (
    "zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez",
    "onze", "doze", "treze", "quatorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove",
)  # fmt: skip
_PT_TENS = (
    "vinte", "trinta", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa",
)  # fmt: skip
_PT_HUNDREDS = (
    "cento", "duzentos", "trezentos", "quatrocentos", "quinhentos", "seiscentos", "setecentos",
    "oitocentos", "novecentos",
)  # fmt: skip
_PT_FEMININE = {"um": "uma", "dois": "duas"}

_EN_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_EN_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_EN_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


@cache
def spelt(number: int, gender: Gender = Gender.MASCULINE) -> Text:
    """A number from 0 to 999, agreeing with a noun of the given gender: duas / two."""
    if not 0 <= number <= 999:
        raise ValueError(f"{number} is not between 0 and 999")
    return Text(_portuguese(number, gender), _english(number))


def _portuguese(number: int, gender: Gender) -> str:
    if number == 100:
        return "cem"
    hundreds, rest = divmod(number, 100)
    parts = []
    if hundreds:
        word = _PT_HUNDREDS[hundreds - 1]
        feminine = gender is Gender.FEMININE and hundreds > 1
        parts.append(word[:-2] + "as" if feminine else word)
    if rest >= 20:
        parts.append(_PT_TENS[rest // 10 - 2])
        rest %= 10
    if rest or not parts:
        word = _PT_SMALL[rest]
        parts.append(_PT_FEMININE.get(word, word) if gender is Gender.FEMININE else word)
    return " e ".join(parts)


def _english(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    if hundreds:
        head = f"{_EN_SMALL[hundreds]} hundred"
        return f"{head} and {_english(rest)}" if rest else head
    if rest < 20:
        return _EN_SMALL[rest]
    tens, ones = _EN_TENS[rest // 10 - 2], rest % 10
    return f"{tens}-{_EN_SMALL[ones]}" if ones else tens


@cache
def english_ordinal(number: int) -> str:
    """Third, twentieth, twenty-first."""
    head, hyphen, last = _english(number).rpartition("-")
    ordinal = last[:-1] + "ieth" if last.endswith("y") else _EN_ORDINALS.get(last, last + "th")
    return head + hyphen + ordinal
