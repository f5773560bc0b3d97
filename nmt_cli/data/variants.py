"""Rewrite training pairs as people type: lower case, capitals, no final punctuation, symbols.

A model that has never seen such sources translates them badly. Lower case changes only the source.
The others change both sides, as translations keep capitals, a missing full stop, and symbols.

Symbols are emoji, signs and words of other alphabets. A tokenizer spells characters that are not in
its vocabulary as bytes, and a model that has hardly seen those bytes produces noise instead.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters

import numpy as np

from nmt_cli.data.corpus import Corpus
from nmt_cli.recipe.config import DataConfig
from nmt_cli.text.lines import read_lines

Pair = tuple[str, str]

# The most frequent emoji, and those of several code points.
COMMON = read_lines(Path(__file__).with_name("emoji.txt"))
RANGES = ((0x2600, 0x27C0), (0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FB00))
# Includes code points that are not assigned yet.
RARE = [chr(code) for start, end in RANGES for code in range(start, end)]
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
# Code, markup, placeholders, addresses and paths.
CODE = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
NUMBER = re.compile(r"(?<![\w.,:])\d+(?![\w.,:]*\d)")
NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
END = re.compile(r"([.!?…]{0,9})$")
SENTENCE_END = re.compile(r"(?<=[.!?]) ")
FINAL_PUNCTUATION = re.compile(r"\s{0,9}[.!?…]{1,9}$")


def vary(corpus: Corpus, config: DataConfig, seed: int) -> Corpus:
    """Rewrite randomly chosen pairs, in the recipe's shares; pairs with code stay as they are."""
    shares = np.cumsum([config.lowercase, config.uppercase, config.unpunctuated, config.symbols])
    if not shares[-1]:
        return corpus
    variants = np.searchsorted(shares, np.random.default_rng(seed).random(len(corpus)), "right")
    chance = random.Random(seed)
    rows = zip(variants, corpus.source, corpus.target, strict=True)
    pairs = [_varied(variant, source, target, chance) for variant, source, target in rows]
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    return Corpus(corpus.name, sources, targets, corpus.origins)


def _varied(variant: int, source: str, target: str, chance: random.Random) -> Pair:
    if variant > 3 or CODE.search(source) or CODE.search(target):
        return source, target
    if variant == 0:
        return source.lower(), target
    if variant == 1:
        return source.upper(), target.upper()
    if variant == 3:
        return with_symbols((source, target), chance)
    bare = FINAL_PUNCTUATION.sub("", source), FINAL_PUNCTUATION.sub("", target)
    if all(bare) and bare[0] != source and bare[1] != target:
        return bare
    return source, target


def with_symbols(pair: Pair, chance: random.Random) -> Pair:
    """Add emoji, a foreign word or a symbol, the same to both sides."""
    edits = (with_emoji, with_foreign_word, with_symbol)
    (edit,) = chance.choices(edits, (0.45, 0.3, 0.25))
    return edit(pair, chance)


def with_emoji(pair: Pair, chance: random.Random) -> Pair:
    """Add emoji at the end of both sides, at their start, or between their sentences."""
    emoji = _emoji(chance) * chance.choice((1, 1, 1, 2, 3))
    if chance.random() < 0.25:
        emoji += chance.choice(("", " ")) + _emoji(chance)
    source, target = (SENTENCE_END.split(side) for side in pair)
    space, position = chance.choice((" ", " ", " ", "")), chance.random()
    if position < 0.15:
        return _both(pair, lambda side: f"{emoji} {side}")
    if position < 0.4 and len(source) == len(target) > 1:
        index = chance.randrange(1, len(source))
        for sentences in (source, target):
            sentences[index - 1] += f"{space}{emoji}"
        return " ".join(source), " ".join(target)
    return _both(pair, lambda side: f"{side}{space}{emoji}")


def with_foreign_word(pair: Pair, chance: random.Random) -> Pair:
    """Replace a name by a word of another alphabet, or add words in brackets at the end."""
    letters = set("".join(pair)) - set(ascii_letters)
    alphabets = [alphabet for alphabet in ALPHABETS if letters.isdisjoint(alphabet)]
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
    """Add a symbol beside a number that both sides share, or before both sides."""
    source, target = (NUMBER.findall(side) for side in pair)
    shared = [number for number in source if source.count(number) == target.count(number) == 1]
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
