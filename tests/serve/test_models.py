"""The models of a server: directions, replaced bundles, memory."""

import shutil
from pathlib import Path

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.models import Direction, Models
from tests.serve.conftest import renamed, serving


def silent(message: str) -> None:
    pass


def text_of(direction: Direction) -> str:
    with direction.translator(DecodingOptions()) as translator:
        (found,) = translator.translate(["o gato"])
    return found.text


def test_a_model_named_twice_is_served_once(bundle: Path) -> None:
    assert len(Models([bundle, bundle], 0, silent).directions) == 1


def test_codes_with_and_without_a_region(bundle: Path, tmp_path: Path) -> None:
    brazilian = renamed(bundle, tmp_path / "other", "pt-BR", "en")
    models = Models([bundle, brazilian], 0, silent)
    for code, folder in (("pt", bundle), ("PT-BR", brazilian), ("pt-PT", bundle)):
        found = models.find(code, "EN-US")
        assert found is not None
        assert found.folder == folder
    assert models.find("en", "pt") is None


def test_two_bundles_for_one_direction(bundle: Path, tmp_path: Path) -> None:
    other = renamed(bundle, tmp_path / "other", "pt", "en")
    with pytest.raises(NmtError, match="both translate from pt to en; serve one of them"):
        Models([bundle, other], 0, silent)


def test_only_bundles_can_be_served(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(NmtError, match="only bundles can be served; export it with"):
        Models([tmp_path], 0, silent)


def test_the_model_used_least_recently_makes_room(bundle: Path, tmp_path: Path) -> None:
    folders = [bundle, *(renamed(bundle, tmp_path / each, each, "en") for each in ("es", "fr"))]
    models = Models(folders, 1, silent)  # a byte: one at a time
    texts = []
    for source in ("pt", "es", "fr", "pt"):
        direction = models.find(source, "en")
        assert direction is not None
        texts.append(text_of(direction))
        assert [each.source for each in models.directions if each.size] == [source]
    assert len(set(texts)) == 1


def test_a_replaced_bundle_is_reloaded_and_a_broken_one_is_not(
    bundle: Path, tmp_path: Path
) -> None:
    place = tmp_path / "pt-en"
    shutil.copytree(bundle, place)
    said: list[str] = []
    direction = Direction(place, said.append)
    said.clear()
    before, version = text_of(direction), direction.version
    shutil.rmtree(place)
    direction.reload_if_changed()  # while it is being replaced
    assert text_of(direction) == before
    renamed(bundle, place, "pt", "en")
    weights = place / "weights.bin"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-4])
    direction.reload_if_changed()
    assert "still serving the bundle that was there" in said[-1]
    assert text_of(direction) == before
    shutil.rmtree(place)
    shutil.copytree(bundle, place)
    direction.reload_if_changed()
    assert said[-1] == f"{place}: reloaded"
    assert text_of(direction) == before
    assert direction.version == version


def test_a_server_reloads_while_it_answers(bundle: Path, tmp_path: Path) -> None:
    place = tmp_path / "pt-en"
    shutil.copytree(bundle, place)
    fields = {"q": "o gato", "source": "pt", "target": "en"}
    with serving(place) as server:
        (direction,) = server.service.models.directions
        before, old = server.post("/translate", fields).body, direction.version
        other = renamed(bundle, tmp_path / "new", "PT", "en")
        place.rename(tmp_path / "old")
        other.rename(place)
        while direction.version == old:
            assert server.post("/translate", fields).body == before
        assert server.post("/translate", fields).body == before
