"""Subtitles: words change, everything else stays."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.srt import find_spans, translate_srt
from tests.formats.models import answering, by_text, hostile, marked, recorded, unchanged, upper

FILM = r"""1
00:00:01,000 --> 00:00:02,500 X1:100 X2:200 Y1:10 Y2:20
<i>Where have you been
all this time?</i>

2
00:00:03,000 --> 00:00:04,000
- In the garden.
- And you saw
nothing at all?

7
00:00:05.000 --> 00:00:06
{\an8}♪ <font color="#fff">Row, row, row your boat</font> ♪

8
00:00:07,000 --> 00:00:08,000

9
00:00:09,000 --> 00:00:10,000
1984

10
00:00:11,000 --> 00:00:12,000
Mr. <b>Smith</b>, see
https://smith.example/a?b=c


"""


DICTIONARY = {
    "Where have you been all this time?": "Wo bist du denn die ganze lange Zeit gewesen?",
    "In the garden.": "Im Garten.",
    "And you saw nothing at all?": "Und gesehen hast du überhaupt nichts?",
    "Row, row, row your boat": "Rudere, rudere dein Boot",
    "Mr. \U00100000Smith\U00100001, see https://smith.example/a?b=c": "Herr Smith, siehe",
    "Mr.": "Herr",
    "Smith": "Schmidt",
    ", see": ", siehe",
}


def test_a_film() -> None:
    calls, translate = recorded(by_text(DICTIONARY.__getitem__))
    assert (
        translate_srt(FILM, "film.srt", translate)
        == r"""1
00:00:01,000 --> 00:00:02,500 X1:100 X2:200 Y1:10 Y2:20
<i>Wo bist du denn die ganze
lange Zeit gewesen?</i>

2
00:00:03,000 --> 00:00:04,000
- Im Garten.
- Und gesehen hast du
überhaupt nichts?

7
00:00:05.000 --> 00:00:06
{\an8}♪ <font color="#fff">Rudere, rudere dein Boot</font> ♪

8
00:00:07,000 --> 00:00:08,000

9
00:00:09,000 --> 00:00:10,000
1984

10
00:00:11,000 --> 00:00:12,000
Herr <b>Schmidt</b>, siehe
https://smith.example/a?b=c


"""
    )
    assert len(calls) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n\n", " \n"])
def test_an_unchanged_translation_changes_nothing(end: str, tail: str) -> None:
    text = (FILM.rstrip() + tail).replace("\n", end)
    assert translate_srt(text, "film.srt", unchanged) == text
    shouted = translate_srt(text, "film.srt", upper)
    assert shouted.count(end) == shouted.count("\n") == text.count("\n") or end == "\n"
    assert "WHERE HAVE YOU BEEN" + end + "ALL THIS TIME?" in shouted


def cue(*lines: str) -> str:
    return "1\n00:00:01,000 --> 00:00:02,000\n" + "".join(f"{line}\n" for line in lines) + "\n"


@pytest.mark.parametrize(
    ("lines", "sent"),
    [
        (["- A b", "- C d"], ["A b", "C d"]),
        (["-A b", "–C d"], ["A b", "C d"]),
        (["A b", "- C d"], ["A b", "C d"]),
        (["<i>- A b</i>", "{\\an8}- C d"], ["A b", "C d"]),
        (["--so he said", "and went"], ["--so he said and went"]),
        (["-", "a"], ["- a"]),
        (["a", "", "b", "c"], ["a", "b c"]),
        (["  a  ", "\tb"], ["a b"]),
        (["<i>a</i>", "<i>b</i>"], ["\U00100000a\U00100001 \U00100002b\U00100003"]),
        (["a\\Nb"], ["a b"]),
    ],
)
def test_lines_that_are_translated_together(lines: list[str], sent: list[str]) -> None:
    calls, translate = recorded(unchanged)
    assert translate_srt(cue(*lines), "a.srt", translate) == cue(*lines)
    assert calls == [sent]


def test_fewer_words_than_lines() -> None:
    assert translate_srt(cue("a b", "c d", "e"), "a", answering(["Donau"])) == cue("Donau")
    assert translate_srt(cue("a", "b"), "a", answering(["今天天气"])) == cue("今天", "天气")


def test_a_translation_that_looks_like_a_time_line_is_rejected() -> None:
    text = cue("one") + cue("two") + cue("three", "", "four")
    answers = ["00:00:01,000 --> 00:00:02,000", "zwei", "drei", "10.12.2020 und so"]
    assert translate_srt(text, "a", answering(answers)) == (
        cue("one") + cue("zwei") + cue("three", "", "four")
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no subtitle", 1),
        ("\n\n  no subtitle\n", 3),
        ("hello\n" + FILM, 1),
        ("1\n00:00:01,000 -> 00:00:02,000\na\n", 1),
        (cue("a") + "2\n00:00:01,000 -> 00:00:02,000\nb\n", 6),
        (cue("a") + "2\n00:00:01,000 – 00:00:02,000\nb\n", 6),
        (cue("a") + "2\nb\n\n" + cue("c"), 6),
        ("1\n99999999999999:00:00,000 --> 00:00:02,000\na\n", 1),
        (cue("a") + f"2\n00:00:01,000 --> 0:0:{'9' * 5000}\nb\n", 6),
        (cue("a").replace("\n", "\r"), 1),
    ],
)
def test_malformed_subtitles(text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"^a.srt, line {line}: not a subtitle; each is a number"):
        translate_srt(text, "a.srt", unchanged)


LINE = st.lists(
    st.sampled_from(
        ["<i>", "</i>", "{\\an8}", "- ", "one ", "two", " three.", "♪", "&lt;", "7", "\\N", "\t",
         "\u2028", "\x00", "\x0c", "\x85", "10.12.2020", "http://a.b", "字"]
    ),
    min_size=1, max_size=6,
).map("".join)  # fmt: skip
CUES = st.lists(st.lists(LINE, max_size=3), min_size=1, max_size=4)


def film(cues: list[list[str]], end: str) -> str:
    parts = []
    for number, lines in enumerate(cues):
        parts += [str(number), f"00:00:{number:02},000 --> 00:00:{number:02},500", *lines, ""]
    return "".join(f"{part}\n" for part in parts).replace("\n", end)


@given(CUES, st.sampled_from(["\n", "\r\n"]), st.integers(0, 10**6))
@example([["字", "- 10.12.2020", "one "]], "\n", 0)
@example([[" three.", "- "]], "\n", 0)
def test_any_film_and_any_model(cues: list[list[str]], end: str, seed: int) -> None:
    text = film(cues, end)
    models = [unchanged, marked, hostile(seed)]
    try:
        results = [translate_srt(text, "a", model) for model in models]
    except InputError:  # a line with only a date looks like a damaged time
        return
    assert results[0] == text
    times = re.findall(r"(?m)^\d+\r?\n.* --> .*$", text)
    for result in results[1:]:
        assert re.findall(r"(?m)^\d+\r?\n.* --> .*$", result) == times
        assert result.count("\n") <= text.count("\n")
        translate_srt(result, "a", unchanged)
        if end == "\r\n":
            assert result.count("\n") == result.count("\r\n")
        assert spans(result) == spans(text)


def spans(text: str) -> list[list[str]]:
    """Return the markup of each subtitle.

    Line ends and tabs move with the lines, and a translation may have a dash after a sentence.
    """
    contents = re.split(r"(?m)^\d+\n.* --> .*\n", text.replace("\r", ""))
    lines = [re.sub(r"\\[Nn]|[\n\t]", " ", content) for content in contents]
    found = [[line[span.start : span.end] for span in find_spans(line)] for line in lines]
    return [sorted(raw for raw in markup if not raw.startswith(" ")) for markup in found]


def test_hostile_files_are_fast() -> None:
    long = "word " * 20_000
    assert translate_srt(cue(long), "a", unchanged) == cue(long)
    tags = cue("<i>" * 3_000 + "a" + "</i>" * 3_000, "<" * 20_000, "{" * 20_000, "a@" * 9_000)
    assert translate_srt(tags, "a", unchanged) == tags
    assert translate_srt("\n" * 3_000, "a", unchanged) == "\n" * 3_000
