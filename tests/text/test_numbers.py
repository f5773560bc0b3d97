"""Numbers, their separators in another language, and what is no number."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.text.languages import Language, language_of
from nmt_cli.text.numbers import numbers

PT, EN, FR, UNKNOWN = language_of("pt"), language_of("en"), language_of("fr"), Language()


def written(text: str, source: Language = PT, target: Language = EN) -> str:
    """Return a text with its numbers written as the target language does."""
    for start, end, forms in reversed(list(numbers(text, source, target))):
        text = text[:start] + forms[0] + text[end:]
    return text


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("480.000.000 de euros", "480,000,000 de euros"),
        ("R$ 1.234,56", "R$ 1,234.56"),
        ("3,5%", "3.5%"),
        ("-0,25", "-0.25"),
        ("1.500-2.000 km", "1,500-2,000 km"),  # from one number to another
        ("1.234", "1,234"),
        ("12", "12"),
        ("007", "007"),
    ],
)
def test_separators_follow_the_target_language(source: str, target: str) -> None:
    assert written(source) == target


@pytest.mark.parametrize(
    "text",
    [
        "10/12/2024", "10.12.2024", "10:30", "10:30,5", "versão 1.2.3", "192.168.0.1",
        "+55 11 91234-5678", "123.456.789-09", "-23.5505, -46.6333", "40.7128° N", "A4", "10h30",
        "3-1", "0.500-0.200", "2024-11-28", "x1.5y2",
    ],
)  # fmt: skip
def test_other_things_of_digits_stay(text: str) -> None:
    assert written(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has 1,234.5 km", "It has 1.234,5 km"),
        ("version 1.5", "version 1.5"),
        ("see § 4.2", "see § 4.2"),
        ("use Python 3.12 now", "use Python 3.12 now"),
        ("10.5 a.m.", "10.5 a.m."),
    ],
)
def test_versions_and_names_of_a_language_with_decimal_points(text: str, expected: str) -> None:
    assert written(text, EN, PT) == expected


def test_narrow_spaces() -> None:
    assert written("1.234.567,8", PT, FR) == "1\u202f234\u202f567,8"
    assert written("1 234 567,8", FR, EN) == "1,234,567.8"
    assert written("10 123 casas", PT, EN) == "10 123 casas"


def test_nothing_changes_if_a_language_is_unknown() -> None:
    for pair in ((UNKNOWN, EN), (PT, UNKNOWN), (UNKNOWN, UNKNOWN)):
        assert written("1.234,56 e 7,5", *pair) == "1.234,56 e 7,5"


@given(st.text("0123456789.,-/: aR$°v\u00a0\u202f", max_size=30))
def test_all_digits_stay_in_order(text: str) -> None:
    for pair in ((PT, EN), (EN, PT), (FR, EN), (UNKNOWN, EN)):
        spans = list(numbers(text, *pair))
        assert all(first[1] <= second[0] for first, second in pairwise(spans))
        for start, end, forms in spans:
            digits = re.sub(r"\D", "", text[start:end])
            assert [re.sub(r"\D", "", form) for form in forms] == [digits] * len(forms)
        assert sum(len(re.sub(r"\D", "", text[s:e])) for s, e, _ in spans) == len(
            re.sub(r"\D", "", text)
        )
