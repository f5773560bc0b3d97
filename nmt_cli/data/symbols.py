"""Emoji, symbols and foreign names in both sides of a pair, so that a model learns to copy them.

A tokenizer spells characters that are not in its vocabulary as bytes. A model that has hardly seen
those writes noise in their place.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters

from nmt_cli.text.lines import read_lines

Pair = tuple[str, str]

# What people use most, and what consists of several code points.
COMMON = read_lines(Path(__file__).with_name("emoji.txt"))
RANGES = ((0x2600, 0x27C0), (0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FB00))
# Some are not assigned yet; which, depends on the version of Python.
RARE = [chr(code) for each in RANGES for code in range(*each)]
BULLETS = tuple("•◦▪●★☆✓✔✗✦→►«§¶©")
BEFORE, AFTER = tuple("€£¥±≈≤≥×→"), ("°", "°C", "€", " €", " £", "×", "‰")
ALPHABETS = (
    "aābcčćdďeēėęěfgğhiīıjklłmnňoōőøprřsšştťuūůvyýzžźż",
    "αβγδεζηθικλμνξοπρσςτυφχψω",
    "абвгдежзийклмнопрстуфхцчшщыэюя",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "あいうえおかきくけこさしすせそたちつてとなにのはひふまみやゆらりるれろん",
    "アイウエオカキクケコサシスセソタチツテトナニノハヒフマミヤユラリルレロン",
    "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह",
    "กขคงจฉชซญดตถทนบปผพฟภมยรลวสหอ",
    "".join(map(chr, range(0x4E00, 0x9FA6))),
    "".join(map(chr, range(0xAC00, 0xD7A4))),
)
NUMBER = re.compile(r"(?<![\w.,:])\d+(?![\w.,:]*\d)")
NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
END = re.compile(r"([.!?…]*)$")
SENTENCE_END = re.compile(r"(?<=[.!?]) ")


def with_symbols(pair: Pair, chance: random.Random) -> Pair:
    """The pair with emoji, a foreign word or a symbol, the same in both sides."""
    kinds = (with_emoji, with_foreign_word, with_symbol)
    (kind,) = chance.choices(kinds, (0.45, 0.3, 0.25))
    return kind(pair, chance)


def with_emoji(pair: Pair, chance: random.Random) -> Pair:
    """Emoji at the end of both sides, at their start, or between their sentences."""
    one = _emoji(chance)
    run = one * chance.choice((1, 1, 1, 2, 3))
    if chance.random() < 0.25:
        run += chance.choice(("", " ")) + _emoji(chance)
    parts = [SENTENCE_END.split(side) for side in pair]
    space, place = chance.choice((" ", " ", " ", "")), chance.random()
    if place < 0.15:
        return _both(pair, lambda side: f"{run} {side}")
    if place < 0.4 and len(parts[0]) == len(parts[1]) > 1:
        at = chance.randrange(1, len(parts[0]))
        first, second = (
            f"{' '.join(each[:at])}{space}{run} {' '.join(each[at:])}" for each in parts
        )
        return first, second
    return _both(pair, lambda side: f"{side}{space}{run}")


def with_foreign_word(pair: Pair, chance: random.Random) -> Pair:
    """A word of another alphabet in place of a name of both sides, or at the end in brackets."""
    known = set("".join(pair)) - set(ascii_letters)
    alphabets = [each for each in ALPHABETS if not any(letter in each for letter in known)]
    if not alphabets:
        return with_emoji(pair, chance)

    def word() -> str:
        letters = chance.choices(chance.choice(alphabets), k=chance.randint(2, 7))
        return "".join(letters).capitalize()

    names = [set(NAME.findall(side)) for side in pair]
    if shared := sorted(names[0] & names[1]):
        old = re.compile(rf"\b{chance.choice(shared)}\b")
        new = word()
        return _both(pair, lambda side: old.sub(new, side))
    opened, closed = chance.choice(("()", '""', "“”", "[]"))
    words = " ".join(word() for _ in range(chance.choice((1, 1, 2, 3))))
    return _both(pair, lambda side: END.sub(rf" {opened}{words}{closed}\1", side, count=1))


def with_symbol(pair: Pair, chance: random.Random) -> Pair:
    """A symbol beside a number that both sides share, or before both sides."""
    numbers = [NUMBER.findall(side) for side in pair]
    shared = [each for each in numbers[0] if numbers[0].count(each) == numbers[1].count(each) == 1]
    if not shared:
        bullet = chance.choice(BULLETS)
        return _both(pair, lambda side: f"{bullet} {side}")
    old = chance.choice(shared)
    before, after = chance.choice(((chance.choice(BEFORE), ""), ("", chance.choice(AFTER))))
    number = re.compile(rf"(?<![\w.,:]){old}(?![\w.,:]*\d)")
    return _both(pair, lambda side: number.sub(f"{before}{old}{after}", side))


def _both(pair: Pair, edit: Callable[[str], str]) -> Pair:
    return edit(pair[0]), edit(pair[1])


def _emoji(chance: random.Random) -> str:
    return chance.choice(COMMON if chance.random() < 0.6 else RARE)
