"""Synthetic pairs: what is written, what is left out, and how much is read ahead."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.jobs.pairs import pair_of, synthesize
from nmt_cli.search import translator
from nmt_cli.search.lines import Translation
from nmt_cli.text.lines import read_lines
from nmt_cli.text.tokenizer import END_ID
from tests.search.fakes import (
    FIRST_CHARACTER_ID,
    FakeStepModel,
    copying,
    fake_translator,
    options,
)

COPIER = fake_translator(FakeStepModel(copying))


def special(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
    """Translate "Q" to nothing, "L" to a loop and "B" to U+FFFD; copy everything else."""
    first = chr(source[0] - FIRST_CHARACTER_ID)
    output = {"Q": "", "L": "so it goes, " * 6, "B": "so \ufffd"}.get(first)
    if output is None:
        return copying(source, history)
    token = END_ID
    if len(history) < len(output):
        token = ord(output[len(history)]) + FIRST_CHARACTER_ID
    return {token: -0.125, 5: -9.0}


def written(folder: Path) -> list[tuple[str, str]]:
    return list(zip(read_lines(folder / "x.pt"), read_lines(folder / "x.en"), strict=True))


def test_sides_stay_aligned_and_useless_pairs_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once = replace(options(1), no_repeat_ngram=0)
    model = fake_translator(FakeStepModel(special), once)
    lines = ["one ", "", "Q", "two", " \u3000", "L", "B", "three\u2028more", "L"]
    counts = synthesize(lines, model, tmp_path / "x.pt", tmp_path / "x.en")
    assert counts == {"blank": 2, "empty": 1, "degenerate": 3, "written": 3}
    assert written(tmp_path) == [("one ", "one"), ("two", "two"), ("three\u2028more",) * 2]
    assert caplog.messages[-1].endswith(
        "/x.en: 3 pairs of 9 lines; left out: 2 blank, 1 with an empty translation, "
        "3 with a degenerate one"
    )


def test_at_most_one_window_is_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator, "WINDOW", 8)
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for read in range(1, 101):
            yield f"line {chr(read + 300)}"

    class Counting(FakeStepModel):
        def encode(self, source):  # type: ignore[no-untyped-def]
            read_before.append(read)
            return super().encode(source)

    read_before: list[int] = []
    model = fake_translator(Counting(copying))
    assert synthesize(lines(), model, tmp_path / "x.pt", tmp_path / "x.en")["written"] == 100
    assert read_before == [*range(8, 100, 8), 100]
    assert [pair[0] for pair in written(tmp_path)] == [
        f"line {chr(row + 300)}" for row in range(1, 101)
    ]


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_without_pairs_no_file_is_written(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "x.pt").write_text("old\n")
    with pytest.raises(NmtError, match=f"nothing to write: 0 pairs of {len(lines)} lines"):
        synthesize(lines, COPIER, tmp_path / "x.pt", tmp_path / "x.en")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.pt"]
    assert (tmp_path / "x.pt").read_text() == "old\n"


def test_after_a_read_error_no_file_is_written(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "one"
        raise NmtError("mono.en, line 2: invalid UTF-8")

    with pytest.raises(NmtError, match="line 2"):
        synthesize(lines(), COPIER, tmp_path / "x.pt", tmp_path / "x.en")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("the cat sat on the mat", "o gato", False),
        ("the the the the", "o gato", False),  # not quite enough repetitions
        ("the the the the the", "o gato", True),
        ("I said that it is, that it is, that it is, that it is, that it is", "x", True),
        ("nini" * 4, "x", True),
        ("--------------", "x", True),
        ("--------------", "---------------------", False),
        ("ha ha ha ha ha ha", "ah ah ah ah ah ah ah", False),
        ("no no no", "não não não", False),
        ("a\ufffd", "a", True),
        ("a\ufffd", "b\ufffd", False),
    ],
)
def test_degenerate(text: str, line: str, expected: bool) -> None:
    outcome = "degenerate" if expected else "written"
    assert pair_of(line, Translation(text, 0.0, [5])) == (outcome, line, text)
