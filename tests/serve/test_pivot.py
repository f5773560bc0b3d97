"""Directions that lead through other languages."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_cli.serve.models import Models
from tests.serve.conftest import Server, renamed, serving

EXPORTS = Path(__file__).parents[2] / "exports"


def served(bundle: Path, folder: Path, *pairs: str) -> Models:
    folders = [renamed(bundle, folder / pair, *pair.split("-")) for pair in pairs]
    return Models(folders, 0)


def steps(models: Models, source: str, target: str) -> list[str]:
    found = models.find(source, target)
    return [f"{step.source}-{step.target}" for step in found.steps] if found else []


def test_the_shortest_path_is_taken(bundle: Path, tmp_path: Path) -> None:
    models = served(bundle, tmp_path, "pt-en", "en-de", "de-fr", "pt-es", "es-fr", "en-pt")
    assert steps(models, "pt", "en") == ["pt-en"]
    assert steps(models, "pt", "de") == ["pt-en", "en-de"]
    assert steps(models, "pt", "fr") == ["pt-es", "es-fr"]
    assert steps(models, "en", "fr") == ["en-de", "de-fr"]
    assert steps(models, "pt-BR", "DE") == ["pt-en", "en-de"]
    assert steps(models, "fr", "pt") == []
    assert steps(models, "pt", "pt") == []
    assert models.targets("pt") == ["de", "en", "es", "fr"]
    assert models.targets("fr") == []
    first, second = models.find("pt", "fr").steps  # type: ignore[union-attr]
    assert models.find("pt", "fr").name == f"{first.name}, then {second.name}"  # type: ignore[union-attr]
    assert models.find("pt", "fr") is models.find("pt", "fr")  # their sentences share a queue


def test_regions_are_kept_apart_if_they_can_be(bundle: Path, tmp_path: Path) -> None:
    models = Models(
        [
            renamed(bundle, tmp_path / "a", "pt-BR", "en"),
            renamed(bundle, tmp_path / "b", "pt-PT", "en"),
            renamed(bundle, tmp_path / "c", "en", "de"),
        ],
        0,
    )
    assert steps(models, "pt-pt", "en") == ["pt-pt-en"]
    assert steps(models, "pt-br", "de") == ["pt-br-en", "en-de"]
    assert steps(models, "pt-pt", "de") == ["pt-pt-en", "en-de"]


@pytest.fixture(scope="module")
def pivots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of pt-en and, under the name of en-gl, en-pt."""
    folder = tmp_path_factory.mktemp("pivots")
    shutil.copytree(EXPORTS / "pt-en", folder / "pt-en")
    renamed(EXPORTS / "en-pt", folder / "en-gl", "en", "gl")
    with serving(folder / "pt-en", folder / "en-gl") as server:
        yield server


def translated(server: Server, text: str, **fields: object) -> dict[str, object]:
    answer = server.post("/translate", {"q": text, "source": "pt", "target": "gl", **fields})
    assert answer.status == 200
    return answer.body  # type: ignore[no-any-return]


def test_translations(pivots: Server) -> None:
    assert translated(pivots, "Bom dia!\nOnde fica a estação?") == {
        "translatedText": "Bom dia!\nOnde está a estação?"
    }
    html = translated(pivots, "A <b>casa</b> é <i>azul</i>.", format="html")
    assert html == {"translatedText": "A <b>casa</b> é <i>azul</i>."}
    assert translated(pivots, "A casa é azul.", alignments=True)["alignments"] == [
        [[0, 1], [0, 1]],
        [[2, 6], [2, 6]],
        [[7, 8], [7, 8]],
        [[9, 14], [9, 14]],
    ]
    best = translated(pivots, "Onde fica a farmácia?", alternatives=2)
    assert len(best["alternatives"]) == 2  # type: ignore[arg-type]


def test_languages(pivots: Server) -> None:
    targets = {item["code"]: item["targets"] for item in pivots.get("/languages").body}
    assert targets == {"en": ["gl"], "gl": [], "pt": ["en", "gl"]}


def test_deepl(pivots: Server) -> None:
    fields = {"text": ["A casa é azul."], "source_lang": "PT", "target_lang": "GL"}
    answer = pivots.post("/v2/translate", fields)
    (translation,) = answer.body["translations"]
    assert translation["text"] == "A casa é azul."
