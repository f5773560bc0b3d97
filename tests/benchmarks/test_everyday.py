"""The everyday lines are well-formed, and what counts as acceptable."""

import pytest
from everyday import FILE, Line, expanded, normalized, read

from nmt_cli.evaluate.checks import problems, spans

DIRECTIONS = ["pt-en", "en-pt"]


def test_every_row_is_one_line_of_a_direction() -> None:
    rows = [row for row in FILE.read_text("utf-8").splitlines() if not row.startswith("#")]
    sources = [[line.source for line in read(direction)] for direction in DIRECTIONS]
    assert len(rows) == sum(map(len, sources)) >= 200
    assert all(len(set(texts)) == len(texts) for texts in sources)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_answer_is_a_good_output(direction: str) -> None:
    for line in read(direction):
        assert line.answers
        kept = {span for span in spans(line.source.casefold()) if span[0] != "number"}
        for answer in line.answers:
            assert answer == " ".join(answer.split()), answer
            assert "|" not in answer
            assert not set(problems(line.source, answer)) - {"too long", "too short"}, answer
            assert kept <= spans(answer).keys(), answer


def test_expanded() -> None:
    assert expanded("[|the ]file [is|was] lost.") == {
        "file is lost", "the file is lost", "file was lost", "the file was lost",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Good\u00a0 morning! ", "good morning"),
        ("I DON’T know…", "i don't know"),
        ("Yes, 1,000.50 ?", "yes 1,000.50"),
        ("e\u0301", "é"),
        ("?", ""),
    ],
)
def test_normalized(text: str, expected: str) -> None:
    assert normalized(text) == expected


@pytest.mark.parametrize(
    ("translation", "accepted"),
    [
        ("Hello, {name}!", True),
        ("hello {name}", True),
        ("Hello, {Name}!", False),
        ("Hello, name!", False),
        ("", False),
    ],
)
def test_placeholders_are_kept_exactly(translation: str, accepted: bool) -> None:
    line = Line("interface", "Olá, {name}!", expanded("hello, {name}"))
    assert line.accepts(translation) is accepted
