"""The models of a server: languages, replaced bundles, memory."""

import shutil
from pathlib import Path

import pytest

from nmt_cli.errors import ModelError
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.batcher import Models, ServedModel
from tests.serve.conftest import renamed, serving


def translation_of(model: ServedModel) -> str:
    (translation,) = model.translator(DecodingOptions()).translate(["o gato"])
    return translation.text


def test_a_model_named_twice_is_served_once(bundle: Path) -> None:
    assert len(Models([bundle, bundle], 0).served) == 1


def test_codes_with_and_without_a_region(bundle: Path, tmp_path: Path) -> None:
    brazilian = renamed(bundle, tmp_path / "other", "pt-BR", "en")
    models = Models([bundle, brazilian], 0)
    for code, folder in (("pt", bundle), ("PT-BR", brazilian), ("pt-PT", bundle)):
        model = models.find(code, "EN-US")
        assert model is not None
        assert model.folder == folder
    assert models.find("en", "pt") is None


def test_two_bundles_for_the_same_languages(bundle: Path, tmp_path: Path) -> None:
    other = renamed(bundle, tmp_path / "other", "pt", "en")
    with pytest.raises(ModelError, match="both translate from pt to en; serve one of them"):
        Models([bundle, other], 0)


def test_only_bundles_can_be_served(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ModelError, match="only bundles can be served; export it with"):
        Models([tmp_path], 0)


def test_the_least_recently_used_model_is_unloaded(bundle: Path, tmp_path: Path) -> None:
    folders = [bundle, *(renamed(bundle, tmp_path / code, code, "en") for code in ("es", "fr"))]
    for memory, loaded in ((1, 1), (2 * ServedModel(bundle).size + 1000, 2)):
        models, translations, used = Models(folders, memory), set(), list[str]()
        for source in ("pt", "es", "fr", "pt"):
            model = models.find(source, "en")
            assert model is not None
            models.make_room(model)
            translations.add(translation_of(model))
            used.append(source)
            in_memory = {model.source for model in models.served if model.is_loaded}
            assert in_memory == set(used[-loaded:])
        assert len(translations) == 1


def test_a_replaced_bundle_is_reloaded_and_a_broken_one_is_not(
    bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "pt-en"
    shutil.copytree(bundle, folder)
    model = ServedModel(folder)
    before, version = translation_of(model), model.version
    shutil.rmtree(folder)
    model.reload_if_changed()  # while it is being replaced
    assert translation_of(model) == before
    renamed(bundle, folder, "pt", "en")
    weights = folder / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-4])
    model.reload_if_changed()
    assert "still serving the previous bundle" in caplog.messages[-1]
    assert translation_of(model) == before
    shutil.rmtree(folder)
    shutil.copytree(bundle, folder)
    model.reload_if_changed()
    assert caplog.messages[-1] == f"{folder}: reloaded"
    assert translation_of(model) == before
    assert model.version == version


def test_a_server_reloads_while_it_answers(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pt-en"
    shutil.copytree(bundle, folder)
    fields = {"q": "o gato", "source": "pt", "target": "en"}
    with serving(folder) as server:
        (model,) = server.service.models.served
        before, old = server.post("/translate", fields).body, model.version
        other = renamed(bundle, tmp_path / "new", "PT", "en")
        folder.rename(tmp_path / "old")
        other.rename(folder)
        while model.version == old:
            assert server.post("/translate", fields).body == before
        assert server.post("/translate", fields).body == before
