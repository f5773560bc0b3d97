"""Numbers, and what looks like a number but is none."""

import random
import re
from collections.abc import Iterator
from functools import partial

from benchmarks.kept.cases import DIRECTIONS, Case, family
from benchmarks.kept.words import parallel

_FRAMES = parallel("""
    A cidade tem {} habitantes. = The city has {} people.
    A empresa vendeu {} carros. = The company sold {} cars.
    O museu recebeu {} pessoas. = The museum received {} people.
    Eles compraram {} livros. = They bought {} books.
    O projeto custou {}. = The project cost {}.
    O banco perdeu {} ontem. = The bank lost {} yesterday.
""")


def _swapped(number: str) -> str:
    """A number with the separators of the other language."""
    return number.translate(str.maketrans(".,", ",."))


def _written(value: int, decimals: str, direction: str) -> str:
    """A number as the source language writes it."""
    english = f"{value:,}" + (f".{decimals}" if decimals else "")
    return english if direction == "en-pt" else _swapped(english)


@family
def round_numbers(chance: random.Random) -> Iterator[Case]:
    """Numbers of thousands and millions; 40 in each direction."""
    for direction in DIRECTIONS:
        for _ in range(40):
            value = chance.randint(1, 999) * 10 ** chance.choice([3, 4, 5, 6, 6])
            number = _written(value, "", direction)
            source = chance.choice(_FRAMES[direction]).replace("{}", number)
            yield Case(direction, "text", f"{source}\n", keep=(_swapped(number),))


@family
def decimals(chance: random.Random) -> Iterator[Case]:
    """Decimals, percentages, ranges, negative numbers and units."""
    frames = parallel("""
        Ele mede {} metros. = It is {} meters long.
        A taxa é de {}%. = The rate is {}%.
        O pão pesa {} kg. = The bread weighs {} kg.
        A temperatura foi -{} graus. = The temperature was -{} degrees.
        A casa fica a {} km daqui. = The house is {} km from here.
        O filme durou {} horas. = The movie lasted {} hours.
    """)
    for direction in DIRECTIONS:
        for _ in range(30):
            digits = chance.choice(["5", "25", "75", "125", "05", "1416"])
            number = _written(chance.choice([0, 1, 3, 12, 99, 1234]), digits, direction)
            source = chance.choice(frames[direction]).replace("{}", number)
            yield Case(direction, "text", f"{source}\n", keep=(_swapped(number),))


@family
def currencies(chance: random.Random) -> Iterator[Case]:
    """Amounts of money, with the sign before or after."""
    shapes = ["R$ {}", "${}", "€ {}", "{} €", "US$ {}", "£{}", "{} USD", "{} BRL"]
    frames = parallel("""
        O preço é {}. = The price is {}.
        A casa custa {}. = The house costs {}.
        Ela pagou {} ontem. = She paid {} yesterday.
        Total: {} = Total: {}
    """)
    for direction in DIRECTIONS:
        for _ in range(40):
            value = chance.choice([chance.randint(1, 999), chance.randint(1000, 9_999_999)])
            number = _written(value, chance.choice(["00", "50", "99", "56"]), direction)
            shape = chance.choice(shapes)
            source = chance.choice(frames[direction]).replace("{}", shape.replace("{}", number))
            sign = shape.replace("{}", "").strip()
            yield Case(direction, "text", f"{source}\n", keep=(_swapped(number), sign))


@family
def superscripts(chance: random.Random) -> Iterator[Case]:
    """Superscripts, subscripts and fractions of Unicode."""
    signs = [
        "10²",
        "10³",
        "m²",
        "cm³",
        "H₂O",
        "CO₂",
        "x²",
        "2⁵",
        "10⁻³",
        "½",
        "¾",
        "1½",
        "km²",
        "n¹",
        "a₁",
    ]
    frames = parallel("""
        A área é {}. = The area is {}.
        O valor é {} na página. = The value is {} on the page.
        O professor escreveu {} no muro. = The teacher wrote {} on the wall.
    """)
    for direction in DIRECTIONS:
        for sign in signs:
            for frame in chance.sample(frames[direction], 2):
                yield Case(direction, "text", f"{frame.replace('{}', sign)}\n", keep=(sign,))


# Frames, each with the numbers that fit it, separated by semicolons.
_FIXED = """
A loja abre em {}. = The shop opens on {}. = \
15/03/2024; 2024-03-15; 15.03.2024; 31/12/1999; 01/02/03; 2024-12-31T23:59:59Z
O trem chega às {}. = The train arrives at {}. = 14:30; 08:15:30; 23:59; 9:05; 10:00-12:30
Instale a versão {} hoje. = Install version {} today. = \
3.11.2; v2.0.1; 2.6.0rc1; 10.15.7; 1.0.0-beta.2; v1.5; 3.12
O telefone é {}. = The phone number is {}. = \
+55 11 98765-4321; (11) 3333-4444; 0800 123 4567; +1-202-555-0143; 555.123.4567
A cidade fica em {}. = The city is at {}. = \
-23.5505, -46.6333; 23°33′S; 40.7128° N; 51.5074,-0.1278
O código é {}. = The code is {}. = \
192.168.0.1; 978-85-359-0277-7; 123.456.789-09; 12.345.678/0001-95; 01310-100; 0x1F4A; \
ISO 9001:2015; RFC 2616; A4; § 5.1; 10.1000/xyz123; 550e8400-e29b-41d4-a716-446655440000; \
#1234; 16:9; AB-1.234; 1.2.3.4; 1234567890; 2024
"""


@family
def fixed_numbers(chance: random.Random) -> Iterator[Case]:
    """Dates, times, versions, phone numbers, coordinates and identifiers stay as they are."""
    for row in _FIXED.strip().splitlines():
        *frames, numbers = row.split(" = ")
        for direction, frame in zip(DIRECTIONS, frames, strict=True):
            for number in numbers.split("; "):
                yield Case(direction, "text", f"{frame.replace('{}', number)}\n", keep=(number,))


@family
def several_numbers(chance: random.Random) -> Iterator[Case]:
    """Lines of several numbers, also without separators: all digits, in order."""
    frames = parallel("""
        Foram {} pessoas em {} dias. = There were {} people in {} days.
        De {} a {} habitantes. = From {} to {} people.
        {} carros, {} casas e {} livros. = {} cars, {} houses and {} books.
        Em 2024, {} pessoas compraram {} livros. = In 2024, {} people bought {} books.
        {} = {}
        {} + {}, {} - {} = {} + {}, {} - {}
    """)
    for direction in DIRECTIONS:
        for _ in range(30):
            frame = chance.choice(frames[direction])
            while "{}" in frame:
                value = chance.choice([chance.randint(2, 99), chance.randint(1000, 99_999_999)])
                plain = str(value) if chance.random() < 0.3 else _written(value, "", direction)
                frame = frame.replace("{}", plain, 1)
            check = partial(_same_digits, frame)
            yield Case(direction, "text", f"{frame}\n", check=check)


def _same_digits(source: str, output: str) -> Iterator[str]:
    digits = [re.sub(r"\D", "", text) for text in (source, output)]
    if digits[0] != digits[1]:
        yield f"digits {digits[0]} became {digits[1]}"
