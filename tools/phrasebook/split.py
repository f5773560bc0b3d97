"""Sampling the grammar and splitting the sentences into train, dev and test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import zip_longest

from tools.phrasebook.constructions import CONSTRUCTIONS, SET_PHRASES, WIDE, Construction
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Text

# No construction gives the training split more sentences than this.
_MOST, _MOST_OF_WIDE = 180, 360
# A small construction repeats itself; after so many repetitions in a row it is exhausted.
_PATIENCE = 40

_DEV_SIZE, _TEST_SIZE = 300, 1000
# Of 256 sentences, so many go to dev and to test; more than are used, as some fall away.
_DEV_SHARE, _TEST_SHARE = 6, 12

_PUNCTUATION = str.maketrans("", "", ".,!?'-")


@dataclass(frozen=True)
class Splits:
    """The finished splits."""

    train: tuple[Text, ...]
    dev: tuple[Text, ...]
    test: tuple[Text, ...]


def normalised(sentence: str) -> str:
    """What is compared to call two sentences the same: lower case, no punctuation."""
    return sentence.lower().translate(_PUNCTUATION)


@cache
def splits() -> Splits:
    """All three splits, each in a fixed order that mixes the constructions."""
    samples = [_sample(name, construct) for name, construct in CONSTRUCTIONS.items()]
    train = [*SET_PHRASES, *_in_turn([sample["train"] for sample in samples])]
    known = _Known(train)
    test = _select([sample["test"] for sample in samples], _TEST_SIZE, known.covers)
    known.add_sentences(test)
    dev = _select([sample["dev"] for sample in samples], _DEV_SIZE, known.covers)
    return Splits(tuple(dict.fromkeys(train)), tuple(dev), tuple(test))


def _sample(name: str, construct: Construction) -> dict[str, list[Text]]:
    """Distinct sentences of one construction, by split."""
    most = _MOST_OF_WIDE if name in WIDE else _MOST
    draw, seen, repeated = Draw(name), set[Text](), 0
    homes: dict[str, list[Text]] = {"train": [], "dev": [], "test": []}
    while len(homes["train"]) < most and repeated < _PATIENCE:
        pair = construct(draw)
        held_out = draw.take_held_out()
        if pair in seen:
            repeated += 1
            continue
        repeated = 0
        seen.add(pair)
        homes["test" if held_out else _home(pair)].append(pair)
    return homes


def _home(pair: Text) -> str:
    # Decided from the bare words, so that a statement and its question stay together.
    byte = sha256(normalised(pair.pt).encode()).digest()[0]
    if byte < _DEV_SHARE:
        return "dev"
    return "test" if byte < _DEV_SHARE + _TEST_SHARE else "train"


def _in_turn(columns: list[list[Text]]) -> Iterator[Text]:
    """First of each construction, then second of each, and so on."""
    for row in zip_longest(*columns):
        yield from (pair for pair in row if pair is not None)


class _Known:
    """The sentences already given out, and the words of the training split."""

    def __init__(self, train: list[Text]) -> None:
        self._sentences: set[str] = set()
        self.add_sentences(train)
        self._words = {word for sentence in self._sentences for word in sentence.split()}

    def add_sentences(self, pairs: list[Text]) -> None:
        self._sentences.update(normalised(side) for pair in pairs for side in pair)

    def covers(self, pair: Text) -> bool:
        """Whether both sides are new sentences of words that were trained."""
        sides = [normalised(side) for side in pair]
        return self._sentences.isdisjoint(sides) and all(
            self._words.issuperset(side.split()) for side in sides
        )


def _select(columns: list[list[Text]], size: int, suitable: Callable[[Text], bool]) -> list[Text]:
    """So many distinct suitable sentences, taken from all constructions in turn."""
    chosen = (pair for pair in dict.fromkeys(_in_turn(columns)) if suitable(pair))
    return [pair for pair, _ in zip(chosen, range(size), strict=False)]
