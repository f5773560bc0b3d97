"""What translations keep of their sources, and their problems."""

import pytest

from nmt_cli.evaluate.checks import check_outputs, problems, spans
from nmt_cli.evaluate.evaluation import evaluate_systems
from nmt_cli.evaluate.texts import EvaluationText


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s de %(total)d, %1$s: %.2f%", {"printf": ["%s", "%(total)d", "%1$s", "%.2f"]}),
        ("100% de 5% grátis", {"number": ["100", "5"]}),
        ("{name} e {0}, {{ user.id }}, ${x}, {}", {"braces": ["{name}", "{0}", "{{ user.id }}",
                                                              "${x}", "{}"]}),
        ("$HOME e %APPDATA%, US$ 5", {"variable": ["$HOME", "%APPDATA%"], "number": ["5"]}),
        ("Veja https://a.org/x?y=1, ou www.b.pt.", {"url": ["https://a.org/x?y=1", "www.b.pt"]}),
        ("de ana.luz@a-b.pt para @x", {"email": ["ana.luz@a-b.pt"]}),
        ("`x %s`, ``y``, <code>z 1</code>", {"code": ["`x %s`", "``y``", "<code>z 1</code>"]}),
        ("isto `` é '' um 'a' `", {}),
        ("<b>não</b><br/> 2 < 3 > 1", {"tag": ["<b>", "</b>", "<br/>"], "number": ["2", "3", "1"]}),
        ("1.234,50 às 10:30", {"number": ["123450", "10", "30"]}),
        ("→ 5 € ≤ 6 😊 “é” — ó…", {"number": ["5", "6"], "symbol": ["→", "€", "≤", "😊"]}),
    ],
)  # fmt: skip
def test_spans(text: str, expected: dict[str, list[str]]) -> None:
    pairs = list(spans(text).elements())
    assert sorted(pairs) == sorted((kind, span) for kind in expected for span in expected[kind])


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("o gato dorme", "the cat sleeps", []),
        ("", "", []),
        (" \u200b", "x", []),
        ("o gato", " \u200b", ["empty"]),
        ("o gato dorme", "O  gato dorme.", ["copied"]),
        ("\ufffdX\x16 R~lv", "X R~lv", []),  # noise has no translation
        ("Vila Real", "Vila Real", []),  # two words may be a name
        ("Use %s em {nome}: 123", "Use %s em {nome}: 123", []),
        ("o gato dorme", "the cat " * 5, ["repeating", "too long"]),
        ("o gato 😊", "the cat \ufffd", ["broken"]),
        ("o gato \ufffd", "the cat \ufffd", []),
        ("ha " * 9, "ha " * 9, ["copied"]),
        ("a" * 20, "b", []),
        ("a" * 21, "b" * 7, []),
        ("a" * 21, "b" * 6, ["too short"]),
        ("a" * 6, "b c d e f g h i j k l", ["too long"]),
        ("a" * 7, "b c d e f g h i j k l", []),
    ],
)
def test_problems(source: str, output: str, expected: list[str]) -> None:
    assert list(problems(source, output)) == expected


def test_checks_of_a_text() -> None:
    source = ["Olá, {nome}: %s de %s!", "Há 1.500 gatos em 3 casas", ""]
    systems = {
        "good": ["Hello, {nome}: %s of %s!", "There are 1,500 cats in 3 houses", ""],
        "bad": ["Hello, {Nome}: %s %s of %s %s", "", ""],
    }
    reference = ["Hello, {nome}: %s of %s!", "There are 1500 cats in three houses", ""]
    checks = check_outputs(source, systems, reference)
    assert (
        [(each.system, each.name, each.count, each.total, each.reference) for each in checks]
        == [
            ("good", "braces kept", 1, 1, 1),
            ("good", "printf kept", 2, 2, 2),
            ("good", "number kept", 2, 2, 1),
            *(("good", each, 0, 2, 0) for each in PROBLEMS),
            ("bad", "braces kept", 0, 1, 1),
            ("bad", "printf kept", 2, 2, 2),  # no more than the source has
            ("bad", "number kept", 0, 2, 1),
            ("bad", "empty", 1, 2, 0),
            *(("bad", each, 0, 2, 0) for each in PROBLEMS[1:]),
        ]
    )
    without = check_outputs(source, systems, None)
    assert [each.count for each in without] == [each.count for each in checks]
    assert {each.reference for each in without} == {None}


PROBLEMS = ["empty", "repeating", "copied", "broken", "too short", "too long"]


def test_only_a_text_with_a_source_has_checks() -> None:
    bare = evaluate_systems(EvaluationText("t", None, [["a cat"]]), {"s": ["a cat"]}, [], 0)
    assert bare.checks == []
    text = EvaluationText("t", ["um gato"], [])
    evaluation = evaluate_systems(text, {"s": ["a cat"]}, [], 0)
    assert [check.name for check in evaluation.checks] == PROBLEMS
    assert (evaluation.sentences, evaluation.references, evaluation.results) == (1, 0, [])
