"""Written pairs: which are dropped, and why."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.phrases.clean import cleaned, fault


@pytest.mark.parametrize(
    ("portuguese", "english"),
    [
        ("Havia 28 mil homens.", "There were 28,000 men."),
        ("Custou R$ 1.234,50.", "It cost R$1,234.50."),
        ("Começa às 15h30 e acaba às 18h.", "It starts at 3:30 p.m. and ends at 6 p.m."),
        ("Saiu às 8h15.", "It left at 8.15 a.m."),
        ("Os séculos XI e XV", "The 11th and 15th centuries"),
        ("Luís XIV tinha 12 anos.", "Louis XIV was twelve."),
        ("Chegou em 11º lugar.", "It came in eleventh place."),
        ("Vieram cem pessoas e duas vacas.", "100 people and 2 cows came."),
        ("Subiu 6,8 pontos em 2021.", "It rose 6.8 points in 2021."),
        ("A moda dos anos 80 voltou.", "The fashion of the 1980s is back."),
        ("São 3,2 milhões de pessoas.", "That is 3.2 million people."),
        ("Duas mil pessoas vieram.", "2,000 people came."),
        ("Ela disse: “Sim.”", "She said: “Yes.”"),
        ("Ganhou por 3 a 0.", "It won three-nil, 3–0."),
        ("Fazia zero grau.", "It was 0 degrees."),
        ("Abre à meia-noite.", "It opens at 0:00."),
        ("O povo xona", "The Shona people"),
        ("Sim", "Yes"),
    ],
)
def test_good_pairs_stay(portuguese: str, english: str) -> None:
    assert fault((portuguese, english)) is None


@pytest.mark.parametrize(
    ("portuguese", "english", "reason"),
    [
        ("", "Yes", "empty"),
        (" Sim", "Yes", "spaces"),
        ("Sim ", "Yes", "spaces"),
        ("Sim  senhor", "Yes sir", "spaces"),
        ("Sim\u00a0senhor", "Yes sir", "spaces"),
        ("Fado", "Fado", "same text on both sides"),
        ("gato " * 99 + "gato", "cat " * 99 + "cats and", "too long"),
        ("O gato dorme na cama da minha avó.", "The cat.", "different lengths"),
        ("O gato dorme.", "The cat sleeps", "final punctuation on one side"),
        ("O gato dorme", "The cat sleeps.”", "final punctuation on one side"),
        ("O г\u0430то dorme.", "The cat sleeps.", "foreign characters"),
        ("O gato \ufffd dorme.", "The cat sleeps.", "foreign characters"),
        ("Foram 270 mil voos.", "There were 200,000 flights.", "different numbers"),
        ("Custou R$ 1.234,50.", "It cost R$1.234,50.", "different numbers"),
        ("Vieram dez pessoas.", "12 people came.", "different numbers"),
        ("Começa às 15h.", "It starts at 4 p.m.", "different numbers"),
        ("No século XVI", "In the 17th century", "different numbers"),
        ("Em 2021", "In that year", "different numbers"),
        ("Fazia 0 grau.", "It was cold.", "different numbers"),
    ],
)
def test_bad_pairs_are_dropped(portuguese: str, english: str, reason: str) -> None:
    assert fault((portuguese, english)) == reason


def test_rows_are_turned_and_repeats_dropped() -> None:
    rows = [
        "Yes\tSim",
        "one column",
        "a\tb\tc",
        "Yes!\tÉ!",
        "No\tNão",
        "no\tNa\u0303o.",
        "So\tSim.",
    ]
    dropped: list[tuple[str, str]] = []
    assert list(cleaned(rows, dropped)) == [("Sim", "Yes"), ("Não", "No")]
    assert dropped == [
        ("not two columns", "one column"),
        ("not two columns", "a\tb\tc"),
        ("repeated", "Yes!\tÉ!"),
        ("final punctuation on one side", "no\tNa\u0303o."),
        ("final punctuation on one side", "So\tSim."),
    ]


def test_the_command_reads_files_and_counts(tmp_path: Path) -> None:
    for name, text in (("1.tsv", "Yes\tSim\nno tab\n"), ("2.tsv", "Yes\tSim\nThe cat\tO gato\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tools.phrases.clean", tmp_path / "1.tsv", tmp_path / "2.tsv"]
    result = subprocess.run([*command, "--show"], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout == "Sim\tYes\nO gato\tThe cat\n"
    counts = ["not two columns: 1", "repeated: 1"]
    assert result.stderr.splitlines() == [*counts, "not two columns\tno tab", "repeated\tYes\tSim"]
    command[-1] = tmp_path / "none.tsv"
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 1
    assert result.stderr == f"error: {tmp_path / 'none.tsv'}: no such file\n"
