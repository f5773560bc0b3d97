"""Fields with several lines: each line is translated by itself, and all white space stays."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.shards import RowTranslator
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator
from tests.search.fakes import FakeStepModel, copying, fake_translator
from tests.translators import load_bundle

COPIER = fake_translator(FakeStepModel(copying))
PT_EN = Path(__file__).parents[2] / "exports/pt-en"


def rows(translator: Translator, *texts: str, first: int = 1) -> list[Translation]:
    translating = RowTranslator(translator, TranslateOptions(), "in")
    results = list(translating.translate(map(Line, texts), first))
    assert translating.counts.lines == len(texts)
    return [result for result in results if isinstance(result, Translation)]


@given(st.lists(st.text("ab\n\r\t \u2028", max_size=12), max_size=4))
def test_white_space_around_the_lines_of_a_field_stays(texts: list[str]) -> None:
    several = [f"{text}\n" for text in texts]
    assert [result.text for result in rows(COPIER, *several)] == several


def test_lines_are_translated_by_themselves() -> None:
    options = DecodingOptions(n_best=2, beam_size=4, alignments=True)
    translator = load_bundle(PT_EN, options)
    lines = ["O carro é azul.", "- A casa é muito grande.", "Bom dia!"]
    text = f" {lines[0]}\r\n\n\t{lines[1]}  \n{lines[2]}\n"
    [whole] = rows(translator, text)
    singles = list(translator.translate(lines))
    for version in range(2):
        parts, joined = [single.n_best[version] for single in singles], whole.n_best[version]
        first, second, third = (part.text for part in parts)
        assert joined.text == f" {first}\r\n\n\t{second}  \n{third}\n"
        assert joined.score == pytest.approx(sum(part.score for part in parts))
        assert joined.tokens == [token for part in parts for token in part.tokens]
        words = joined.text.split()
        pairs = {(text.split()[i], words[j]) for i, j in joined.alignment or []}
        assert pairs == {
            (line.split()[i], part.text.split()[j])
            for line, part in zip(lines, parts, strict=True)
            for i, j in part.alignment or []
        }


def test_blank_fields_and_their_neighbours() -> None:
    texts = ["\n \n", "", "O gato dorme.\n", "O gato dorme.", "\r\n"]
    results = rows(load_bundle(PT_EN), *texts)
    assert [result.text for result in results] == [
        "\n \n", "", "The cat sleeps.\n", "The cat sleeps.", "\r\n",
    ]  # fmt: skip
    assert [result.score == 0.0 for result in results] == [True, True, False, False, True]


def test_messages_and_samples_count_records(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    long_line = "O carro azul é bom e " * 60
    translator = load_bundle(PT_EN)
    path = replace(translator.path, max_source=30)
    rows(replace(translator, path=path), "a\nb\nc", f"d\n{long_line}", "e", first=7)
    assert [message.partition(":")[0] for message in caplog.messages] == ["line 8"]
    caplog.clear()
    sampled = load_bundle(PT_EN, DecodingOptions(sample=True, seed=3))
    assert (
        rows(sampled, "a\nb\nc", "O gato dorme.")[1] == rows(sampled, "O gato dorme.", first=2)[0]
    )
