"""Protected spans survive any model output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.formats.messages import placeholders_finder
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.formats.spans import Finder, Kind, Span, paired
from nmt_cli.formats.srt import find_spans as srt_spans
from tests.formats.models import answering, by_text, hostile, marked, recorded, unchanged, upper

FORMAT = placeholders_finder(printf=True, qt=False)
PLAIN = placeholders_finder(printf=False, qt=False)
QT = placeholders_finder(printf=False, qt=True)


def kept(text: str, find: Finder) -> list[str]:
    return [text[span.start : span.end] for span in find(text)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("%s of %d", ["%s", "%d"]),
        ("%1$s %2$-5d %(name)s %(n).2f %%", ["%1$s", "%2$-5d", "%(name)s", "%(n).2f", "%%"]),
        ("%5.2f %*d %lu %-10s %@", ["%5.2f", "%*d", "%lu", "%-10s", "%@"]),
        ("{0} {name} {} {:>8} {user.name!r} {x:,.2f}",
         ["{0}", "{name}", "{}", "{:>8}", "{user.name!r}", "{x:,.2f}"]),
        ("$HOME ${XDG} costs $5 %USER% %{count} #{x}",
         ["$HOME", "${XDG}", "%USER%", "%{count}", "#{x}"]),
        ("a &amp; b &#39; &#x27; AT&T", ["&amp;", "&#39;", "&#x27;"]),
        ("see https://a.b/c?d=e, or me@x.org.", ["https://a.b/c?d=e", "me@x.org"]),
        ('<a href="x">b</a><br/>c < d > e', ['<a href="x">', "</a>", "<br/>"]),
        ("press <kbd>Ctrl</kbd> <!-- no --> now", ["<kbd>Ctrl</kbd>", "<!-- no -->"]),
        ("use --force or ``x y`` or :ref:`z`", ["--force", "``x y``", ":ref:`z`"]),
        ("{{ user }} {% if x %}", ["{{ user }}", "{% if x %}"]),
        ("well - known -- dash, re-do", []),
        ("100% of all", []),
        ("a\tb\x00c\u2028d", ["\t", "\x00", "\u2028"]),
    ],
)  # fmt: skip
def test_kept_spans(text: str, spans: list[str]) -> None:
    assert kept(text, PLAIN) == spans


def test_spans_kept_only_in_some_formats() -> None:
    assert kept("100% of all", FORMAT) == ["% o"]
    assert kept("%1 of %L2", PLAIN) == ["%1", "%L2"]
    assert kept("%1s of a%L2", QT) == ["%1", "%L2"]
    assert kept("%1s of a%L2", PLAIN) == ["%1s"]
    assert kept(r"{\an8}♪ <i>la</i> 5%d\Nso ♪", srt_spans) == [
        r"{\an8}", "♪", "<i>", "</i>", r"\N", "♪",
    ]  # fmt: skip


def test_matching_tags_are_paired() -> None:
    text = "<i>a</b><x/>b</i></i><p><q></p>"
    places = [(0, 3), (4, 8), (8, 12), (13, 17), (17, 21), (21, 24), (24, 27), (27, 31)]
    kinds = [span.kind for span in paired(text, [Span(*place, Kind.FIXED) for place in places])]
    fixed = Kind.FIXED
    assert kinds == [Kind.OPEN, fixed, fixed, Kind.CLOSE, fixed, Kind.OPEN, fixed, Kind.CLOSE]


def test_a_translation_with_all_spans_is_used() -> None:
    text = "Copy {a} to {b}"
    calls, translate = recorded(by_text(lambda text: "Nach {b} kopiere {a}"))
    assert translate_segments([Segment(text, PLAIN)], translate) == ["Nach {b} kopiere {a}"]
    assert calls == [[text]]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("von %d auf %s", "from %s to %d"),  # unnumbered placeholders must keep their order
        ("von %s", "VON %s NACH %d"),
        ("von %s auf %d und %d", "VON %s NACH %d"),
        ("von % s auf %d", "VON %s NACH %d"),
    ],
)
def test_text_between_spans_is_translated_if_spans_are_lost(answer: str, result: str) -> None:
    known = {"from %s to %d": answer, "from": "VON", "to": "NACH"}
    if result == "from %s to %d":
        known |= {"from": "%s", "to": ""}  # translating the text between the spans fails, too
    segments = [Segment("from %s to %d", FORMAT)]
    calls, translate = recorded(by_text(known.__getitem__))
    assert translate_segments(segments, translate) == [result]
    assert calls == [["from %s to %d"], ["from", "to"]]


def test_the_model_does_not_see_markup_at_the_edges() -> None:
    texts = [
        "<b>All of it</b>",
        r"{\an8}<i>Up here</i>",
        "<b>one</b> and <i>two</i>",
        " <i>spaced</i> ",
        "%s is first",
        "a<br>b c",
    ]
    segments = [Segment(text, FORMAT if "%" in text else srt_spans) for text in texts]
    calls, translate = recorded(unchanged)
    assert translate_segments(segments, translate) == texts
    assert calls == [
        ["All of it", "Up here", "<b>one</b> and <i>two</i>", "spaced", "%s is first", "a", "b c"]
    ]


def test_each_text_is_translated_once_and_only_if_it_has_letters() -> None:
    texts = ["", " ", "12:30", "%s", "<i></i>", "yes", "no", "yes", "…"]
    calls, translate = recorded(upper)
    result = translate_segments([Segment(text, PLAIN) for text in texts], translate)
    assert result == ["", " ", "12:30", "%s", "<i></i>", "YES", "NO", "YES", "…"]
    assert calls == [["yes", "no"]]
    assert translate_segments([], translate) == []
    assert len(calls) == 1


def test_at_most_two_calls() -> None:
    calls, translate = recorded(upper)
    segments = [Segment(f"text {n} %s and $x{n} or <b>so</b>", PLAIN) for n in range(50)]
    translate_segments(segments, translate)
    assert len(calls) == 2


def test_output_becomes_one_line_and_blank_output_is_ignored() -> None:
    segments = [Segment("one", PLAIN), Segment("two", PLAIN), Segment("three", PLAIN)]
    answers = ["a \r\n b\u2028c\n", " \n", "drei"]
    assert translate_segments(segments, answering(answers)) == ["a b c", "two", "drei"]


TOKENS = st.sampled_from(
    ["%s", "%d", "%%", "%(a)s", "{0}", "{}", "<b>", "</b>", "<i>", "</i>", "<br>", "&amp;", "$X",
     r"{\an8}", "♪", "https://x.y/z", "\t", "\x00", "one", "two words", "Drei.", " ", "-", "é", "9"]
)  # fmt: skip
TEXTS = st.lists(TOKENS, max_size=12).map("".join) | st.text(max_size=20)


@given(st.lists(TEXTS, max_size=4), st.integers(0, 10**6), st.sampled_from([FORMAT, srt_spans]))
def test_every_span_survives_every_model(texts: list[str], seed: int, find: Finder) -> None:
    segments = [Segment(text, find) for text in texts]
    calls, translate = recorded(hostile(seed))
    for text, result in zip(texts, translate_segments(segments, translate), strict=True):
        assert sorted(kept(result, find)) == sorted(kept(text, find))
    assert len(calls) <= 2
    for line in [line for call in calls for line in call]:
        assert line.strip() == line != ""
        assert not any(line_break in line for line_break in "\r\n\v\f\x85\u2028")


@given(TEXTS, st.sampled_from([FORMAT, srt_spans]))
def test_honest_models(text: str, find: Finder) -> None:
    segments = [Segment(text, find)]
    assert translate_segments(segments, unchanged) == [text]
    result = translate_segments(segments, marked)[0]
    assert kept(result, find) == kept(text, find)
