"""The models that come with nmt: whole, small, documented, and right on the first lines."""

import json
import re
from pathlib import Path

import pytest

import nmt_cli
from nmt_cli.bundle.reading import check_files, read_manifest

EXPORTS = Path(__file__).parent.parent / "exports"
PAIRS = ("pt-en", "en-pt")
SOURCES = {"pt-en": 87, "en-pt": 86}
FIRST_LINES = {
    "pt-en": {
        "Bom dia!": "Good morning!",
        "Bom dia! Onde fica a estação?": "Good morning! Where's the station?",  # README.md
        "Onde fica a estação?": "Where's the station?",
        "Muito obrigado!": "Thank you very much!",
        "Muito obrigado pela ajuda.": "Thank you very much for your help.",
        "Feliz aniversário!": "Happy birthday!",
        "Te amo!": "I love you!",
        "Socorro!": "Help!",
        "Tchau, até amanhã!": "Bye, see you tomorrow!",
        "De nada": "You're welcome",
        "A loja fecha às 18h54.": "The store closes at 6:54 p.m.",
        "A igreja é do século XVII.": "The church is from the 17th century.",
        "Clique em Salvar para continuar.": "Click Save to continue.",
        "ONDE FICA A ESTAÇÃO?": "WHERE'S THE STATION?",
        "Até amanhã 😊": "See you tomorrow 😊",
        "Minha família 👨‍👩‍👧 está aqui.": "My family 👨‍👩‍👧 is here.",
    },
    "en-pt": {
        "Good morning!": "Bom dia!",
        "Where is the station?": "Onde fica a estação?",
        "How are you?": "Como você está?",
        "Thank you very much!": "Muito obrigado!",
        "I love you.": "Eu te amo.",
        "Bye!": "Tchau!",
        "Happy birthday!": "Feliz aniversário!",
        "Click Save to continue.": "Clique em Salvar para continuar.",
        "WHERE IS THE STATION?": "ONDE FICA A ESTAÇÃO?",
        "You're welcome.": "De nada.",
        "I love you ❤️": "Eu te amo ❤️",
        "See you tomorrow 😊": "Até amanhã 😊",
        "It costs €15.": "Custa € 15.",
        "The store closes at 6:54 p.m.": "A loja fecha às 18h54.",
    },
}


@pytest.fixture(params=PAIRS)
def bundle(request: pytest.FixtureRequest) -> Path:
    return EXPORTS / request.param


def test_a_bundle_is_small_and_whole(bundle: Path) -> None:
    check_files(bundle, read_manifest(bundle))
    assert sum(path.stat().st_size for path in bundle.rglob("*")) < 25_000_000


def test_a_bundle_has_attention_for_alignments(bundle: Path) -> None:
    with nmt_cli.open(bundle) as model:
        assert model.languages == tuple(bundle.name.split("-"))
        assert read_manifest(bundle).precision == "int8"
        assert "attention" in json.dumps(model.describe())


def test_the_card_names_every_licence(bundle: Path) -> None:
    card = (bundle / "MODEL_CARD.md").read_text(encoding="utf-8")
    sources = read_manifest(bundle).provenance["sources"]
    assert len(sources) == SOURCES[bundle.name]
    for source in sources:
        assert source["source"], source["corpus"]
        assert source["source"] in card
        assert f"| {source['corpus']} | {source['pairs']:,} |" in card
    for part in ("docs.test", "tatoeba.test", "Hardware", "Speed", "Errors"):
        assert part in card, part


def test_no_row_of_the_card_has_more_cells_than_its_head(bundle: Path) -> None:
    text = (bundle / "MODEL_CARD.md").read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        assert len({*cells}) == 1, table


def test_a_bundle_names_no_path_of_a_machine(bundle: Path) -> None:
    for path in bundle.rglob("*"):
        if path.is_file():
            assert not re.search(rb"/(tmp|home|work|root)/", path.read_bytes()), path.name


def test_the_first_lines_are_right(bundle: Path) -> None:
    lines = FIRST_LINES[bundle.name]
    with nmt_cli.open(bundle) as model:
        translated = [translation.text for translation in model.translate([*lines])]
    assert dict(zip(lines, translated, strict=True)) == lines


def test_attention_of_a_line_in_capitals_is_that_of_its_translation(bundle: Path) -> None:
    line = {"pt-en": "ONDE FICA A ESTAÇÃO?", "en-pt": "WHERE IS THE STATION?"}[bundle.name]
    with nmt_cli.open(bundle) as model:
        maps = model.attention(line)
        (translation,) = model.translate([line])
    assert maps.target[:-1] == translation.ids
    assert [word for word, _ in maps.source_words] == line.split()
    assert [word for word, _ in maps.target_words] == translation.text.split()
    assert translation.text.isupper()
