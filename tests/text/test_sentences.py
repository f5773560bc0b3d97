"""Where lines are split, what stays between their parts, and how long sentences are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.text.languages import language_of
from nmt_cli.text.sentences import clauses, cut, texts

PT = language_of("pt")


def split(line: str, code: str = "pt") -> list[str]:
    return [line[slice(*span)] for span in texts(line, language_of(code))]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Uma frase. Outra! E aí? Sim… Fim.", ["Uma frase.", "Outra!", "E aí?", "Sim…", "Fim."]),
        ("Vi o Sr. Silva na Av. Paulista. Sim.", ["Vi o Sr. Silva na Av. Paulista.", "Sim."]),
        ("Frutas, p. ex. Maçãs. Sim.", ["Frutas, p. ex. Maçãs.", "Sim."]),
        ("Veja a p. 5. Sim.", ["Veja a p. 5.", "Sim."]),
        ("Do séc. II ao séc. IV. Sim.", ["Do séc. II ao séc. IV.", "Sim."]),
        ("O J. R. Silva veio. Sim.", ["O J. R. Silva veio.", "Sim."]),
        ("Nos U.S. Marines. Sim.", ["Nos U.S. Marines.", "Sim."]),
        ("A versão 1.25 saiu. Sim.", ["A versão 1.25 saiu.", "Sim."]),
        ("Espere... já vou.", ["Espere... já vou."]),
        ("oi. tudo bem? sim, etc. e tal", ["oi.", "tudo bem?", "sim, etc.", "e tal"]),
        ("espere... já vou. tchau", ["espere... já vou.", "tchau"]),
        ("Ele disse “Sim. Não” e saiu. Fim.", ["Ele disse “Sim. Não” e saiu.", "Fim."]),
        ("(Uma casa. Um gato.) Fim.", ["(Uma casa.", "Um gato.)", "Fim."]),
        ("Um gato (que dorme. Sim) aqui. Fim.", ["Um gato (que dorme. Sim) aqui.", "Fim."]),
        ('Ele disse "Sim." E saiu.', ['Ele disse "Sim."', "E saiu."]),
        ("ATENÇÃO: não toque", ["ATENÇÃO:", "não toque"]),
        ("ATENÇÃO: PERIGO", ["ATENÇÃO: PERIGO"]),
        ("Aviso: não toque", ["Aviso: não toque"]),
    ],
)  # fmt: skip
def test_sentences(line: str, parts: list[str]) -> None:
    assert split(line) == parts


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("  - Leite\tPão  ", ["Leite", "Pão"]),
        ("1. Leite", ["Leite"]),
        ("2.1 Leite", ["Leite"]),
        ("a) Leite", ["Leite"]),
        ("– Sim.\n– Não.", ["Sim.", "Não."]),
        ("# Leite", ["Leite"]),
        ("Um    Dois", ["Um", "Dois"]),
        ("Um\\nDois\\tTrês", ["Um", "Dois", "Três"]),
        ("C:\\novo\\ano", ["C:\\novo\\ano"]),
        ("Um\u2028Dois\r\n\r\n Três", ["Um", "Dois", "Três"]),
        ("-5 graus", ["-5 graus"]),
        ("", []),
    ],
)
def test_separators(line: str, parts: list[str]) -> None:
    assert split(line) == parts


def test_other_languages() -> None:
    assert split("我是学生。你好！", "zh") == ["我是学生。", "你好！"]
    assert split("I said no. I left.", "en") == ["I said no.", "I left."]
    assert split("Es ist z.B. Montag. Ja.", "de") == ["Es ist z.B. Montag.", "Ja."]
    assert split("Он живёт на ул. Мира. Да.", "ru") == ["Он живёт на ул. Мира.", "Да."]
    line = "Uma. Outra."
    assert [line[slice(*span)] for span in texts(line, None)] == [line]


@given(st.text('aB .!?\n\t\\n()"“”…—:-1。\u3000', max_size=40))
def test_no_character_outside_separators_is_lost(line: str) -> None:
    spans = list(texts(line, PT))
    ends = [0, *(end for _, end in spans)]
    assert all(end <= start < last for end, (start, last) in zip(ends, spans, strict=False))
    between = [line[end:start] for end, (start, _) in zip(ends, spans, strict=False)]
    assert not any(
        character.isalpha() and character not in "aBn" for gap in between for character in gap
    )


def test_clauses() -> None:
    line = "um, dois; três: quatro — cinco"
    parts = [line[slice(*span)] for span in clauses(line)]
    assert parts == ["um,", "dois;", "três:", "quatro —", "cinco"]


def test_long_sentences_are_cut_near_the_middle() -> None:
    def parts(line: str, size: int) -> list[str]:
        return [line[slice(*span)] for span in cut(line, 0, len(line), lambda a, b: b - a <= size)]

    assert parts("aaaa bbbb, cccc dddd", 12) == ["aaaa bbbb,", "cccc dddd"]
    assert parts("a, bbbb cccc dddd eeee", 12) == ["a, bbbb cccc", "dddd eeee"]
    assert parts("abcdefgh", 4) == ["abcd", "efgh"]
    assert parts("ab", 0) == ["a", "b"]


@given(st.text("ab ,", max_size=60), st.integers(1, 20))
def test_cuts_lose_only_white_space(line: str, size: int) -> None:
    spans = list(cut(line, 0, len(line), lambda start, end: end - start <= size))
    assert "".join("".join(line[slice(*span)] for span in spans).split()) == "".join(line.split())
    assert all(end - start <= size for start, end in spans)
