"""Short lines around a number of each form, from sentences that are written in frames.tsv."""

import random
import re
from pathlib import Path

from nmt_cli.text.lines import read_lines
from tools.wrapped.numbers import FORMS
from tools.wrapped.sources import Pair

SLOT = re.compile(r"\{(\w+)\}")
# Before a frame that begins with an article.
INTRODUCTIONS = (
    ("Segundo o jornal, ", "According to the newspaper, "),
    ("De acordo com o relatório, ", "According to the report, "),
    ("Além disso, ", "In addition, "),
    ("No entanto, ", "However, "),
    ("Hoje sabemos que ", "Today we know that "),
    ("Ele disse que ", "He said that "),
    ("Ela lembra que ", "She remembers that "),
    ("Como você sabe, ", "As you know, "),
    ("Por isso, ", "That is why "),
    ("Todos sabem que ", "Everyone knows that "),
)
ARTICLE = re.compile(r"(?:O|A|As|Os|Um|Uma|Ele|Ela) .*\.$"), re.compile(r"(?:The|A|He|She) ")
BARE = 0.12
# Of the frames, a fifth has centuries, whose numerals need most examples, and three tenths have
# other forms that the languages write in different ways.
CENTURIES = re.compile(r"\{century\}")
CONVERTED = re.compile(r"\{(?:half_day|hour|masculine|feminine|score)\}")
# The forms that mean the same without a frame.
ALONE = sorted(FORMS.keys() - {"century", "score"})


def frames() -> list[Pair]:
    """The written frames, with their slots."""
    lines = read_lines(Path(__file__).with_name("frames.tsv"))
    rows = (line.split("\t") for line in lines if not line.startswith("# "))
    return [(portuguese, english) for portuguese, english in rows]


def _few(chance: random.Random) -> Pair:
    number = str(chance.randrange(2, 100))
    return number, number


SLOTS = {**FORMS, "n": _few, "age": _few}


def filled(frame: Pair, chance: random.Random) -> Pair:
    """A frame with numbers in its slots."""
    numbers = [SLOTS[name](chance) for name in SLOT.findall(frame[0])]
    sides = []
    for side, text in enumerate(frame):
        rest = iter(numbers)
        sides.append(SLOT.sub(lambda _, rest=rest, side=side: next(rest)[side], text))  # type: ignore[misc]
    # After "p.m.", no other full stop.
    return sides[0], sides[1].replace(".m..", ".m.")


def labelled(pair: Pair, chance: random.Random) -> Pair:
    """A sentence with a number before or after it, as in lists, schedules and references."""
    form, number = chance.random(), FORMS[chance.choice(ALONE)](chance)
    if form < 0.25:
        mark = chance.choice((".", ")", " -", ":", " –"))
        place = str(chance.randrange(1, 100))
        if chance.random() < 0.3:
            place += f".{chance.randrange(1, 20)}"
        number = f"{place}{mark}", f"{place}{mark}"
    elif form < 0.5:
        mark = chance.choice((" -", ":", " –", " |"))
        number = f"{number[0]}{mark}", f"{number[1]}{mark}"
    else:
        opened, closed = chance.choice(("()", "()", "[]"))
        end = pair[0][-1] if chance.random() < 0.6 else ""
        source, target = (
            f"{side.removesuffix(end)} {opened}{text}{closed}{end}"
            for side, text in zip(pair, number, strict=True)
        )
        return source, target
    source, target = (f"{text} {side}" for side, text in zip(pair, number, strict=True))
    return source, target


def numbered(known: list[Pair], chance: random.Random) -> Pair:
    """A line around a number; sometimes the number only, and sometimes an introduction."""
    if chance.random() < BARE:
        return FORMS[chance.choice(ALONE)](chance)
    draw = chance.random()
    wanted = CENTURIES if draw < 0.2 else CONVERTED if draw < 0.5 else SLOT
    pair = filled(chance.choice([frame for frame in known if wanted.search(frame[0])]), chance)
    if chance.random() < 0.25 and all(
        pattern.match(side) for pattern, side in zip(ARTICLE, pair, strict=True)
    ):
        first = chance.choice(INTRODUCTIONS)
        source, target = (
            start + side[0].lower() + side[1:] for start, side in zip(first, pair, strict=True)
        )
        return source, target
    return pair
