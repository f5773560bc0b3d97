"""New models, where torch and transformers are installed; see test_import.py for recorded ones."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")

from nmt_cli.export.importing.huggingface import import_huggingface
from tests.huggingface.test_import import check_like_transformers
from tests.huggingface.write_fixtures import MODELS, write_model


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tags", "separate-untied"])
def test_an_import_does_what_transformers_does(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "marian"
    write_model(folder, seed=100, **MODELS[name])
    run = import_huggingface(folder, tmp_path / "run")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    check_like_transformers(run, expected)
