"""Pairs rewritten in lower case, in capitals, and without final punctuation."""

import re
from collections import Counter

import pytest

from nmt_cli.data.corpus import Corpus
from nmt_cli.data.variants import vary
from nmt_cli.recipe.config import DataConfig

PAIR = ("Está à mesa, João?", "Is João at the table?")


def varied(pair: tuple[str, str], **shares: float) -> tuple[str, str]:
    variant = vary(Corpus("train", [pair[0]], [pair[1]], ["books"]), DataConfig(**shares), seed=1)
    assert variant.origins == ["books"]
    return variant.source[0], variant.target[0]


def test_each_variant() -> None:
    assert varied(PAIR) == PAIR
    assert varied(PAIR, lowercase=1.0) == ("está à mesa, joão?", PAIR[1])
    assert varied(PAIR, uppercase=1.0) == ("ESTÁ À MESA, JOÃO?", "IS JOÃO AT THE TABLE?")
    with_symbols = [re.sub(r"[ -~à-ã“”]", "", side) for side in varied(PAIR, symbols=1.0)]
    assert len(with_symbols[0]) > 0
    assert with_symbols[0] == with_symbols[1]
    assert varied(PAIR, unpunctuated=1.0) == ("Está à mesa, João", "Is João at the table")


@pytest.mark.parametrize("pair", [("Olá", "Hello."), ("Sim.", "Yes"), ("...", "..."), ("?", "No.")])
def test_a_mark_that_one_side_lacks_stays(pair: tuple[str, str]) -> None:
    assert varied(pair, unpunctuated=1.0) == pair


@pytest.mark.parametrize(
    "code",
    ["%s", "{name}", "$HOME", "<b>", "a.txt", "www.a.org", "C:\\x", "/etc", "--all", "a_b", "f()"],
)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", ["lowercase", "uppercase", "unpunctuated", "symbols"])
def test_lines_with_code_stay(code: str, side: int, kind: str) -> None:
    pair = list(PAIR)
    pair[side] = f"Veja {code} Agora."
    assert varied((pair[0], pair[1]), **{kind: 1.0}) == tuple(pair)


def test_shares_and_seed() -> None:
    corpus = Corpus("train", ["Uma Frase."] * 4000, ["A Sentence."] * 4000)
    config = DataConfig(lowercase=0.1, uppercase=0.05, unpunctuated=0.2)
    variants = vary(corpus, config, seed=1)
    counts = Counter(variants.source)
    for text, share in (("uma frase.", 0.1), ("UMA FRASE.", 0.05), ("Uma Frase", 0.2)):
        assert counts[text] / 4000 == pytest.approx(share, abs=0.02)
    assert counts["Uma Frase."] / 4000 == pytest.approx(0.65, abs=0.03)
    assert vary(corpus, config, seed=1) == variants != vary(corpus, config, seed=2)
