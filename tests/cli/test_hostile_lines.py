"""N lines in, N lines out, regardless of their content."""

import json
from pathlib import Path

import pytest
from hostile_lines import hostile_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines
from nmt_cli.jobs.shards import RowTranslator
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import decode_lines, is_blank
from tests.cli.conftest import nmt
from tests.translators import load_bundle

BUNDLE = "exports/toy-pt-en"
MANY = 30_000


@pytest.fixture(scope="module")
def translator(system: Path) -> Translator:
    return load_bundle(system / BUNDLE, DecodingOptions(beam_size=1))


any_text = st.text(max_size=12).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.binary(max_size=12) | any_text, max_size=8),
    st.sampled_from(["replace", "skip-line"]),
)
def test_any_bytes(translator: Translator, lines: list[bytes], policy: str) -> None:
    raw = [line.replace(b"\n", b"") + b"\n" for line in lines]
    options = TranslateOptions(errors=policy)
    rows = RowTranslator(translator, options, "x")
    translated = list(Lines(options).stream(raw, 1, rows))
    assert len(translated) == rows.counts.lines == len(lines)
    texts = decode_lines(raw, "x", policy)
    for (out,), text in zip(translated, texts, strict=True):
        assert "\n" not in out
        assert out.count("\r") <= text.count("\r")
        out.encode()  # no lone surrogates
        if is_blank(text):
            assert out == text


def test_lines_with_nothing_to_see_stay_as_they_are(system: Path) -> None:
    text = " \n\t\n\u3000\n\x85\n\u2028\u2029\n\x0c\0\n\u2060\n\xad\u180e\n\u200b\n\n".encode()
    bundle = "exports/toy-pt-en"
    result = nmt("translate", "-m", bundle, "--prefix", "the", cwd=system, stdin=text)
    assert (result.code, result.out, result.err) == (0, text, "")
    result = nmt("translate", "--json", cwd=system, stdin="▁\n\u0301\n\xad\n".encode())
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["source"] for record in records] == ["▁", "\u0301", "\xad"]
    assert [bool(record["tokens"]) for record in records] == [False, False, False]
    assert [record["translation"] for record in records] == ["▁", "\u0301", "\xad"]


def test_a_line_of_50_000_characters(system: Path) -> None:
    text = f"o gato\n{'o gato está aqui. ' * 2778}\n{'x' * 50_000}\na casa\n".encode()
    result = nmt("translate", "--beam-size", 1, cwd=system, stdin=text)
    assert result.code == 0, result.err
    lines = result.out.split(b"\n")
    assert len(lines) == 5
    short = nmt("translate", "--beam-size", 1, cwd=system, stdin=b"o gato\na casa\n").out.split(
        b"\n"
    )
    assert [lines[0], lines[3]] == short[:2]
    assert result.err.count("translated in ") == 1  # sentences of the other line are short


@pytest.mark.slow
def test_thirty_thousand_hostile_lines(system: Path) -> None:
    lines = list(hostile_lines(MANY, seed=1))
    text = b"\n".join(lines)  # the last without its end
    result = nmt("translate", "--beam-size", 1, "--errors", "replace", cwd=system, stdin=text)
    assert result.code == 0, result.err
    assert result.out.endswith(b"\n")
    out = result.out[:-1].split(b"\n")
    assert len(out) == MANY
    assert all(not made for made, line in zip(out, lines, strict=True) if not line)
    assert all(
        made.count(b"\r") <= line.count(b"\r") for made, line in zip(out, lines, strict=True)
    )
    result.out.decode("utf-8")
    # The same lines in a smaller input have the same translations.
    some = [number for number in range(5, MANY, MANY // 40) if lines[number]]
    fewer = nmt("translate", "--beam-size", 1, "--errors", "replace", cwd=system,
                stdin=b"".join(lines[number] + b"\n" for number in some))  # fmt: skip
    assert fewer.out[:-1].split(b"\n") == [out[number] for number in some]
