"""The steps of the text path: what the model reads, and what becomes of its translation."""

from collections.abc import Sequence

import pytest

from nmt_cli.text import steps
from nmt_cli.text.edits import MappedText
from nmt_cli.text.kept import Item
from nmt_cli.text.reading import Attempt, Pair, Reading
from nmt_cli.text.steps import Step

KNOWN = {"leia", "bom", "casa", "atenção", "novo", "isto", "não", "toque"}


class Words:
    """Knows words in lower case after a space, and abbreviations of three letters; letters else."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [
            [
                0
                for word in text.split()
                for _ in range(1 if word in KNOWN or word.lower() in ("usb", "o") else len(word))
            ]
            for text in texts
        ]


def reading(
    text: str, *chosen: Step, aligns: bool = False, items: Sequence[Item] = ()
) -> tuple[str, Reading]:
    """Return what the model reads after some steps."""
    state = Reading(MappedText(text), Attempt.WHOLE, list(items), Words(), aligns)  # type: ignore[arg-type]
    for step in chosen:
        step(state)
    return MappedText(text).replaced(sorted(state.edits)).text, state


def edited(state: Reading, translation: str) -> str:
    text = MappedText(translation)
    for edit in state.after:
        text = edit(text)
    return text.text


@pytest.mark.parametrize(
    ("text", "expected", "capitals"),
    [
        ("ABRA A PORTA!", "Abra a porta!", True),
        ("5.1 INTRODUÇÃO", "5.1 Introdução", True),
        ("PARE", "Pare", True),
        ("USB", "USB", False),
        ("O USB É BOM", "O USB É BOM", False),
        ("ATENÇÃO: não", "ATENÇÃO: não", False),
        ("Abra a porta", "Abra a porta", False),
        ("12345", "12345", False),
        ("DIE STRAẞE", "Die straße", True),
    ],
)
def test_texts_in_capitals(text: str, expected: str, capitals: bool) -> None:
    read, state = reading(text, steps.fold_capitals)
    assert (read, state.capitals) == (expected, capitals)


def test_words_in_items_count_neither_way() -> None:
    text = "ABRA item_count AGORA"
    read, state = reading(text, steps.fold_capitals, items=[Item(5, 15, ("item_count",))])
    assert (read, state.capitals) == ("Abra item_count agora", True)


def test_words_in_capitals_among_others() -> None:
    read, state = reading("Isto é ATENÇÃO NOVO, não USB", steps.fold_words, aligns=True)
    assert read == "Isto é atenção novo, não USB"
    assert state.pairs == [Pair(7, 19)]
    # Without attention they cannot be found in the translation.
    assert reading("Isto é ATENÇÃO NOVO", steps.fold_words)[0] == "Isto é ATENÇÃO NOVO"


def test_signs_around_few_words_are_taken_off() -> None:
    read, state = reading("O (novo) e “bom”", steps.set_off_signs, aligns=True)
    assert read == "O novo e bom"
    assert state.pairs == [Pair(2, 8, "(", ")"), Pair(11, 16, "“", "”")]


def test_other_signs_are_set_off() -> None:
    text = "O (novo e bom e novo e bom) (x"
    read, state = reading(text, steps.set_off_signs, aligns=True)
    assert read == "O ( novo e bom e novo e bom) (x"
    assert edited(state, "The ( new and good) ( x") == "The (new and good) (x"
    read, state = reading("O (novo) (fim)", steps.set_off_signs)
    assert (read, state.pairs) == ("O ( novo) (fim)", [])


@pytest.mark.parametrize("text", ["O [novo](bom)", "O *novo**bom*", "O novo * bom *", "O *novo *"])
def test_signs_that_touch_others_are_not_removed(text: str) -> None:
    assert not reading(text, steps.set_off_signs, aligns=True)[1].pairs


def test_signs_of_emphasis() -> None:
    read, state = reading("O *novo* e **muito bom**", steps.set_off_signs, aligns=True)
    assert read == "O novo e muito bom"
    assert [pair[2:] for pair in state.pairs] == [("*", "*"), ("**", "**")]


def test_signs_of_items_stay() -> None:
    item = Item(2, 8, ("(novo)",))
    assert reading("O (novo)", steps.set_off_signs, aligns=True, items=[item])[0] == "O (novo)"


def test_slashes() -> None:
    read, state = reading("bom/novo e/ou 1/2", steps.set_off_slashes)
    assert read == "bom / novo e/ou 1/2"
    assert edited(state, "good / new and / or") == "good/new and/or"


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("Espere... já", "Wait.. now", "Wait... now"),
        ("Espere… já", "Wait... now", "Wait… now"),
        ("Sim...", "Yes", "Yes..."),
        ("Sim...", "Yes.", "Yes..."),
        ("Sim…", "Yes....", "Yes…"),
        ("Espere... Não.", "Wait . . . No.", "Wait . . . No."),
        ("Sim.", "Yes...", "Yes..."),
    ],
)
def test_ellipses(text: str, translation: str, expected: str) -> None:
    assert edited(reading(text, steps.keep_ellipses)[1], translation) == expected


def test_labels() -> None:
    read, state = reading("Novo Bom", steps.fold_labels)
    assert read == "novo bom"
    assert edited(state, "good new") == "Good new"
    assert reading("Novo Xyz", steps.fold_labels)[0] == "novo Xyz"
    assert reading("isto é Novo", steps.fold_labels)[0] == "isto é Novo"
    long_text = "Novo bom novo bom novo bom"
    assert reading(long_text, steps.fold_labels)[0] == long_text
