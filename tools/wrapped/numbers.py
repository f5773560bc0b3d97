"""Numbers of every form, as Portuguese and English write them."""

import random
import re
from collections import Counter
from collections.abc import Callable

from tools.phrases import MONTHS
from tools.wrapped.sources import Pair

Chance = random.Random
UNITS = ("km", "m", "cm", "mm", "kg", "g", "mg", "ml", "km²", "m²", "ha", "GB", "MB", "MHz", "kW",
         "kWh", "°C", "km/h", "m³")  # fmt: skip
CURRENCIES = (("R$ ", "R$"), ("R$ ", "R$"), ("US$ ", "US$"), ("US$ ", "US$"), ("€ ", "€"),
              ("£ ", "£"))  # fmt: skip
ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"),
         (1, "I"))  # fmt: skip


def swapped(number: str) -> str:
    """A number with the separators of the other language."""
    return number.translate(str.maketrans(".,", ",."))


def grouped(value: int, decimals: str = "") -> Pair:
    """A number with separators of thousands and decimals."""
    english = f"{value:,}" + (f".{decimals}" if decimals else "")
    return swapped(english), english


def _same(text: str) -> Pair:
    return text, text


def _digits(chance: Chance, count: int) -> str:
    return "".join(chance.choices("0123456789", k=count))


def _value(chance: Chance) -> int:
    """At least 2, so that nouns are plural; of any size."""
    size = chance.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 7))
    value = chance.randrange(max(2, 10 ** (size - 1)), 10**size)
    round_to = 10 ** chance.choice((0, 0, 0, 1, 2, 3)) if size > 3 else 1
    return max(2, value // round_to * round_to)


def count(chance: Chance) -> Pair:
    return grouped(_value(chance))


def large(chance: Chance) -> Pair:
    value = chance.randrange(10**3, 10 ** chance.choice((4, 5, 6, 7, 8, 9)))
    return grouped(value // 1000 * 1000 if chance.random() < 0.2 else value)


def _decimals(chance: Chance) -> str:
    return _digits(chance, chance.choice((1, 1, 1, 2, 2, 2, 3)))


def decimal(chance: Chance) -> Pair:
    """At least 2, as smaller ones are singular in Portuguese."""
    return grouped(chance.randrange(2, 10 ** chance.choice((1, 1, 2, 2, 3, 4))), _decimals(chance))


def small(chance: Chance) -> Pair:
    return grouped(chance.randrange(2), _decimals(chance))


def percent(chance: Chance) -> Pair:
    number = chance.choice((
        lambda: _same(str(chance.randrange(2, 100))),
        lambda: grouped(chance.randrange(100), _decimals(chance)),
    ))()  # fmt: skip
    return f"{number[0]}%", f"{number[1]}%"


def money(chance: Chance) -> Pair:
    sign = chance.choice(CURRENCIES)
    cents = chance.choice(("", "00", "50", "90", "99", _digits(chance, 2)))
    number = grouped(_value(chance), cents)
    return sign[0] + number[0], sign[1] + number[1]


def millions(chance: Chance) -> Pair:
    number = _same(str(chance.randrange(2, 1000)))
    if chance.random() < 0.6:
        number = grouped(chance.randrange(2, 100), _digits(chance, chance.choice((1, 1, 2))))
    word = chance.choice((("milhões", "million"), ("bilhões", "billion"), ("milhões", "million")))
    return f"{number[0]} {word[0]}", f"{number[1]} {word[1]}"


def thousands(chance: Chance) -> Pair:
    number = chance.randrange(2, 1000)
    return f"{number} mil", f"{number},000"


def half_day(chance: Chance) -> Pair:
    """A time such as 15h30 and 3:30 p.m."""
    hour, minute = chance.choice((*range(2, 13), *range(14, 24))), chance.randrange(1, 60)
    return f"{hour}h{minute:02}", f"{_twelve(hour)}:{minute:02} {_noon(hour)}"


def hour(chance: Chance) -> Pair:
    number = chance.choice((*range(2, 12), *range(14, 24)))
    return f"{number}h", f"{_twelve(number)} {_noon(number)}"


def _twelve(hour: int) -> int:
    return (hour - 1) % 12 + 1


def _noon(hour: int) -> str:
    return "p.m." if hour >= 12 else "a.m."


def clock(chance: Chance) -> Pair:
    text = f"{chance.randrange(2, 24)}:{chance.randrange(60):02}"
    return _same(text + (f":{chance.randrange(60):02}" if chance.random() < 0.15 else ""))


def _day(chance: Chance) -> tuple[int, int, int]:
    return chance.randrange(2, 29), chance.randrange(1, 13), chance.randrange(1800, 2040)


def date(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    mark = chance.choice("//.-")
    width = chance.choice((1, 2))
    return _same(f"{day:0{width}}{mark}{month:0{width}}{mark}{year}")


def iso(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    text = f"{year}-{month:02}-{day:02}"
    return _same(text + ("" if chance.random() < 0.7 else f"T{chance.randrange(24):02}:30:00Z"))


def long_date(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    names = MONTHS[month - 1]
    return f"{day} de {names[0]} de {year}", f"{names[1]} {day}, {year}"


def day_month(chance: Chance) -> Pair:
    day, month, _ = _day(chance)
    names = MONTHS[month - 1]
    return f"{day} de {names[0]}", f"{names[1]} {day}"


def month_year(chance: Chance) -> Pair:
    _, month, year = _day(chance)
    names = MONTHS[month - 1]
    return f"{names[0]} de {year}", f"{names[1]} {year}"


def year(chance: Chance) -> Pair:
    return _same(_year(chance))


def _year(chance: Chance) -> str:
    """Mostly a recent one."""
    return str(chance.randrange(*chance.choice(((1000, 2100), (1700, 2030), (1900, 2030)))))


def years(chance: Chance) -> Pair:
    first = chance.randrange(1000, 2000)
    return _same(f"{first}{chance.choice('-–')}{first + chance.randrange(1, 80)}")


def decade(chance: Chance) -> Pair:
    return _same(str(chance.randrange(150, 203) * 10))


def roman(chance: Chance) -> Pair:
    return _same(_roman(chance.randrange(2, 40)))


def _roman(number: int) -> str:
    text = ""
    for value, sign in ROMAN:
        text += sign * (number // value)
        number %= value
    return text


def century(chance: Chance) -> Pair:
    number = chance.randrange(2, 22)
    return _roman(number), f"{number}{_suffix(number)}"


def _suffix(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _ordinal(chance: Chance, sign: str) -> Pair:
    number = chance.randrange(1, chance.choice((10, 30, 100, 300)))
    return f"{number}{sign}", f"{number}{_suffix(number)}"


def masculine(chance: Chance) -> Pair:
    return _ordinal(chance, "º")


def feminine(chance: Chance) -> Pair:
    return _ordinal(chance, "ª")


def span(chance: Chance) -> Pair:
    first = chance.randrange(2, 10 ** chance.choice((1, 2, 3)))
    last = first + chance.randrange(1, 10 ** chance.choice((1, 2)))
    return _same(f"{first}{chance.choice('-–')}{last}")


def fraction(chance: Chance) -> Pair:
    if chance.random() < 0.3:
        return _same(chance.choice(("", str(chance.randrange(1, 20)))) + chance.choice("½¼¾⅓⅔"))
    lower = chance.randrange(3, 20)
    return _same(f"{chance.randrange(1, lower)}/{lower}")


def phone(chance: Chance) -> Pair:
    d = lambda number: _digits(chance, number)  # noqa: E731
    area = chance.randrange(11, 100)
    return _same(chance.choice((
        f"({area}) 9{d(4)}-{d(4)}", f"+55 {area} 9{d(4)}-{d(4)}", f"{d(4)}-{d(4)}", f"0800 {d(3)} {d(4)}",
        f"+351 2{d(2)} {d(3)} {d(3)}", f"+1 {area}{d(1)}-{d(3)}-{d(4)}", f"+44 20 {d(4)} {d(4)}",
        f"({area}) {d(4)}-{d(4)}", f"{area}{d(1)}-{d(3)}-{d(4)}",
    )))  # fmt: skip


def version(chance: Chance) -> Pair:
    numbers = [str(chance.randrange(chance.choice((10, 30)))) for _ in range(chance.choice((2, 3, 3, 4)))]
    return _same(chance.choice(("", "", "v")) + ".".join(numbers))


def long(chance: Chance) -> Pair:
    return _same(_digits(chance, chance.randint(5, 20)))


def code(chance: Chance) -> Pair:
    d = lambda number: _digits(chance, number)  # noqa: E731
    letters = "".join(chance.choices("ABCDEFGHJKLMNPRSTVWXZ", k=chance.choice((1, 2, 3))))
    return _same(chance.choice((
        f"{letters}-{d(4)}", f"{letters}{d(3)}", f"#{d(4)}", f"{d(5)}-{d(3)}", f"{d(3)}.{d(3)}.{d(3)}-{d(2)}",
        f"{d(2)}.{d(3)}.{d(3)}/0001-{d(2)}", f"192.168.{chance.randrange(256)}.{chance.randrange(256)}",
        f"978-85-{d(3)}-{d(4)}-{d(1)}", f"{letters}{d(2)}-{d(2)}", f"{d(4)}-{letters}", f"0x{d(4)}",
        f"{chance.choice((16, 4, 3, 2, 21))}:{chance.choice((9, 3, 1, 10))}",
    )))  # fmt: skip


def negative(chance: Chance) -> Pair:
    number = chance.choice((decimal, lambda c: _same(str(c.randrange(2, 100)))))(chance)
    sign = chance.choice("--−")
    return sign + number[0], sign + number[1]


def unit(chance: Chance) -> Pair:
    number = chance.choice((decimal, count))(chance)
    sign = chance.choice(UNITS)
    return f"{number[0]} {sign}", f"{number[1]} {sign}"


def score(chance: Chance) -> Pair:
    first = chance.randrange(1, 8)
    last = chance.randrange(first)
    return f"{first} a {last}", f"{first}-{last}"


def size(chance: Chance) -> Pair:
    numbers = chance.sample(range(2, 1920), 2)
    return _same(f"{numbers[0]} x {numbers[1]}")


FORMS: dict[str, Callable[[Chance], Pair]] = {
    form.__name__: form
    for form in (
        count, large, decimal, small, percent, money, millions, thousands, half_day, hour, clock,
        date, iso, long_date, day_month, month_year, year, years, decade, roman, century, masculine,
        feminine, span, fraction, phone, version, long, code, negative, unit, score, size,
    )
}  # fmt: skip

# A number in text, with all that touches it.
TOKEN = re.compile(r"(?<![\w.,:/–-])\d+(?:[.,:/-]\d+)*(?![\w:/–-]|[.,]\d)")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
ARTICLE = re.compile(r"\b(?:an?|um|uma) $", re.IGNORECASE)
MONTH = "|".join(name for names in MONTHS for name in names)
IN_DATE = re.compile(rf"^ (?:de )?(?:{MONTH})", re.IGNORECASE), re.compile(rf"(?:{MONTH}) $", re.IGNORECASE)


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
        if any(
            IN_DATE[0].match(text[match.end() :]) or IN_DATE[1].search(text[: match.start()])
            for text, match in zip(pair, matches, strict=True)
        ):
            if value <= 31:
                return str(chance.randrange(2, 29))
        if 1000 <= value <= 2100:
            return _year(chance)
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
        return f"{value:,}" + (f".{_digits(chance, len(part))}" if part else "")
    groups = re.split(r"(\D)", number)
    first = groups[0]
    groups[0] = str(chance.randrange(max(2, 10 ** (len(first) - 1)), 10 ** len(first)))
    return groups[0] + "".join(
        part if not part.isdigit() else _digits(chance, len(part)) for part in groups[1:]
    )


def _replaced(text: str, matches: list[re.Match[str]], edits: dict[int, str]) -> str:
    for index, new in sorted(edits.items(), reverse=True):
        text = text[: matches[index].start()] + new + text[matches[index].end() :]
    return text
