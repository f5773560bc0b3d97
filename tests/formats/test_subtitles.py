"""WebVTT and ASS, and what all subtitles have in common."""

import random
import re
from collections.abc import Callable, Sequence

import pysubs2
import pytest
import webvtt

from nmt_cli.errors import InputError
from nmt_cli.formats import translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.search.lines import Line, Translation
from tests.formats.models import hostile, recorded, unchanged, upper
from tests.formats.test_placing import answered, random_model


def in_order(text: str) -> Translation:
    return answered(text, range(len(text.split())))


def backwards(text: str) -> Translation:
    return answered(text, range(len(text.split()))[::-1])


def aligning(answer: Callable[[str], Translation]) -> Translate:
    return Translate(lambda lines: [answer(line.text) for line in lines], aligns=True)


def cue(format: str, text: str) -> str:
    if format == "ass":
        return ASS_HEAD + f"Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{text}\n"
    if format == "webvtt":
        return f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n"
    return f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"


ASS_HEAD = """[Script Info]
; A comment: Dialogue: none
Title: olá mundo
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""

WEBVTT = """WEBVTT - um filme
Kind: captions
Language: pt

NOTE uma nota
de duas linhas

STYLE
::cue(v[voice="Ana"]) { color: red }

REGION
id:fred
width:40%

intro
00:01.000 --> 00:02.500 align:start position:10%
<v Ana>Onde está o gato?</v>
<v.loud Bia>No jardim.</v>

00:00:03.000 --> 00:00:04.000
<c.yellow.bg_blue>Tom &amp; Jerry</c> s&atilde;o&nbsp;dois

00:00:05.000 --> 00:00:06.000
- Um <00:00:05.500>dois
- Três &lt;quatro&gt;

00:00:07.000 --> 00:00:08.000
<i>Sem fim
"""


def test_webvtt() -> None:
    translated = translate_document("webvtt", WEBVTT, "a", aligning(in_order))
    assert translated == (
        WEBVTT.replace("Onde está o gato?", "ONDE ESTÁ O GATO?")
        .replace("No jardim.", "NO JARDIM.")
        .replace("Tom &amp; Jerry", "TOM &amp; JERRY")
        .replace("s&atilde;o&nbsp;dois", "SÃO&nbsp;DOIS")
        .replace("Um", "UM")
        .replace(">dois\n-", ">DOIS\n-")
        .replace("Três &lt;quatro&gt;", "TRÊS &lt;QUATRO&gt;")
        .replace("Sem fim", "SEM FIM")
    )
    cues = list(webvtt.from_string(translated))
    assert [(cue.start, cue.voice) for cue in cues][:2] == [
        ("00:00:01.000", "Ana"), ("00:00:03.000", None)
    ]  # fmt: skip
    assert cues[2].text == "- UM DOIS\n- TRÊS &lt;QUATRO&gt;"


def test_ass_is_read_by_its_format_line() -> None:
    text = ASS_HEAD.replace("Layer", "Marked").replace(" MarginV,", "") + "\r\n".join(
        [
            r"Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,,0,0,fx,{\an8\fad(9,9)}Bom dia, eu",
            r"Comment: Marked=0,0:00:01.00,0:00:02.00,Default,,0,0,,bom dia",
            r"Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,Ana,0,0,,{\p1}m 0 0 l 9 9{\p0}oi",
            r"Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,Ana,0,0,,{\p1}m 0 0 l 9 9",
            r"Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,A,0,0,,- Um\N- Dois\h{\i1}três{\i0}",
            "",
            "[Fonts]",
            "Dialogue: fontname",
        ]
    )
    expected = (
        text.replace("Bom dia, eu", "BOM DIA, EU")
        .replace("}oi", "}OI")
        .replace(r"Um\N- Dois\h{\i1}três", r"UM\N- DOIS\h{\i1}TRÊS")
    )
    assert translate_document("ass", text, "a", aligning(in_order)) == expected


def test_ass_is_read_by_pysubs2() -> None:
    text = cue("ass", r"{\an8}Ela mora\Nna casa {\b1}azul{\b0}.") + (
        r"Dialogue: 0,0:00:02.00,0:00:03.00,Default,,0,0,0,,{\k20}Can{\k30}ta {\k10}mais"
    )
    translated = translate_document("ass", text, "a", aligning(backwards))
    events = pysubs2.SSAFile.from_string(translated).events
    assert events[0].text == r"{\an8}{\b1}AZUL{\b0}. CASA\NNA MORA ELA"
    assert re.sub(r"\{.*?\}", "", events[1].text).strip() == "MAIS CANTA"
    assert re.findall(r"\\k\d+", events[1].text) == [r"\k20", r"\k30", r"\k10"]


@pytest.mark.parametrize("format", ["srt", "webvtt", "ass"])
@pytest.mark.parametrize(
    ("text", "sent", "result"),
    [
        ("<i>Olá", ["Olá"], "<i>OLÁ"),
        ("Bom dia</i>", ["Bom dia"], "BOM DIA</i>"),
        (r"Espere\haqui", ["Espere aqui"], r"ESPERE\hAQUI"),
        (r"\hEspere\h\haqui\h", ["Espere aqui"], r"\hESPERE\h\hAQUI\h"),
        ("&nbsp;Muito&#160;obrigado", ["Muito obrigado"], "&nbsp;MUITO&#160;OBRIGADO"),
        (r"{\an8}Boa noite", ["Boa noite"], r"{\an8}BOA NOITE"),
        (r"B{\i1}o{\i0}a noite", ["Boa noite"], r"{\i1}BOA{\i0} NOITE"),
        (r"Bo{\fs20}a{\fs10} noite", ["Boa noite"], r"BOA{\fs20}{\fs10} NOITE"),
        ('<font color="#fff">Boa noite', ["Boa noite"], '<font color="#fff">BOA NOITE'),
        ("♪ Boa ♪ noite ♪", ["Boa noite"], "♪ BOA ♪ NOITE ♪"),
        ("don&#39;t &amp; do", ["don't & do"], "DON'T &amp; DO"),
        ("a &amp;lt; b", ["a &lt; b"], "A &amp;LT; B"),
        ("&gt;&gt; ANA: oi", ["ANA: oi"], "&gt;&gt; ANA: OI"),
        ("&gt;&gt;&gt;<i>oi\\N>> olá</i>", ["oi", "olá"], "&gt;&gt;&gt;<i>OI\\N>> OLÁ</i>"),
        ("a<00:00:00.480><c> b</c>", ["a b"], "A<00:00:00.480> <c>B</c>"),
        ("&lrm;a <u>b</u>&#8203;", ["a b"], "&lrm;A <u>B</u>&#8203;"),
        ("{i}a{/i} {b}b c", ["a b c"], "{i}A{/i} {b}B C"),
        ("a <u>&lrm;b</u> {\\k1}{\\k2}c", ["a b c"], "A <u>&lrm;B</u> {\\k1}{\\k2}C"),
        ("- Oi. - Olá!  -Sim - não", ["Oi.", "Olá!", "Sim - não"], "- OI. - OLÁ!  -SIM - NÃO"),
        ("AT&T http://a.b/?c=1&lt=2", ["AT&T http://a.b/?c=1&lt=2"], "AT&T http://a.b/?c=1&lt=2"),
        (r"Um\Ndois", ["Um dois"], r"UM\NDOIS"),
    ],
)
def test_markup_is_hidden(format: str, text: str, sent: list[str], result: str) -> None:
    calls, recorder = recorded(unchanged)
    model = Translate(recorder.lines, aligns=True)
    assert translate_document(format, cue(format, text), "a", model) == cue(format, text)
    assert calls[0] == sent
    model = aligning(in_order)
    assert translate_document(format, cue(format, text), "a", model) == cue(format, result)


PARTS = [
    "<i>", "</i>", "<b>", r"{\an8}", r"{\i1}", r"{\i0}", r"\h", "&nbsp;", "♪", "- ", "um", "dois",
    " três ", "&amp;", "&#39;", " ", "</font>", '<font color="red">', r"\N", "4",
]  # fmt: skip


@pytest.mark.parametrize("format", ["srt", "webvtt", "ass"])
@pytest.mark.parametrize("seed", range(30))
def test_every_cue_keeps_its_markup_and_has_letters(format: str, seed: int) -> None:
    chance = random.Random(seed)
    text = cue(format, "")[:-1] + "".join(chance.choices(PARTS, k=chance.randrange(1, 12))) + "\n"
    marks = r"</?\w[^<>]*>|\{[^{}]*\}|\\h|&nbsp;|♪|4"
    for model in (aligning(in_order), aligning(backwards), random_model(seed), hostile(seed)):
        new = translate_document(format, text, "a", model)
        assert sorted(re.findall(marks, new)) == sorted(re.findall(marks, text))
        words = [bool(re.search(r"[a-zêA-ZÊ]", re.sub(rf"{marks}|&\w+;|\\N", "", side)[-60:]))
                 for side in (text.split("\n")[-2], new.split("\n")[-2])]  # fmt: skip
        assert words[0] <= words[1] or format == "ass", new
        assert translate_document(format, text, "a", unchanged) == text


@pytest.mark.parametrize(
    ("format", "text", "line", "reason"),
    [
        ("webvtt", "Olá\n", 1, "not WebVTT"),
        ("webvtt", "WEBVTTX\n\n", 1, "not WebVTT"),
        ("webvtt", "WEBVTT\n\nOlá\nBia\n", 3, "not a cue"),
        ("webvtt", "WEBVTT\r\n\r\n00:01 --> 00:02.000\r\nOlá\r\n", 3, "not a cue"),
        ("webvtt", "WEBVTT\n\n00:01.000 -> 00:02.000\nOlá\n", 3, "not a cue"),
        ("webvtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nOlá\n00:02.000 --> 00:03.000\n", 3, "not a"),
        ("ass", "Olá\n", 1, r"no section \[Events\]"),
        ("ass", ASS_HEAD + "Dialogue: 0,0:00:01.00,Default,Olá\n", 12, "Dialogue without a text"),
    ],
)
def test_malformed(format: str, text: str, line: int, reason: str) -> None:
    with pytest.raises(InputError, match=f"^a.x, line {line}: {reason}"):
        translate_document(format, text, "a.x", unchanged)


@pytest.mark.parametrize("format", ["srt", "webvtt", "ass"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_unchanged_text(format: str, end: str) -> None:
    text = (WEBVTT if format == "webvtt" else cue(format, r"a <b>b</b> {\i1}c")).replace("\n", end)
    assert translate_document(format, text, "a", unchanged) == text
    assert translate_document(format, text, "a", upper).count(end) == text.count(end)


def test_messages_name_the_line() -> None:
    places: list[str] = []

    def lines(texts: Sequence[Line]) -> list[Translation]:
        places.extend(line.where for line in texts)
        return [Translation(line.text, 0.0, []) for line in texts]

    translate_document("webvtt", WEBVTT, "a", Translate(lines))
    assert places == [f"line {number}" for number in (17, 18, 21, 24, 25, 28)]


def test_hostile_files_are_fast() -> None:
    for format in ("webvtt", "ass"):
        for part in ("<", "{", r"{\p1", "<v ", r"\h", "&", r"{\i1}a", "♪ "):
            text = cue(format, part * 8_000)
            assert translate_document(format, text, "a", unchanged) == text
    cues = "WEBVTT\n\n" + "00:01.000 --> 00:02.000\na\n\n" * 3_000
    assert translate_document("webvtt", cues, "a", unchanged) == cues
