"""The everyday phrases: form, and grammar of what is generated, on hand-checked examples."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import everyday
import pytest

from nmt_cli.evaluate.checks import spans
from tools.phrases import daily, general, greetings, phrases, sentences, talks

PAIRS = phrases()
CORPORA = {
    "greetings": greetings(),
    "phrases": PAIRS,
    "sentences": sentences(),
    "talks": talks(),
    "general": general(),
    "daily": daily(),
}


@pytest.mark.parametrize("name", CORPORA)
def test_pairs_are_clean_and_differ(name: str) -> None:
    pairs = CORPORA[name]
    assert len(pairs) > (500 if name == "greetings" else 5000)
    for pair in pairs:
        for side in pair:
            assert side == " ".join(side.split())
            assert side
    assert max(Counter(pairs).values()) == 1


def test_greetings_also_without_punctuation_and_capital() -> None:
    pairs = CORPORA["greetings"]
    for pair in [
        ("Te amo!", "I love you!"),
        ("Te amo", "I love you"),
        ("te amo", "I love you"),
        ("obrigado", "thank you"),
        ("quem é você?", "who are you?"),
    ]:
        assert pair in pairs


def test_no_everyday_line_of_the_benchmark_occurs() -> None:
    pairs = [pair for each in CORPORA.values() for pair in each]
    known = {everyday.normalized(side) for pair in pairs for side in pair}
    lines = [line for direction in ("pt-en", "en-pt") for line in everyday.read(direction)]
    assert len(lines) > 200
    assert not [each.source for each in lines if everyday.normalized(each.source) in known]


def test_both_sides_have_the_same_placeholders_and_final_punctuation() -> None:
    for portuguese, english in PAIRS:
        kept = [
            {span for span in spans(side) if span[0] != "number"} for side in (portuguese, english)
        ]
        assert kept[0] == kept[1], portuguese
        ends = [re.search(r"[.!?…,]*$", side)[0] for side in (portuguese, english)]  # type: ignore[index]
        assert bool(ends[0]) == bool(ends[1]), portuguese


@pytest.mark.parametrize(
    "pair",
    [
        ("vinte e três", "twenty-three"),
        ("dois mil", "two thousand"),
        ("3º lugar", "3rd place"),
        ("1.234,50", "1,234.50"),
        ("todas as quintas-feiras", "every Thursday"),
        ("no próximo sábado", "next Saturday"),
        ("em 7 de março de 1962", "on March 7, 1962"),
        ("à uma e meia", "at half past one"),
        ("há duas semanas", "two weeks ago"),
        ("daqui a três meses", "in three months"),
        ("nos anos 60", "in the 1960s"),
    ],
)
def test_generated_phrases(pair: tuple[str, str]) -> None:
    assert pair in PAIRS


def test_the_corpora_have_a_line_per_pair(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tools.phrases", tmp_path / "new"], check=True)
    for name, pairs in CORPORA.items():
        sides = [
            (tmp_path / "new" / f"{name}.{language}").read_text(encoding="utf-8").splitlines()
            for language in ("pt", "en")
        ]
        assert list(zip(*sides, strict=True)) == pairs
