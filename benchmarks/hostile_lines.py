"""Lines that a translator of real-world text has to survive: most of what can be in a file.

As a file, with U+FFFD in place of bytes that are not valid UTF-8, to check their translations:

    python benchmarks/hostile_lines.py 2000 > hostile.pt
    nmt evaluate -m MODEL --source hostile.pt

The sentences among them are Portuguese; `en` as a second argument makes them English.
"""

import random
import sys
from collections.abc import Iterator
from functools import partial

from nmt_cli.data.corpus import sentence_pairs

# Line ends of other systems, separators, control characters, noncharacters, markup.
PIECES = [
    "o gato", " ", "\t", "\x00", "\r", "\x0b", "\x0c", "\x1a", "\x1b[31m", "\x7f", "\x85", "\u2028",
    "\u2029", "\ufeff", "\u202e", "\u200b", "\u0301", "\ufffd", "\uffff", "\U0010ffff", "👩‍👩‍👧",
    "日本語", "İ", "ß", "ﬁ", "שלום", "مرحبا", "▁", "</s>", "<s>", "<pad>", "<unk>", "<0x0A>",
    "[START]", "<b>não</b>", "&nbsp;", "{name}", "%s", "a" * 50, "1" * 30, "e\u0301\u0327" * 5,
]  # fmt: skip
BROKEN = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80", b"\xe2\x80"]
BLANKS = ["", "", " ", "   ", "\t", "\u3000", "\u2028", "\x85", "\u200b"]
# All planes; most code points of the last range are unassigned.
RANGES = [
    (0x00, 0x20), (0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x590, 0x780), (0x900, 0xE00),
    (0x2000, 0x2070), (0x4E00, 0xA000), (0xE000, 0xF900), (0xFE00, 0x10000), (0x1F300, 0x1FB00),
    (0x10000, 0x110000),
]  # fmt: skip


def hostile_lines(count: int, seed: int, language: str = "pt") -> Iterator[bytes]:
    """Yield random lines without their ends; some are not valid UTF-8."""
    chance = random.Random(seed)
    sentences = [pair[language] for pair in sentence_pairs("train")]
    kinds = {
        partial(chance.choice, BLANKS): 15,
        partial(chance.choice, sentences): 20,
        partial(_joined, chance, PIECES): 30,
        partial(_characters, chance): 10,
        partial(_repeated, chance, sentences): 5,
        partial(_broken, chance): 10,
        lambda: chance.randbytes(chance.randint(1, 20)): 10,
        partial(_long, chance, sentences): 0.02,
    }
    for make in chance.choices(list(kinds), kinds.values(), k=count):
        made = make()
        yield (made.encode() if isinstance(made, str) else made).replace(b"\n", b"")


def _joined(chance: random.Random, pieces: list[str], most: int = 5) -> str:
    return "".join(chance.choices(pieces, k=chance.randint(1, most)))


def _characters(chance: random.Random) -> str:
    ranges = chance.choices(RANGES, k=chance.randint(1, 12))
    return "".join(chr(chance.randrange(*bounds)) for bounds in ranges)


def _repeated(chance: random.Random, sentences: list[str]) -> str:
    word = chance.choice(chance.choice(sentences).split())
    return chance.choice([word, f"{word} ", chance.choice("0123456789.!?")]) * chance.randint(2, 30)


def _broken(chance: random.Random) -> bytes:
    parts = [piece.encode() for piece in chance.choices(PIECES, k=chance.randint(1, 5))]
    parts.insert(chance.randint(0, len(parts)), chance.choice(BROKEN))
    return b"".join(parts)


def _long(chance: random.Random, sentences: list[str]) -> str:
    return _joined(chance, [*PIECES, *(f"{sentence} " for sentence in sentences[:100])], most=1000)


if __name__ == "__main__":
    for made_up in hostile_lines(int(sys.argv[1]), 1, *sys.argv[2:3]):
        sys.stdout.buffer.write(made_up.decode("utf-8", "replace").encode() + b"\n")
