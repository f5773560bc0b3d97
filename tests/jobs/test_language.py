"""Warnings of texts that are not in the language that the model translates from."""

import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.data.corpus import sentence_pairs
from nmt_cli.text.detection import other_language

ROOT = Path(__file__).parents[2]
EXPORTS = ROOT / "exports"
WARNING = "looks like English, but the model translates from Portuguese"
ENGLISH = (
    "I love you.",
    "Where is the station?",
    "The cat is on the table.",
    "Thank you very much for your help.",
    "We are going to the market tomorrow.",
    "She does not want two green apples.",
    "What time does the train leave?",
    "Click Save to continue.",
    "I would like a cup of coffee, please.",
    "It has been raining since yesterday.",
)
# Names, codes and words of both languages.
NOT_ENGLISH = (
    "Bom dia!",
    "OK",
    "Hotel Ibis, Paris",
    "João da Silva, Rua Augusta 1200",
    "12.345,67",
    "https://example.org/the-english-page",
    "git push origin main",
    "😀",
    "Ele disse: “I love you.”, e foi embora para a casa dos pais.",
    "O software do servidor faz o download do arquivo.",
)


def translate(text: str, *words: str, model: str = "pt-en", cwd: Path | None = None) -> str:
    """Return what a process of nmt translate prints to stderr."""
    command = [sys.executable, "-m", "nmt_cli", "translate", "-m", EXPORTS / model, *words]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd=cwd or ROOT, check=True
    )
    return done.stderr


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path.name


def test_ten_english_inputs_are_noticed_one_by_one(tmp_path: Path) -> None:
    names = [write(tmp_path / f"{i}.txt", line) for i, line in enumerate(ENGLISH)]
    warnings = translate("", *names, cwd=tmp_path).splitlines()
    assert warnings == [
        f"{name}: {WARNING}; --no-language-check hides this warning" for name in names
    ]


def test_names_codes_and_short_lines_are_not(tmp_path: Path) -> None:
    names = [write(tmp_path / f"{i}.txt", line) for i, line in enumerate(NOT_ENGLISH)]
    assert translate("", *names, cwd=tmp_path) == ""


def test_standard_input_is_named_once() -> None:
    printed = translate("\n".join(ENGLISH * 30))
    assert printed.count(WARNING) == 1
    assert printed.startswith("standard input: ")


def test_a_few_lines_of_another_language_pass() -> None:
    portuguese = [row["pt"] for row in sentence_pairs("test")[:16]]
    assert translate("\n".join([*ENGLISH[:4], *portuguese])) == ""


def test_it_can_be_switched_off() -> None:
    assert translate("I love you.\n", "--no-language-check") == ""


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.html", "<p>Where is the <b>station</b>?</p><p>I love you.</p>", ("--format", "auto")),
        ("a.csv", "id,text\n1,Where is the station?\n2,I love you.\n", ("--field", "text")),
        ("a.jsonl", '{"text": "Where is the station?"}\n', ("--field", "text")),
    ],
)
def test_documents_and_records_are_checked(
    name: str, content: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    printed = translate("", write(tmp_path / name, content.rstrip("\n")), *words, cwd=tmp_path)
    assert printed.count(WARNING) == 1


def test_only_the_start_of_an_input_is_checked(tmp_path: Path) -> None:
    lines = [row["pt"] for row in sentence_pairs("test")[:100]]
    write(tmp_path / "a.txt", *lines, *ENGLISH * 2)
    assert translate("", "a.txt", cwd=tmp_path) == ""


def test_the_other_direction() -> None:
    printed = translate("Onde fica a estação? Eu te amo.\n", model="en-pt")
    assert "looks like Portuguese, but the model translates from English" in printed


def test_no_line_of_the_phrasebook_is_taken_for_another_language() -> None:
    rows = sentence_pairs("test")
    for code, other in (("pt", "en"), ("en", "pt")):
        lines = [row[code] for row in rows]
        groups = ["\n".join(lines[start : start + 5]) for start in range(0, len(lines), 5)]
        assert [text for text in groups if other_language(text, code, other)] == []
        noticed = sum(other_language(text, other, code) == code for text in groups)
        assert noticed > 0.99 * len(groups)


@pytest.mark.parametrize("code", ["xx", "", "multilingual", "tlh"])
def test_a_language_that_cannot_be_detected_is_not_checked(code: str) -> None:
    assert other_language("\n".join(ENGLISH), code, "en") is None


def test_regions_and_similar_languages_are_no_other_language() -> None:
    assert other_language("\n".join(ENGLISH), "en-GB", "pt") is None
    norwegian = "Dette er et hus som jeg har kjøpt i går, og det er rødt."
    assert other_language(norwegian, "nb", "en") is None


@pytest.mark.parametrize(
    "text", ["A conta, por favor.", "Vamos fugir.", "O computador é novo.", "Cor da fachada"]
)
def test_the_target_language_precedes_similar_ones(text: str) -> None:
    assert other_language(text, "en", "pt-BR") == "pt"  # and not Galician or Spanish
    assert other_language("Te quiero mucho.", "en", "pt") == "es"
