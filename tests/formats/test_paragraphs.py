"""Plain text by paragraphs: joined, translated, wrapped again."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_cli.formats.paragraphs import translate_paragraphs
from nmt_cli.formats.placing import Translate
from tests.formats.models import by_text, hostile, recorded, unchanged, upper

LETTER = """\
   ANNUAL REPORT
   =============

   The car is good and the house of my sister is near the old beach,
where the children play. The
cat sleeps.

Flower Street, 123
Recife

- The first line of an item that is rather long and continues on the
  next line.
- Short.
1) One more item of the list, which is as long as the first item was
and continues without indentation.

> The teacher said that the meeting of tomorrow is cancelled because
> the director is ill.
>
>> Thanks.

Name        Age   City
Maria\t30   Recife

As armas e os barões assinalados que da ocidental praia
Por mares nunca de antes navegados passaram ainda além
E entre gente remota edificaram novo reino que sublimaram

See http://a.example/a/very/long/address/that/does/not/end/for/more/than/one/hundred/and/twenty/signs/x?y=1
for the rest of the story, which is long enough to be wrapped, twice
at least.
"""

TEXTS = [
    "ANNUAL REPORT",
    "The car is good and the house of my sister is near the old beach, where the children "
    "play. The",
    "cat sleeps.",
    "Flower Street, 123",
    "Recife",
    "The first line of an item that is rather long and continues on the next line.",
    "Short.",
    "One more item of the list, which is as long as the first item was and continues without "
    "indentation.",
    "The teacher said that the meeting of tomorrow is cancelled because the director is ill.",
    "Thanks.",
    "Name", "Age", "City", "Maria", "Recife",
    "As armas e os barões assinalados que da ocidental praia",
    "Por mares nunca de antes navegados passaram ainda além",
    "E entre gente remota edificaram novo reino que sublimaram",
    "See http://a.example/a/very/long/address/that/does/not/end/for/more/than/one/hundred/and/"
    "twenty/signs/x?y=1 for the rest of the story, which is long enough to be wrapped, twice "
    "at least.",
]  # fmt: skip


def translated(text: str, model: Translate) -> str:
    return translate_paragraphs(text, "a", model)


def test_the_texts_of_a_document() -> None:
    calls, translate = recorded(unchanged)
    assert translated(LETTER, translate) == LETTER
    # "The" is a short line: "cat" would have fitted in.
    assert calls == [list(dict.fromkeys(TEXTS))]


def test_wrapping() -> None:
    text = "  The quick brown fox jumps over the lazy dog and runs\naway from it, fast.\n"
    long = by_text(lambda text: text.replace("fox", "and very clever animal"))
    assert translated(text, long) == (
        "  The quick brown and very clever animal jumps over\n"
        "the lazy dog and runs away from it, fast.\n"
    )
    short = by_text(lambda text: "A fox runs.")
    assert translated(text, short) == "  A fox runs.\n"
    item = "* The quick brown fox jumps over the lazy dog and is\r\n  not tired.\r\n\r\nEnd  \r\n"
    assert translated(item, long) == (
        "* The quick brown and very clever animal jumps over\r\n"
        "  the lazy dog and is not tired.\r\n\r\nEnd  \r\n"
    )


def test_a_line_does_not_become_an_item_or_a_quote() -> None:
    text = "aaaa " * 10 + "aaaa\nbbbb\n"
    model = by_text(lambda text: "cc " * 15 + "dddd - > 12. eeee ffff")
    assert translated(text, model) == "cc " * 14 + "cc\ndddd - > 12. eeee ffff\n"


def test_scripts_without_spaces_are_wrapped() -> None:
    text = "word " * 10 + "word\nword word\n"
    assert translated(text, by_text(lambda text: "天" * 70)) == "天" * 54 + "\n" + "天" * 16 + "\n"


def test_mail_and_unwrapped_text_keep_their_lines() -> None:
    for text in (
        "From: Ana Maria <ana@mail.example>, the head of the board\n"
        "To: Rui Costa <rui@mail.example>, the old head of the board\n"
        "Subject: The meeting of tomorrow\n",
        ("word " * 60).strip() + "\n" + ("more " * 58).strip() + "\n",
        "-- \nAna\n",
    ):
        changed = text.upper().replace("ANA@MAIL.EXAMPLE", "ana@mail.example")
        assert translated(text, upper) == changed.replace("RUI@MAIL.EXAMPLE", "rui@mail.example")


LINES = st.lists(
    st.sampled_from(
        ["The quick brown fox jumps over the lazy dog and is not", "it tired of that. ", "", " ",
         "> quoted", ">> a", "- item", "  - b", "1. c", "  deep", "\tx\ty", "a   b", "Rua 1", "—",
         "é", "====", "\u2028", "\x0c", "http://x.y/" + "z" * 130, "w" * 60, "{{ a b }} c", "\x1b",
         ">", "- "]
    ),
    max_size=12,
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXT = st.builds(lambda lines, end: end.join(lines), LINES, ENDS) | st.text(max_size=40)


@given(TEXT, st.integers(0, 10**6))
@example("- \n-  a", 0)
def test_any_text_and_any_model(text: str, seed: int) -> None:
    assert translated(text, unchanged) == text
    new = translated(text, by_text(str.swapcase))
    kept = [re.sub(r"[\s>]+", "", side) for side in (new, text.swapcase())]
    assert kept[0].casefold() == kept[1].casefold() or "http" in text or "{{" in text
    broken = translated(text, hostile(seed))
    blank = [len(re.findall(r"(?m)^[ \t]*\r?$", side)) for side in (text, broken)]
    assert "\r" in text or blank[0] == blank[1]


@pytest.mark.parametrize(
    "text", ["a " * 20_000, "word\n" * 5_000, ">" * 5_000, " " * 20_000, ("x" * 60 + "\n") * 2_000]
)
def test_hostile_files_are_fast(text: str) -> None:
    assert translated(text, unchanged) == text
    translated(text, upper)
