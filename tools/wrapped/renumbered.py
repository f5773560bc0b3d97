"""Other numbers for those that both sides of a pair have."""

import re
from collections import Counter

from tools.phrases import MONTHS
from tools.wrapped.numbers import Chance, any_year, digits, swapped
from tools.wrapped.sources import Pair

# A number in text, with all that touches it.
TOKEN = re.compile(r"(?<![\w.,:/–-])\d+(?:[.,:/-]\d+)*(?![\w:/–-]|[.,]\d)")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
ARTICLE = re.compile(r"\b(?:an?|um|uma) $", re.IGNORECASE)
MONTH = "|".join(name for names in MONTHS for name in names)
IN_DATE = (
    re.compile(rf"^ (?:de )?(?:{MONTH})", re.IGNORECASE),
    re.compile(rf"(?:{MONTH}) $", re.IGNORECASE),
)


def renumbered(pair: Pair, chance: Chance) -> Pair | None:
    """The pair with other numbers for those that both sides have; None if it has none.

    Numbers of one digit below 2, and years of few digits, decide the grammar, so they stay.
    """
    found = [list(TOKEN.finditer(side)) for side in pair]
    english = [[swapped(m[0]) if side == 0 else m[0] for m in found[side]] for side in (0, 1)]
    same = [[m[0] for m in matches] for matches in found]
    new: dict[str, str] = {}
    edits: list[dict[int, str]] = [{}, {}]
    counts = [Counter(english[0]), Counter(english[1])]
    plain = [Counter(same[0]), Counter(same[1])]
    for index, match in enumerate(found[1]):
        number = match[0]
        converted = GROUPED.fullmatch(number) or re.fullmatch(r"\d+(?:\.\d+)?", number)
        if converted and counts[0][number] == counts[1][number]:
            side = english
        elif plain[0][number] == plain[1][number] and not re.fullmatch(r"\d+[.,]\d+", number):
            side = same
        else:
            continue
        place = english[0].index(number) if side is english else same[0].index(number)
        matches = (found[0][place], match)
        if number not in new and not _fixed(pair, matches):
            new[number] = _other(number, pair, matches, chance)
        if number in new:
            edits[1][index] = new[number]
            for other, text in enumerate(side[0]):
                if text == number:
                    edits[0][other] = swapped(new[number]) if side is english else new[number]
    if not new:
        return None
    source, target = (
        _replaced(text, matches, edit)
        for text, matches, edit in zip(pair, found, edits, strict=True)
    )
    return source, target


def _fixed(pair: Pair, matches: tuple[re.Match[str], re.Match[str]]) -> bool:
    if float(re.sub(r"[^\d.]", "", matches[1][0]).split(".")[0] or 0) < 2:
        return True
    return any(
        ARTICLE.search(text[: match.start()]) for text, match in zip(pair, matches, strict=True)
    )


def _other(number: str, pair: Pair, matches: tuple[re.Match[str], ...], chance: Chance) -> str:
    """Another number of the same form and length; days and years stay possible."""
    if number.isdigit():
        value = int(number)
        if value <= 31 and any(
            IN_DATE[0].match(text[match.end() :]) or IN_DATE[1].search(text[: match.start()])
            for text, match in zip(pair, matches, strict=True)
        ):
            return str(chance.randrange(2, 29))
        if 1000 <= value <= 2100:
            return any_year(chance)
        if value < 10:
            return str(chance.randrange(2, 10))
    if re.fullmatch(r"\d{1,2}:\d{2}", number):
        first = number.split(":")[0]
        low, high = (10, 24) if len(first) == 2 else (2, 10)
        return f"{chance.randrange(low, high)}:{chance.randrange(60):02}"
    if GROUPED.fullmatch(number):
        whole, _, part = number.partition(".")
        size = len(whole.replace(",", "")) + chance.choice((-1, 0, 0, 0, 1))
        value = chance.randrange(10 ** max(3, size - 1), 10 ** max(4, size))
        if whole.endswith(",000"):
            value = value // 1000 * 1000
        return f"{value:,}" + (f".{digits(chance, len(part))}" if part else "")
    groups = re.split(r"(\D)", number)
    first = groups[0]
    groups[0] = str(chance.randrange(max(2, 10 ** (len(first) - 1)), 10 ** len(first)))
    return groups[0] + "".join(
        part if not part.isdigit() else digits(chance, len(part)) for part in groups[1:]
    )


def _replaced(text: str, matches: list[re.Match[str]], edits: dict[int, str]) -> str:
    for index, new in sorted(edits.items(), reverse=True):
        text = text[: matches[index].start()] + new + text[matches[index].end() :]
    return text
