"""Code that a translation misspells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.text import edits
from nmt_cli.text.edits import MAX_PIECES, MappedText


def repair(source: str, translation: str) -> str:
    return edits.repair(source, MappedText(translation)).text


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (
            "A marca Py_TPFLAGS_MANAGED_DICT existe.",
            "The Py_TPFLAGS_AGED_DICT flag exists.",
            "The Py_TPFLAGS_MANAGED_DICT flag exists.",
        ),
        (
            "Está em https://tools.ietf.org/html/rfc2251#section-4.2.2.",
            "It is at https://tools.ietf.org/rfc2251#section-4.2.2.",
            "It is at https://tools.ietf.org/html/rfc2251#section-4.2.2.",
        ),
        ("Use DOMNode::$isConnected.", "Use DOMNode::$isConned.", "Use DOMNode::$isConnected."),
        ("`*args.count`", "“*args.cunt”", "“*args.count”"),
        ("São 479001600 maneiras.", "There are 47900 ways.", "There are 479001600 ways."),
        ("Veja unittest.TestCase.setUp.", "See fuel.as.setUp.", "See unittest.TestCase.setUp."),
        ("uma instância de ABCMeta", "an instance of PlatformMeta", "an instance of ABCMeta"),
        ("$HOME/bin, $PATH", "$HAME/bin and $PATH", "$HOME/bin and $PATH"),
    ],
)
def test_misspelt_code_is_copied(source: str, translation: str, expected: str) -> None:
    assert repair(source, translation) == expected


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Use str.join(lista).", "Use str.join(list)."),  # right already
        ("Um computador barato", "A cheap compter"),  # words, not code
        ("às 10h30", "at 10:30"),  # times and decades are no code
        ("in the 1980s", "nos anos 1980"),
        ("São 1.234,5 km em 2001.", "It is 1,234.5 km in 2001."),
        ("leitura/gravação e entrada/saída", "reading/writing and input/output"),
        ("no séc. V a.C.", "in the 5th century B.C."),  # too short
        ("usa getName", "uses set_value and x.y.z.w"),  # not similar
        ("usa ler_páginas", "uses ler_paginas"),  # not in ASCII
        ("veja a.b/c.d", "see the page"),  # lost altogether
    ],
)
def test_everything_else_stays(source: str, translation: str) -> None:
    assert repair(source, translation) == translation


def test_the_most_similar_code_comes_first() -> None:
    source = "item_count, item_counts and item_name"
    # Of 10 and 11 characters, item_conts shares 7 with item_count and 10 with item_counts.
    assert repair(source, "item_nme and item_conts") == "item_name and item_counts"


def test_each_piece_of_code_is_used_once() -> None:
    assert repair("só get_item", "get_itm or get_tem") == "get_item or get_tem"


def test_a_line_of_little_else_is_left_alone() -> None:
    def codes(text: str, count: int) -> str:
        return " ".join(f"name_{number}_{text}" for number in range(count))

    assert repair(codes("right", MAX_PIECES), codes("rght", MAX_PIECES)) == codes(
        "right", MAX_PIECES
    )
    assert repair(codes("right", MAX_PIECES + 1), codes("rght", MAX_PIECES + 1)) == codes(
        "rght", MAX_PIECES + 1
    )


TEXTS = st.text(st.sampled_from("ab_.:/$1 *,é(\n"), max_size=60)


@given(TEXTS, TEXTS)
def test_words_and_what_is_right_stay(source: str, translation: str) -> None:
    repaired = repair(source, translation)
    # Alignments number words.
    assert len(repaired.split()) == len(translation.split())
    assert repair(translation, translation) == translation
