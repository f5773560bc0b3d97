"""Numbers of every form, as Portuguese and English write them."""

import random
import re
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


def digits(chance: Chance, count: int) -> str:
    """A text of ``count`` digits."""
    return "".join(chance.choices("0123456789", k=count))


def _value(chance: Chance) -> int:
    """At least 2, so that nouns are plural; of any size."""
    size = chance.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 7))
    value = chance.randrange(max(2, 10 ** (size - 1)), 10**size)
    round_to = 10 ** chance.choice((0, 0, 0, 1, 2, 3)) if size > 3 else 1
    return max(2, value // round_to * round_to)


def _count(chance: Chance) -> Pair:
    return grouped(_value(chance))


def _large(chance: Chance) -> Pair:
    value = chance.randrange(10**3, 10 ** chance.choice((4, 5, 6, 7, 8, 9)))
    return grouped(value // 1000 * 1000 if chance.random() < 0.2 else value)


def _decimals(chance: Chance) -> str:
    return digits(chance, chance.choice((1, 1, 1, 2, 2, 2, 3)))


def _decimal(chance: Chance) -> Pair:
    """At least 2, as smaller ones are singular in Portuguese."""
    return grouped(chance.randrange(2, 10 ** chance.choice((1, 1, 2, 2, 3, 4))), _decimals(chance))


def _small(chance: Chance) -> Pair:
    return grouped(chance.randrange(2), _decimals(chance))


def _percent(chance: Chance) -> Pair:
    number = chance.choice((
        lambda: _same(str(chance.randrange(2, 100))),
        lambda: grouped(chance.randrange(100), _decimals(chance)),
    ))()  # fmt: skip
    return f"{number[0]}%", f"{number[1]}%"


def _money(chance: Chance) -> Pair:
    sign = chance.choice(CURRENCIES)
    cents = chance.choice(("", "00", "50", "90", "99", digits(chance, 2)))
    number = grouped(_value(chance), cents)
    return sign[0] + number[0], sign[1] + number[1]


def _millions(chance: Chance) -> Pair:
    number = _same(str(chance.randrange(2, 1000)))
    if chance.random() < 0.6:
        number = grouped(chance.randrange(2, 100), digits(chance, chance.choice((1, 1, 2))))
    word = chance.choice((("milhões", "million"), ("bilhões", "billion"), ("milhões", "million")))
    return f"{number[0]} {word[0]}", f"{number[1]} {word[1]}"


def _thousands(chance: Chance) -> Pair:
    number = chance.randrange(2, 1000)
    return f"{number} mil", f"{number},000"


def _half_day(chance: Chance) -> Pair:
    """A time such as 15h30 and 3:30 p.m."""
    hour, minute = chance.choice((*range(2, 13), *range(14, 24))), chance.randrange(1, 60)
    return f"{hour}h{minute:02}", f"{_twelve(hour)}:{minute:02} {_noon(hour)}"


def _hour(chance: Chance) -> Pair:
    number = chance.choice((*range(2, 12), *range(14, 24)))
    return f"{number}h", f"{_twelve(number)} {_noon(number)}"


def _twelve(hour: int) -> int:
    return (hour - 1) % 12 + 1


def _noon(hour: int) -> str:
    return "p.m." if hour >= 12 else "a.m."


def _clock(chance: Chance) -> Pair:
    text = f"{chance.randrange(2, 24)}:{chance.randrange(60):02}"
    return _same(text + (f":{chance.randrange(60):02}" if chance.random() < 0.15 else ""))


def _day(chance: Chance) -> tuple[int, int, int]:
    return chance.randrange(2, 29), chance.randrange(1, 13), chance.randrange(1800, 2040)


def _date(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    mark = chance.choice("//.-")
    width = chance.choice((1, 2))
    return _same(f"{day:0{width}}{mark}{month:0{width}}{mark}{year}")


def _iso(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    text = f"{year}-{month:02}-{day:02}"
    return _same(text + ("" if chance.random() < 0.7 else f"T{chance.randrange(24):02}:30:00Z"))


def _long_date(chance: Chance) -> Pair:
    day, month, year = _day(chance)
    names = MONTHS[month - 1]
    return f"{day} de {names[0]} de {year}", f"{names[1]} {day}, {year}"


def _day_month(chance: Chance) -> Pair:
    day, month, _ = _day(chance)
    names = MONTHS[month - 1]
    return f"{day} de {names[0]}", f"{names[1]} {day}"


def _month_year(chance: Chance) -> Pair:
    _, month, year = _day(chance)
    names = MONTHS[month - 1]
    return f"{names[0]} de {year}", f"{names[1]} {year}"


def _year(chance: Chance) -> Pair:
    return _same(any_year(chance))


def any_year(chance: Chance) -> str:
    """Mostly a recent one."""
    return str(chance.randrange(*chance.choice(((1000, 2100), (1700, 2030), (1900, 2030)))))


def _years(chance: Chance) -> Pair:
    first = chance.randrange(1000, 2000)
    return _same(f"{first}{chance.choice('-–')}{first + chance.randrange(1, 80)}")


def _decade(chance: Chance) -> Pair:
    return _same(str(chance.randrange(150, 203) * 10))


def _roman(chance: Chance) -> Pair:
    return _same(_numeral(chance.randrange(2, 40)))


def _numeral(number: int) -> str:
    text = ""
    for value, sign in ROMAN:
        text += sign * (number // value)
        number %= value
    return text


def _century(chance: Chance) -> Pair:
    number = chance.randrange(2, 22)
    return _numeral(number), f"{number}{_suffix(number)}"


def _suffix(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _ordinal(chance: Chance, sign: str) -> Pair:
    number = chance.randrange(1, chance.choice((10, 30, 100, 300)))
    return f"{number}{sign}", f"{number}{_suffix(number)}"


def _masculine(chance: Chance) -> Pair:
    return _ordinal(chance, "º")


def _feminine(chance: Chance) -> Pair:
    return _ordinal(chance, "ª")


def _span(chance: Chance) -> Pair:
    first = chance.randrange(2, 10 ** chance.choice((1, 2, 3)))
    last = first + chance.randrange(1, 10 ** chance.choice((1, 2)))
    return _same(f"{first}{chance.choice('-–')}{last}")


def _fraction(chance: Chance) -> Pair:
    if chance.random() < 0.3:
        return _same(chance.choice(("", str(chance.randrange(1, 20)))) + chance.choice("½¼¾⅓⅔"))
    lower = chance.randrange(3, 20)
    return _same(f"{chance.randrange(1, lower)}/{lower}")


# Each 0 becomes a digit, each A a letter.
PHONES = (
    "(00) 90000-0000", "+55 00 90000-0000", "0000-0000", "0800 000 0000", "+351 200 000 000",
    "+1 000-000-0000", "+44 20 0000 0000", "(00) 0000-0000", "000-000-0000",
)  # fmt: skip
CODES = (
    "A-0000", "AA000", "AAA-0000", "#0000", "00000-000", "000.000.000-00", "00.000.000/0001-00",
    "192.168.00.00", "978-85-000-0000-0", "AA00-00", "0000-A", "0x0000", "16:9", "4:3",
)  # fmt: skip


def _from_shape(chance: Chance, shape: str) -> Pair:
    text = re.sub("0", lambda _: chance.choice("0123456789"), shape)
    return _same(re.sub("A", lambda _: chance.choice("ABCDEFGHJKLMNPRSTVWZ"), text))


def _phone(chance: Chance) -> Pair:
    return _from_shape(chance, chance.choice(PHONES))


def _version(chance: Chance) -> Pair:
    numbers = [
        str(chance.randrange(chance.choice((10, 30)))) for _ in range(chance.choice((2, 3, 3, 4)))
    ]
    return _same(chance.choice(("", "", "v")) + ".".join(numbers))


def _long(chance: Chance) -> Pair:
    return _same(digits(chance, chance.randint(5, 20)))


def _code(chance: Chance) -> Pair:
    return _from_shape(chance, chance.choice(CODES))


def _negative(chance: Chance) -> Pair:
    number = chance.choice((_decimal, lambda c: _same(str(c.randrange(2, 100)))))(chance)
    sign = chance.choice("--−")
    return sign + number[0], sign + number[1]


def _unit(chance: Chance) -> Pair:
    number = chance.choice((_decimal, _count))(chance)
    sign = chance.choice(UNITS)
    return f"{number[0]} {sign}", f"{number[1]} {sign}"


def _score(chance: Chance) -> Pair:
    first = chance.randrange(1, 8)
    last = chance.randrange(first)
    return f"{first} a {last}", f"{first}-{last}"


def _size(chance: Chance) -> Pair:
    numbers = chance.sample(range(2, 1920), 2)
    return _same(f"{numbers[0]} x {numbers[1]}")


FORMS: dict[str, Callable[[Chance], Pair]] = {
    form.__name__.removeprefix("_"): form
    for form in (
        _count,
        _large,
        _decimal,
        _small,
        _percent,
        _money,
        _millions,
        _thousands,
        _half_day,
        _hour,
        _clock,
        _date,
        _iso,
        _long_date,
        _day_month,
        _month_year,
        _year,
        _years,
        _decade,
        _roman,
        _century,
        _masculine,
        _feminine,
        _span,
        _fraction,
        _phone,
        _version,
        _long,
        _code,
        _negative,
        _unit,
        _score,
        _size,
    )
}
