"""Distilled pairs that are similar to references."""

import subprocess
import sys
from pathlib import Path

from nmt_cli.text.lines import read_lines, write_lines
from tools.similar import similar

REFERENCES = {
    "O gato dorme no sofá grande.": "The cat sleeps on the big sofa.",
    "Ela comprou pão e leite ontem.": "She bought bread and milk yesterday.",
}


def test_translations_must_be_similar_but_not_the_same() -> None:
    source = "O gato dorme no sofá grande."
    kept = [
        (source, "The cat sleeps on the large sofa."),
        ("Sem referência", "Anything"),
    ]
    left_out = [
        (source, "The cat sleeps on the big sofa."),
        (source, "The cat."),
        ("Ela comprou pão e leite ontem.", "She sold a house in May."),
    ]
    assert similar([*kept, *left_out], REFERENCES) == kept


def test_files_are_replaced(tmp_path: Path) -> None:
    def write(name: str, pairs: list[tuple[str, str]]) -> list[str]:
        for place, language in enumerate(("pt", "en")):
            write_lines(tmp_path / f"{name}.{language}", [pair[place] for pair in pairs])
        return [str(tmp_path / f"{name}.{language}") for language in ("pt", "en")]

    source = "O gato dorme no sofá grande."
    distilled = write("distilled", [(source, "The cat."), ("Outra frase", "Another phrase")])
    corpus = write("corpus", [*REFERENCES.items()])
    command = [sys.executable, "-m", "tools.similar", *distilled, *corpus]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "kept 1 of 2 pairs\n"
    assert read_lines(tmp_path / "distilled.pt") == ["Outra frase"]
    assert read_lines(tmp_path / "distilled.en") == ["Another phrase"]


def test_wrong_arguments_and_files_are_one_line(tmp_path: Path) -> None:
    for arguments, message in (
        (["a.pt"], "usage: python -m tools.similar"),
        (["a.pt", "a.en", "b.pt", "b.en"], "error: b.pt: no such file"),
    ):
        command = [sys.executable, "-m", "tools.similar", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(message)
