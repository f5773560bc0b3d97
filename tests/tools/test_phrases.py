"""The everyday phrases: form, and grammar of what is generated, on hand-checked examples."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from nmt_cli.evaluate.checks import spans
from tools.phrases import pairs

PAIRS = pairs()


def test_phrases_are_clean_and_differ() -> None:
    assert len(PAIRS) > 2500
    for pair in PAIRS:
        for side in pair:
            assert side == " ".join(side.split())
            assert side
    assert max(Counter(PAIRS).values()) == 1


def test_both_sides_have_the_same_placeholders_and_final_punctuation() -> None:
    for portuguese, english in PAIRS:
        kept = [
            {each for each in spans(side) if each[0] != "number"} for side in (portuguese, english)
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


def test_the_corpus_has_one_line_per_phrase(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tools.phrases", tmp_path / "new"], check=True)
    sides = [
        (tmp_path / "new" / f"phrases.{each}").read_text(encoding="utf-8").splitlines()
        for each in ("pt", "en")
    ]
    assert list(zip(*sides, strict=True)) == PAIRS
