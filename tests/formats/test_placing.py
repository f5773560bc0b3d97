"""Markup goes with the words that it was around."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nmt_cli.formats import translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.search.lines import Line, Translation


def words_of(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def answered(text: str, order: Sequence[int]) -> Translation:
    """The source words in another order, in capitals, aligned."""
    words = words_of(text)
    new = " ".join(text[slice(*words[index])].upper() for index in order)
    alignment = [(source, target) for target, source in enumerate(order)]
    return Translation(
        new, 0.0, [], alignment=alignment, source_words=words, target_words=words_of(new)
    )


@pytest.mark.parametrize(
    ("text", "order", "result"),
    [
        ("<b>a</b> b", "10", "B <b>A</b>"),
        ("a <b>b <i>c</i></b> d", "0213", "A <b><i>C</i> B</b> D"),
        ("<b>a</b> x <i>b</i>", "210", "<i>B</i> X <b>A</b>"),
        ("<b>a</b><i>b</i> c", "01", "<b>AB</b> <i>C</i>"),
        ("a <b>b</b> c", "02", "A <b>C</b>"),
        ("a <b>b</b>, c", "021", "A C <b>B</b>,"),
        ("<b>a b c</b>", "210", "<b>C B A</b>"),
        ("a <img> b", "10", "B A <img>"),
        ("<img> a b", "10", "<img> B A"),
        ("a<b></b> b", "01", "A<b></b> B"),
        ("H<sub>2</sub>O b", "10", "B H<sub>2</sub>O"),
        ("a <b>b c d</b> e", "12034", "<b>B C</b> A D E"),
        ("a &amp; <b>&lt;b</b>", "210", "<b>&lt;B</b> &amp; A"),
        ("a <code>x y</code> b", "3120", "B <code>x y</code> A"),
    ],
)
def test_placing(text: str, order: str, result: str) -> None:
    positions = list(map(int, order))
    model = Translate(lambda lines: [answered(line.text, positions) for line in lines], aligns=True)
    assert translate_document("html", text, "a", model) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Paris<sup>*</sup> and works", "PARIS<sup>*</sup> E TRABALHA"),
        ("Paris<sup>*</sup>, and works", "PARIS<sup>*</sup> E TRABALHA"),
        ("Paris <img> and works", "PARIS <img> E TRABALHA"),
    ],
)
def test_marks_follow_the_word_that_attends_most(text: str, result: str) -> None:
    """The conjunction attends to the word before it, as those of the trained models do."""

    def answer(line: Line) -> Translation:
        sources = words_of(line.text)
        attention = [(0, 0, 0.9), (0, 1, 0.6), (1, 1, 0.4), (2, 2, 0.8)]
        new = "PARIS E TRABALHA"
        return Translation(
            new, 0.0, [], attention=attention, source_words=sources, target_words=words_of(new)
        )

    model = Translate(lambda lines: map(answer, lines), aligns=True)
    assert translate_document("html", text, "a", model) == result


def random_model(seed: int) -> Translate:
    """Reverse, drop or repeat words, and align them at random."""

    def answer(text: str) -> Translation:
        chance = random.Random(f"{seed} {text}")
        words = words_of(text)
        order = [
            index for index in range(len(words)) for _ in range(chance.choice((0, 1, 1, 1, 2)))
        ]
        if chance.random() < 0.5:
            chance.shuffle(order)
        aligned = answered(text, order or [0])
        if chance.random() < 0.5 and aligned.alignment:
            pairs = [(chance.randrange(len(words)), target) for _, target in aligned.alignment]
            return replace(aligned, alignment=pairs)
        return aligned

    return Translate(lambda lines: [answer(line.text) for line in lines], aligns=True)


def random_document(chance: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(chance.randrange(1, 6)):
        trick = chance.randrange(9 if depth < 3 else 5)
        if trick < 4:
            parts.append(chance.choice(["one", "two three", "four.", "&amp;", "&lt;i&gt;", "é, x"]))
        elif trick == 4:
            parts.append(chance.choice(["<img>", "<br>", "<!-- c -->", "<code>x y</code>"]))
        else:
            name = chance.choice(["b", "i", "a", "p", "span"])
            parts.append(f"<{name} x={trick}>{random_document(chance, depth + 1)}</{name}>")
    return chance.choice(["", " "]).join(parts)


def check_document(seed: int) -> None:
    chance = random.Random(seed)
    text = random_document(chance)
    model = random_model(seed)
    new = translate_document("html", text, "a", model)
    tags = re.compile(r"<[^>]*>|<code>x y</code>")
    assert sorted(tags.findall(new)) == sorted(tags.findall(text)), text
    opened = []
    for tag in re.findall(r"</?(?:b|i|a|p|span|code)\b", new):
        if tag.startswith("</"):
            assert opened.pop() == tag[2:], text
        else:
            opened.append(tag[1:])
    plain = " ".join(re.findall(r"\w+", re.sub(r"<[^>]*>|&\w+;", " ", text)))
    if plain:
        [translation] = model.lines([Line(plain)])
        assert translate_document("html", plain, "a", model) == translation.text


def test_random_documents() -> None:
    for seed in range(200):
        check_document(seed)


@pytest.mark.slow
def test_many_random_documents() -> None:
    for seed in range(10_000):
        check_document(seed)
