"""Line wrapping: lines of similar length, broken only where allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.formats.segments import balanced, breaks_of
from nmt_cli.formats.srt import find_spans


def split(text: str, weights: list[int], wide: bool = False) -> list[str]:
    return balanced(text, breaks_of(text, find_spans(text), wide), weights)


@pytest.mark.parametrize(
    ("text", "weights", "lines"),
    [
        ("one two three four", [1, 1], ["one two", "three four"]),
        ("one two three four", [3, 1], ["one two three", "four"]),
        ("one", [1, 1], ["one"]),
        ("one two", [1, 1, 1], ["one", "two"]),
        ("a b c d", [1, 1, 1, 1], ["a", "b", "c", "d"]),
        ("averyverylongword b c", [1, 1, 1], ["averyverylongword", "b", "c"]),
        ("a b averyverylongword", [1, 1, 1], ["a", "b", "averyverylongword"]),
        ('ab <font color="red">cd</font>', [1, 1], ["ab", '<font color="red">cd</font>']),
        ("", [1, 1], [""]),
        (" ", [1, 1], [" "]),
    ],
)
def test_where_lines_break(text: str, weights: list[int], lines: list[str]) -> None:
    assert split(text, weights) == lines


def test_scripts_without_spaces() -> None:
    text = "今天天气很好，我们去公园。"
    assert split(text, [1, 1]) == [text]
    assert split(text, [1, 1], wide=True) == ["今天天气很好，", "我们去公园。"]
    assert split("ab cd", [1, 1], wide=True) == ["ab", "cd"]


@given(st.text("ab 字，<>i/", max_size=40), st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_nothing_but_spaces_is_lost(text: str, weights: list[int]) -> None:
    for wide in (False, True):
        lines = split(text, weights, wide)
        assert len(lines) <= len(weights)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert all(lines) or not text
