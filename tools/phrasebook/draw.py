"""Reproducible choices for the grammar, and which combinations are kept for the test split."""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from random import Random
from typing import TypeVar

from tools.phrasebook.adjectives import FITTING
from tools.phrasebook.entries import Adjective, Kind, Noun, Verb

_T = TypeVar("_T")

# Of 256 pairings of a verb with its object, or of a noun with its adjective, so many
# occur in the test split only.
_HELD_OUT = 10
# Any person can be described by any trait; nothing is held out there.
_PEOPLE = (Kind.FAMILY, Kind.STRANGER)


@cache
def _is_held_out(first: str, second: str) -> bool:
    return sha256(f"{first}+{second}".encode()).digest()[0] < _HELD_OUT


class Draw:
    """A stream of choices that is the same on every machine.

    Only ``Random.random`` is used: of Python's generator, only that method is guaranteed
    to keep its sequence from one version to the next.
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(int.from_bytes(sha256(seed.encode()).digest()[:8], "big"))
        self._met_held_out = False

    def one(self, options: Sequence[_T]) -> _T:
        """One of the options, each as likely."""
        return options[int(self._random.random() * len(options))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def object_of(self, verb: Verb) -> Noun:
        """A noun that the verb can take as its object."""
        noun = self.one(verb.objects)
        self._note(verb.pt, noun.pt)
        return noun

    def adjective_for(self, noun: Noun) -> Adjective:
        """An adjective that can describe the noun."""
        adjective = self.one(FITTING[noun.kind])
        if noun.kind not in _PEOPLE:
            self._note(noun.pt, adjective.pt)
        return adjective

    def take_held_out(self) -> bool:
        """Whether a choice since the last call made a pairing kept for the test split."""
        met, self._met_held_out = self._met_held_out, False
        return met

    def _note(self, first: str, second: str) -> None:
        self._met_held_out = self._met_held_out or _is_held_out(first, second)
