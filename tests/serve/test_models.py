"""The models of a server: languages, replaced bundles, memory."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.errors import ModelError
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.models import Models, ServedModel, ServedPivot
from tests.serve.conftest import renamed, serving


def translation_of(model: ServedModel) -> str:
    (translation,) = model.translator(DecodingOptions(), lambda: None).translate(["o gato"])
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
            assert len(in_memory) == loaded
            assert in_memory >= set(used[-loaded:])
        assert len(translations) == 1


def test_a_replaced_bundle_is_reloaded_and_a_broken_one_is_not(
    bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "pt-en"
    shutil.copytree(bundle, folder)
    model = ServedModel(folder)
    before, version = translation_of(model), model.version
    shutil.rmtree(folder)
    look(model)  # while it is being replaced
    assert translation_of(model) == before
    renamed(bundle, folder, "pt", "en")
    weights = folder / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-4])
    look(model)
    assert "still serving the previous bundle" in caplog.messages[-1]
    assert translation_of(model) == before
    shutil.rmtree(folder)
    renamed(bundle, folder, "pt", "en")
    look(model)
    assert caplog.messages[-1] == f"{folder}: reloaded"
    assert translation_of(model) == before
    assert model.version == version


def test_a_bundle_that_is_copied_slowly_is_loaded_once_it_is_complete(
    bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "pt-en"
    shutil.copytree(bundle, folder)
    model = ServedModel(folder)
    new = renamed(bundle, tmp_path / "new", "PT", "en")
    shutil.copy(new / "manifest.json", folder)
    weights = (folder / "weights.bin").read_bytes()
    version = model.version
    for size in (1000, 2000, len(weights)):
        assert model.version == version
        (folder / "weights.bin").write_bytes(weights[:size])
        look(model)
    assert model.version != version
    assert caplog.messages[-1] == f"{folder}: reloaded"


def test_an_overwritten_bundle_is_still_served(bundle: Path, tmp_path: Path) -> None:
    """Its weights are truncated while they are in use; mapped, they would end the process."""
    folder = tmp_path / "pt-en"
    shutil.copytree(bundle, folder)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from nmt_cli.serve.models import ServedModel\n"
        "from nmt_cli.search.options import DecodingOptions\n"
        "model = ServedModel(Path(sys.argv[1]))\n"
        "def one(): return next(model.translator(DecodingOptions(), int).translate(['o gato']))\n"
        "before = one()\n"
        "for path in Path(sys.argv[1]).glob('*.*'): os.truncate(path, 0)\n"
        "assert one() == before\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=60)


def test_a_refused_bundle_is_not_loaded_after_another_was(bundle: Path, tmp_path: Path) -> None:
    folders = [renamed(bundle, tmp_path / code, code, "en") for code in ("es", "fr")]
    models = Models(folders, 1)
    spanish, french = models.served
    models.make_room(french)
    assert [model.is_loaded for model in models.served] == [False, True]
    for folder in folders:
        (folder / "weights.bin").write_bytes(b"other")
    with pytest.raises(ModelError, match="is not the file that was exported"):
        translation_of(spanish)
    models.make_room(spanish)  # the French bundle could not be loaded again
    assert french.is_loaded
    assert translation_of(french)


def test_messages_to_clients_have_no_paths(bundle: Path, tmp_path: Path) -> None:
    folder = renamed(bundle, tmp_path / "es", "es", "en")
    fields = {"q": "o gato", "source": "es", "target": "en"}
    with serving(folder, bundle) as server:
        assert server.service.models.served[0].release()
        (folder / "weights.bin").write_bytes(b"other")
        answer = server.post("/translate", fields)
        assert (answer.status, answer.body) == (503, {"error": "the model cannot be used now"})
        assert server.post("/translate", {**fields, "source": "pt"}).status == 200


def test_options_of_all_steps_of_a_pivot() -> None:
    given = []

    class Step:
        source, target, name = "pt", "en", "pt-en"

        def translator(self, options: DecodingOptions, pause: object) -> None:
            given.append((options.alignments, options.split_sentences, options.n_best))

    options = DecodingOptions(alignments=True, split_sentences=False, n_best=2)
    ServedPivot((Step(), Step())).translator(options, int)
    assert given == [(True, False, 1), (True, False, 2)]


def look(model: ServedModel) -> None:
    """Look for changes twice: the first time, the files could be changing."""
    model.reload_if_changed()
    model.reload_if_changed()


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
