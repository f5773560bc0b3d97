"""Lines with numbers: each kind has some in both directions, and a wrong number is seen."""

import re

import pytest

from benchmarks.numbers_and_signs import FRAMES, KINDS, invented, keeps, lines_of
from tools.wrapped.frames import frames


def test_lines_are_the_same_each_time_and_differ() -> None:
    assert FRAMES.keys() == KINDS.keys()
    for kind in KINDS:
        for direction in ("pt-en", "en-pt"):
            rows = list(lines_of(kind, direction, 30))
            assert rows == list(lines_of(kind, direction, 30))
            assert len({source for source, _ in rows}) > 15
            assert not any("{" in source or ".." in source for source, _ in rows)


def test_no_frame_is_one_of_the_training_text() -> None:
    known = {re.sub(r"\{\w+\}", "{}", side) for frame in frames() for side in frame}
    for text in FRAMES.values():
        new = set(text.replace(" | ", " = ").split(" = "))
        assert not new & known


@pytest.mark.parametrize(
    ("translation", "forms", "expected"),
    [
        ("It is 1,234.5 m.", ["1,234.5"], (True, True)),
        ("It is 1.234,5 m.", ["1,234.5"], (True, False)),
        ("It is 1,234.6 m.", ["1,234.5"], (False, False)),
        ("It is 51,234.5 m.", ["1,234.5"], (False, False)),
        ("It closes at 20:34.", ["8:34 p.m.", "20:34"], (True, True)),
        ("Closed.", ["8:34 p.m."], (False, False)),
        ("No século XIX.", ["XIX"], (True, True)),
        ("No século XX.", ["XIX"], (False, False)),
    ],
)
def test_what_a_translation_keeps(
    translation: str, forms: list[str], expected: tuple[bool, bool]
) -> None:
    assert keeps(translation, forms) == expected


def test_invented_letters() -> None:
    assert invented("O café", "The café", "en") == ""
    assert invented("The cat", "O gato não é São", "pt") == ""
    assert invented("O gato", "The c\u0430t \ufffd", "en") == "\u0430\ufffd"
