"""What a translation must contain: found in sources, restored in translations."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.text import kept
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.kept import Item, items_of, restored, shown, with_stand_ins
from nmt_cli.text.languages import Language, language_of

PT, EN, UNKNOWN = map(language_of, ("pt", "en", ""))


def items(text: str, placeholders: tuple[Span, ...] = ()) -> list[Item]:
    return items_of(text, placeholders, PT, EN, code=True)


def found(text: str) -> list[str]:
    return [text[item.start : item.end] for item in items(text)]


def repair(source: str, translation: str) -> str:
    return restored(source, items(source), MappedText(translation))[0].text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Veja https://a.pt/x?y=1, por favor.", ["https://a.pt/x?y=1"]),
        ("Escreva a ana.silva@exemplo.pt.", ["ana.silva@exemplo.pt"]),
        ("Olá, {name}! Tem {{ n }} e ${x}.", ["{name}", "{{ n }}", "${x}"]),
        ("%(count)d de %1$s e %d", ["%(count)d", "%1$s", "%d"]),
        ("100% de certeza", ["100"]),
        ("Use item_count e --verbose", ["item_count", "--verbose"]),
        ("x² e 10³", ["x²", "10³"]),
        ("leitura/gravação", []),
        ("vermelho/verde/azul", []),
        ("Feito.\\n", []),
        ("$HOME/bin", ["$HOME/bin"]),
        ("às 10h30", ["10", "30"]),
        ("A" * 64, ["A" * 64]),
        ("<b>x</b> &amp; y", ["<b>", "</b>", "&amp;"]),
    ],
)
def test_items(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_dates_times_and_versions_are_one_item() -> None:
    text = "Em 10/12/2024 às 10:30 na 1.2.3"
    assert found(text) == ["10/12/2024", "10:30", "1.2.3"]
    assert not any(item.is_number for item in items(text)[:2])


def test_placeholders_come_first() -> None:
    text = "Tem 5% de {n} gatos"
    assert [item.written for item in items(text, ((4, 6),))] == [("5%",), ("{n}",)]


def test_numbers_get_their_separators() -> None:
    assert repair("R$ 1.234,56", "R$ 1.234,56") == "R$ 1,234.56"
    assert repair("Tem 480.000.000", "It has 480 000,000") == "It has 480,000,000"
    written = [item.written[0] for item in items("1.521 km², 2,5m³, m², 10² e 1.5²")]
    assert written == ["1,521 km²", "2.5m³", "m²", "10²", "1.5²"]


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("A marca Py_TPFLAGS_MANAGED_DICT existe.", "The Py_TPFLAGS_AGED_DICT flag exists."),
        ("Está em https://tools.ietf.org/html/rfc2251.", "At https://tools.ietf.org/rfc2251."),
        ("Use DOMNode::$isConnected.", "Use DOMNode::$isConned."),
        ("$HOME/bin, $PATH", "$HAME/bin and $PATH"),
        ("Tem 480.000.000", "It has 480,000"),
        ("só get_item", "get_itm or get_tem"),
        ("From 1:30 to 3 p.m.", "Às 13h30"),
        ("A loja fecha às 18h54.", "The store closes at 6:45 p.m."),
        ("A loja fecha às 18h54.", "The store closes at 7:54 p.m."),
        ("It costs 10.00 dollars", "Custa dólares"),
    ],
)
def test_misspelled_and_other_items_are_missed(source: str, translation: str) -> None:
    final, is_complete = restored(source, items(source), MappedText(translation))
    assert (final.text, is_complete) == (translation, False)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Use str.join(lista).", "Use str.join(list)."),  # right already
        ("Um computador barato", "A cheap compter"),  # words, not code
        ("no séc. V a.C.", "in the 5th century B.C."),
        ("usa getName", "uses set_value"),  # not similar
        ("leitura/gravação e entrada/saída", "reading/writing and input/output"),
    ],
)
def test_everything_else_stays(source: str, translation: str) -> None:
    assert repair(source, translation) == translation


def test_stand_ins_are_numbers_that_the_text_lacks() -> None:
    text = "Page%d e 37 item_count"
    first, number, code = with_stand_ins(text, items(text), every=False)
    assert (first.stand_in, number.stand_in, code.stand_in) == ("42", "", "")
    assert shown(text, first) == " 42"
    stand_ins = with_stand_ins(text, items(text), every=True)
    assert [item.stand_in for item in stand_ins] == ["42", "58", "64"]
    final, is_complete = restored(text, stand_ins, MappedText("Page 42 and 58 64"))
    assert (final.text, is_complete) == ("Page%d and 37 item_count", True)


def test_numbers_are_not_parts_of_others() -> None:
    source = "Tem 12 e 120"
    assert restored(source, items(source), MappedText("It has 120 only"))[1] is False
    assert restored(source, items(source), MappedText("It has 120 and 12"))[1] is True


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("A loja fecha às 18h54.", "The store closes at 6:54 p.m."),
        ("A loja fecha às 18h54.", "The store closes at 18:54."),
        ("O trem parte às 16h00", "The train leaves at 4 p.m."),
        ("Das 9h às 17h30", "From 9 a.m. to 5:30 p.m."),
        ("É às 15 horas.", "It is at 3 p.m."),
        ("The store closes at 6:54 p.m.", "A loja fecha às 18h54."),
        ("It is at 12:30 a.m.", "É à 0h30."),
        ("From 1:30 to 3 p.m.", "Das 13h30 às 15h"),
        ("Open 3–5 PM", "Aberto das 15h às 17h"),
        ("It starts at 8:00 am", "Começa às 08h"),
        ("16h00", "16h00"),
    ],
)
def test_hours_of_one_clock_may_become_those_of_the_other(source: str, translation: str) -> None:
    final, is_complete = restored(source, items(source), MappedText(translation))
    assert (final.text, is_complete) == (translation, True)


def read(text: str, source: Language = PT, target: Language = EN) -> str:
    kept = with_stand_ins(text, items_of(text, (), source, target, code=True), every=False)
    reading = MappedText(text)
    stand_ins = [item for item in kept if item.stand_in]
    return reading.replaced((item.start, item.end, shown(text, item)) for item in stand_ins).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Desde o século XVIII", "Desde o século 18"),
        ("nos séculos I e XXI,", "nos séculos 1 e 21,"),
        ("séculos XVI-XVII", "séculos 16-17"),
        ("do século XI ao XIII", "do século 11 ao 13"),
        ("no séc. V a.C.", "no séc. 5 a.C."),
        ("O SÉCULO XX", "O SÉCULO 20"),
        ("Século xix", "Século 19"),
        ("séculos IXI e XXX", "séculos IXI e XXX"),  # no numerals of centuries
        ("D. João VI", "D. João VI"),
    ],
)
def test_centuries_are_read_in_digits(text: str, expected: str) -> None:
    assert read(text) == expected


def test_a_century_is_found_once_among_other_numbers() -> None:
    source = "No século XVII, em 1700"
    kept = items(source)
    assert restored(source, kept, MappedText("In the 17th century, in 1700"))[1] is True
    assert restored(source, kept, MappedText("In the 16th century, in 1700"))[1] is False


def test_centuries_stay_for_languages_with_roman_numerals() -> None:
    text = "Desde o século XVIII"
    roman = (language_of(code) for code in ("es", "fr", "bg", "lt"))
    for pair in (*((PT, target) for target in roman), (PT, UNKNOWN), (UNKNOWN, EN), (EN, PT)):
        assert read(text, *pair) == text


def test_items_keep_their_case_in_capitals() -> None:
    source = "USE item_count COM 5 km"
    final, is_complete = restored(
        source, items(source), MappedText("use item_count with 5 km"), capitals=True
    )
    assert (final.text, is_complete) == ("USE item_count WITH 5 KM", True)


TEXTS = st.text(st.sampled_from("ab_.:/$1 2*,é(\n%{}²"), max_size=40)


@given(TEXTS, TEXTS)
def test_what_is_complete_contains_all_items(source: str, translation: str) -> None:
    kept = items(source)
    ends = [0, *(item.end for item in kept)]
    assert all(end <= item.start < item.end for end, item in zip(ends, kept, strict=False))
    final, is_complete = restored(source, kept, MappedText(translation))
    if is_complete:
        for item in kept:
            assert final.text.count(item.written[0]) >= 1


@given(TEXTS)
def test_a_copy_is_complete(source: str) -> None:
    assert restored(source, items(source), MappedText(source))[1]


PARTS = st.sampled_from(
    ["a", "Bc", "DE", "é", "7", "٣", "²", " ", ".", ":", "-", "/", "\\", "n", "x", "@", "%", "$",
     "&", "amp;", "<b>", "{", "}", "_", "www", "字", "(", "“", "'", "k" * 20]
)  # fmt: skip


@given(st.lists(PARTS, max_size=12).map("".join))
def test_a_text_without_signs_of_items_has_none(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_SIGN", re.compile(""))  # all patterns look at the text
        expected = items(text)
    assert items(text) == expected
