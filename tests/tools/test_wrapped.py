"""Wrapped pairs: both sides get the same change, where it is certain what corresponds."""

import random
import re
from pathlib import Path

import pytest

from nmt_cli.errors import NmtError
from tools.wrapped import SHARES, lines, made, signs
from tools.wrapped.frames import frames, labelled, numbered
from tools.wrapped.numbers import FORMS
from tools.wrapped.renumbered import renumbered
from tools.wrapped.sources import Pair, fit
from tools.wrapped.words import certain, clauses, parts

PAIR = ("O gato viu Tom na rua, e Ana dormia.", "The cat saw Tom in the street, and Ana slept.")
LEXICON = {"gato": "cat", "rua": "street", "ana": "ana", "viu": "saw"}


def test_only_whole_sentences_without_signs_are_fit() -> None:
    assert fit(PAIR)
    for pair in [
        ("O gato (novo).", "The cat (new)."),
        ("O gato dorme.", "The cat sleeps!"),
        ("O gato dorme", "The cat sleeps"),
        ("Oi. O gato dorme.", "Hi. The cat sleeps."),
        ("O gato.", "The cat sleeps on my grandmother's bed."),
    ]:
        assert not fit(pair)


def test_words_of_the_same_pairs_correspond() -> None:
    pairs = [(f"O gato {word}.", f"The cat {word}.") for word in ("a1", "b2", "c3", "d4", "e5")]
    assert certain(pairs) == {"gato": "cat"}
    assert certain(pairs[:3]) == {}


def test_parts_and_clauses_correspond() -> None:
    found = {
        tuple(text[slice(*span)] for text, span in zip(PAIR, spans, strict=True))
        for spans in parts(PAIR, LEXICON)
    }
    assert found == {
        ("gato", "cat"), ("gato viu", "cat saw"), ("viu", "saw"), ("rua", "street"), ("Ana", "Ana"),
    }  # fmt: skip
    assert clauses(PAIR, LEXICON) == (PAIR[0].index(","), PAIR[1].index(","))
    turned = ("Se chove, o gato dorme.", "The cat sleeps, if it rains.")
    assert clauses(turned, {"gato": "cat", "chove": "rains"}) is None


def signs_of(text: str) -> list[str]:
    """The brackets, quotation marks and stars of a text, in order."""
    return re.findall(r"[()\[\]\"“”«»*‘’]|(?<!\w)'|'(?!\w)", text)


def test_both_sides_have_the_same_signs() -> None:
    other = ("A rua é nova.", "The street is new.")
    for seed in range(60):
        chance = random.Random(seed)
        for pair in [
            signs.whole(PAIR, chance),
            signs.inside(PAIR, LEXICON, chance),
            signs.clause(PAIR, LEXICON, chance),
            signs.after([PAIR, other], chance),
            signs.listed([PAIR, other], chance),
        ]:
            assert pair is not None
            assert sorted(signs_of(pair[0])) == sorted(signs_of(pair[1]))


def test_capitals_are_in_the_same_part() -> None:
    other = ("A rua é nova.", "The street is new.")
    for seed in range(60):
        pair = lines.capitals([PAIR, other], LEXICON, random.Random(seed))
        if pair:
            loud = [len(re.findall(r"\b[^\W\d_]{2,}\b", side)) for side in pair]
            upper = [len(re.findall(r"\b[A-ZÀ-Ý]{2,}\b", side)) for side in pair]
            assert all(upper)
            assert (loud[0] - upper[0] == 0) == (loud[1] - upper[1] == 0)


def test_speech_has_the_signs_of_each_language() -> None:
    for seed in range(40):
        portuguese, english = lines.speech([PAIR], random.Random(seed))
        assert portuguese.startswith(("— O gato", "“O gato", '"O gato'))
        assert english.startswith(("“The cat", '"The cat'))
        assert "slept,”" in english or 'slept,"' in english


@pytest.mark.parametrize(
    ("pair", "pattern"),
    [
        (("São 1.234,5 km.", "It is 1,234.5 km."), r"São (.+) km\.\|It is (.+) km\."),
        (("Às 12:45", "At 12:45"), r"Às (.+)\|At (.+)"),
        (("Na versão 2.0.1", "In version 2.0.1"), r"Na versão (.+)\|In version (.+)"),
        (("Em 1985", "In 1985"), r"Em (.+)\|In (.+)"),
    ],
)
def test_numbers_that_both_sides_have_are_replaced(pair: Pair, pattern: str) -> None:
    for seed in range(20):
        new = renumbered(pair, random.Random(seed))
        assert new is not None
        match = re.fullmatch(pattern, "|".join(new))
        assert match is not None
        assert re.sub(r"\D", "", match[1]) == re.sub(r"\D", "", match[2])
    if "," in pair[0]:
        assert match[1].count(",") == 1
        assert match[2].count(".") == 1


@pytest.mark.parametrize(
    "pair",
    [
        ("Um gato", "A cat"),
        ("São 3 gatos.", "There are 4 cats."),
        ("1 gato", "1 cat"),  # other numbers need the plural
        ("Caiu 8%.", "It had an 8% fall."),  # the article depends on it
    ],
)
def test_other_numbers_stay(pair: Pair) -> None:
    assert renumbered(pair, random.Random(1)) is None


def test_frames_have_the_same_slots_on_both_sides() -> None:
    known = frames()
    assert len(known) > 120
    for portuguese, english in known:
        slots = [re.findall(r"\{(\w+)\}", side) for side in (portuguese, english)]
        assert slots[0] == slots[1], portuguese
        assert {*slots[0]} <= {*FORMS, "n", "age"}
        assert slots[0]


@pytest.mark.parametrize(
    ("form", "portuguese", "english"),
    [
        ("decimal", r"\d+(\.\d{3})*,\d+", r"\d+(,\d{3})*\.\d+"),
        ("money", r"(R\$|US\$|€|£) [\d.]+(,\d\d)?", r"(R\$|US\$|€|£)[\d,]+(\.\d\d)?"),
        ("half_day", r"\d+h\d\d", r"\d+:\d\d [ap]\.m\."),
        ("long_date", r"\d+ de \w+ de \d{4}", r"\w+ \d+, \d{4}"),
        ("century", r"[IVX]+", r"\d+(st|nd|rd|th)"),
        ("feminine", r"\d+ª", r"\d+(st|nd|rd|th)"),
        ("thousands", r"\d+ mil", r"\d+,000"),
    ],
)
def test_forms(form: str, portuguese: str, english: str) -> None:
    for seed in range(50):
        pair = FORMS[form](random.Random(seed))
        assert re.fullmatch(portuguese, pair[0])
        assert re.fullmatch(english, pair[1])


def test_lines_around_numbers() -> None:
    for seed in range(200):
        for pair in (numbered(frames(), random.Random(seed)), labelled(PAIR, random.Random(seed))):
            assert all(side and "{" not in side and ".." not in side for side in pair)


def test_made_from_a_folder(tmp_path: Path) -> None:
    nouns = [
        ("gato", "cat"),
        ("carro", "car"),
        ("livro", "book"),
        ("muro", "wall"),
        ("trem", "train"),
    ]
    verbs = [("viu", "saw"), ("comprou", "bought"), ("achou", "found"), ("pintou", "painted")]
    pairs = [
        (f"O {noun[0]} é novo, e {name} {verb[0]}{end}.",
         f"The {noun[1]} is new, and {name} {verb[1]}{end}.")
        for noun in nouns
        for verb in verbs
        for name in ("Ana", "Tom")
        for end in ("", " 25")
    ]  # fmt: skip
    texts = {"tatoeba": pairs, "phrases": [*nouns, ("o muro", "the wall")]}
    for name, rows in texts.items():
        for side, language in enumerate(("pt", "en")):
            text = "".join(f"{row[side]}\n" for row in rows)
            (tmp_path / f"{name}.{language}").write_text(text, encoding="utf-8")
    kinds = made(tmp_path, count=200)
    assert kinds == made(tmp_path, count=200)
    assert kinds.keys() == SHARES.keys()
    assert all(kinds.values())


def test_a_folder_without_corpora_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NmtError, match="no pairs that fit in any of news_bosque, .*; give the"):
        made(tmp_path)
