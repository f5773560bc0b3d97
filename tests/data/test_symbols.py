"""Pairs with emoji, symbols and foreign names: both sides get the same."""

import random
import re

import pytest

from nmt_cli.data.variants import (
    COMMON,
    Pair,
    with_emoji,
    with_foreign_word,
    with_symbol,
    with_symbols,
)

PAIR = ("Vi Tom às 7. Ele tem 32 gatos!", "I saw Tom at 7. He has 32 cats!")


def made(kind: object, count: int = 200) -> list[Pair]:
    assert callable(kind)
    return [kind(PAIR, random.Random(seed)) for seed in range(count)]


def foreign(text: str) -> str:
    """The characters that neither language has."""
    return re.sub(r"[ -~à“”]", "", text)


@pytest.mark.parametrize("kind", [with_emoji, with_foreign_word, with_symbol, with_symbols])
def test_both_sides_get_the_same(kind: object) -> None:
    for source, target in made(kind):
        assert foreign(source)
        assert foreign(source) == foreign(target)


def test_emoji_are_between_sentences_and_around_them() -> None:
    places = set()
    for source, target in made(with_emoji):
        first, second, third = re.split(r"Vi Tom às 7\.|Ele tem 32 gatos!", source)
        assert re.split(r"I saw Tom at 7\.|He has 32 cats!", target) == [first, second, third]
        places.add((first != "", second != " ", third != ""))
    assert places == {(True, False, False), (False, True, False), (False, False, True)}
    assert "👩‍💻" in COMMON


def test_a_foreign_word_replaces_a_name() -> None:
    for source, target in made(with_foreign_word, 20):
        name = source.split()[1]
        assert (source, target) == tuple(side.replace("Tom", name) for side in PAIR)
    greek = [with_foreign_word(("Ναι, Tom.", "Yes, Tom."), random.Random(n)) for n in range(99)]
    assert not any(re.search("[α-ω]", target) for _, target in greek)
    source, target = with_foreign_word(("É.", "It is."), random.Random(1))
    assert re.fullmatch(r"É [(\"“\[]\w+[)\"”\]]\.", source)
    assert target == source.replace("É", "It is")


def test_symbols_are_beside_a_number() -> None:
    for source, target in made(with_symbol, 20):
        added = [word for word in source.split() if word not in PAIR[0].split()]
        assert added
        assert all(word in target.split() for word in added)
    source, target = with_symbol(("Oi.", "Hi."), random.Random(1))
    assert source.replace("Oi", "Hi") == target
    assert source.endswith(" Oi.")
