"""Signs and capitals around the translations of the words that they were around."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.search.placing import Node, Placing, enclosed
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.reading import Pair


def spans(text: str) -> list[Span]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def placed(source: str, target: str, order: str, *pairs: Pair) -> str:
    """Enclose words of a translation; ``order`` has the source word of each of its words."""
    words = spans(source)
    links = [(words[int(w)], span, 1.0) for w, span in zip(order, spans(target), strict=True)]
    return enclosed(MappedText(target), source, links, pairs).text


CAR = "O carro azul é bom"


@pytest.mark.parametrize(
    ("target", "order", "pairs", "expected"),
    [
        ("The blue car is good", "02134", [Pair(8, 12, "(", ")")], "The (blue) car is good"),
        ("The blue car is good.", "02134", [Pair(15, 18, "“", "”")], "The blue car is “good”."),
        ("The car blue is good", "01234", [Pair(2, 12, "(", ")")], "The (car blue) is good"),
        (
            "The blue car is good",
            "02134",
            [Pair(2, 12, "(", ")"), Pair(8, 12, "“", "”")],
            "The (“blue” car) is good",
        ),
        ("The blue car is good", "02134", [Pair(8, 12)], "The BLUE car is good"),
        ("The blue car is good", "02134", [Pair(2, 7), Pair(8, 12, "(", ")")],
         "The (blue) CAR is good"),
        ("It", "0", [Pair(0, 1, "(", ")")], "(It)"),
        ("The car is good", "0134", [Pair(8, 12, "(", ")")], "The car (is) good"),
    ],
)  # fmt: skip
def test_pairs(target: str, order: str, pairs: list[Pair], expected: str) -> None:
    assert placed(CAR, target, order, *pairs) == expected


def test_positions_are_those_of_the_translation() -> None:
    words = spans(CAR)
    links = [(words[w], span, 1.0) for w, span in zip((0, 2), spans("The blue"), strict=True)]
    text = enclosed(MappedText("The blue"), CAR, links, [Pair(8, 12, "(", ")")])
    assert text.text == "The (blue)"
    assert text.current(4, 8) == (5, 9)
    assert text.origin(5, 9) == (4, 8)


@given(st.data())
def test_all_signs_and_words_stay(data: st.DataObject) -> None:
    source = " ".join("abcdef")
    target = " ".join(data.draw(st.lists(st.sampled_from(["x", "yy", "z."]), min_size=4)))
    words = spans(source)
    links = [
        (data.draw(st.sampled_from(words)), span, data.draw(st.sampled_from([0.1, 0.6, 1.0])))
        for span in spans(target)
    ]
    starts = data.draw(st.lists(st.sampled_from([0, 2, 4, 6]), unique=True, max_size=4))
    pairs = [Pair(start, start + 1, "(", ")") for start in starts]
    final = enclosed(MappedText(target), source, links, pairs).text
    assert final.count("(") == final.count(")") == len(pairs)
    assert re.sub(r"[()]", "", final) == target
    assert all(re.search(r"\w", inside) for inside in re.findall(r"\(([^()]*)", final))


def test_an_element_with_letters_gets_a_word_with_letters() -> None:
    nodes = [Node(0, 4, "<a>", "</a>")]
    links = [((0, 4), (0, 1), 0.9), ((5, 9), (2, 7), 0.9)]
    assert Placing("casa três", "3 house", links, nodes).written(nodes) == "3 <a>house</a>"
