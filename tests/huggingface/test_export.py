"""Folders for transformers: imported again, they are the same model; transformers loads them."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.huggingface.folder import marian_or_pegasus, write
from nmt_cli.export.importing.huggingface import import_huggingface
from nmt_cli.export.trained import TrainedModel
from nmt_cli.models import open as open_model
from nmt_cli.recipe.model import model_config
from nmt_cli.training.checkpoint import read_checkpoint
from nmt_cli.training.run import Run
from tests.huggingface.test_import import check_like_transformers
from tests.systems import untrained_run

needs_transformers = pytest.mark.skipif(
    not (find_spec("torch") and find_spec("transformers")), reason="needs torch and transformers"
)
LINES = ["um gato", "dois gatos e três casas, sol", "pão 12 ☃☃", "  nove  dez "]


def unverified(run: Run, folder: Path) -> Path:
    """Export a run; returns the folder."""
    options = ExportOptions(checkpoint=run.preferred)
    folder.mkdir()
    write(TrainedModel.open(run, options), options, folder)
    return folder


def again(run: Run, folder: Path) -> Run:
    """Export and import a run."""
    exported = unverified(run, folder / "exported")
    return Run.open(import_huggingface(exported, folder / "again"))


@pytest.mark.parametrize("name", ["tags", pytest.param("separate", marks=pytest.mark.slow)])
def test_an_imported_marian_model_comes_back(
    name: str, imported: Callable[[str], Path], tmp_path: Path
) -> None:
    before = Run.open(imported(name))
    after = again(before, tmp_path)
    assert after.recipe == replace(before.recipe, name="exported")
    weights = [read_checkpoint(run.preferred)[0] for run in (before, after)]
    assert weights[0].keys() == weights[1].keys()
    for key, value in weights[0].items():
        np.testing.assert_array_equal(value, weights[1][key])
    for part in ("source", "target"):
        sides = [getattr(run.tokenizers(), part) for run in (before, after)]
        assert sides[0].encode(LINES) == sides[1].encode(LINES)
        assert sides[0].surfaces() == sides[1].surfaces()


@pytest.mark.slow
def test_a_trained_pre_norm_model_becomes_pegasus(tiny_run: Run, tmp_path: Path) -> None:
    """The width is permuted: its sines and cosines alternate, those of Pegasus do not."""
    after = again(tiny_run, tmp_path)
    config = json.loads((tmp_path / "exported" / "config.json").read_text(encoding="utf-8"))
    assert (config["model_type"], after.recipe.model.norm) == ("pegasus", "pre")
    assert after.recipe.model.positions == "concatenated"
    texts = [
        [line.text for line in open_model(run.folder).translate(LINES, beam_size=1, max_length=9)]
        for run in (tiny_run, after)
    ]
    assert texts[0] == texts[1]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"decoder": "ssru"}, r"model.decoder = 'ssru'"),
    ({"activation": "swiglu"}, r"model.activation = 'swiglu'"),
    ({"positions": "learned"}, r"model.positions = 'learned'"),
    ({"attention_bias": False}, r"model.attention_bias = false"),
    ({"pad_ids": [0, 9]}, r"model.pad_ids = \[0, 9\]"),
    ({"key_dim": 3}, r"model.key_dim and value_dim other than d_model / heads"),
    ({"epsilon": 1e-3}, r"model.epsilon = 0.001 \(theirs is 1e-05\)"),
    ({"embeddings": "none"}, r"model.norm = 'pre' and embeddings = 'none'"),
]


@pytest.mark.parametrize(("keys", "message"), REFUSED)
def test_what_transformers_lacks_is_named(
    keys: dict[str, Any], message: str, tiny_run: Run
) -> None:
    config = model_config(keys, "test")
    with pytest.raises(NmtError, match=f"cannot represent {message}"):
        marian_or_pegasus(config, tiny_run.tokenizers())


POST = {"norm": "post", "positions": "concatenated", "epsilon": 1e-5, "output_bias": True}
SEPARATE = {"joint": False, "model": "bpe", "vocab_size": 300}
VARIANTS: dict[str, dict[str, Any]] = {
    "Pegasus": {},
    "Pegasus, separate softmax": {"model": {"embeddings": "source-target", "activation": "gelu"}},
    "Marian, sines and cosines in turn": {"model": {"norm": "post", "activation": "swish"}},
    "Marian, two vocabularies": {
        "model": {**POST, "embeddings": "target-softmax"},
        "tokenizer": SEPARATE,
    },
    "Marian, nothing shared": {"model": {**POST, "embeddings": "none"}, "tokenizer": SEPARATE},
}


@pytest.mark.slow
@needs_transformers
@pytest.mark.parametrize("name", VARIANTS)
def test_transformers_translates_alike(name: str, tmp_path: Path) -> None:
    from tests.huggingface.write_fixtures import expected

    run = untrained_run(tmp_path, **{**VARIANTS[name], "decoding": {"max_length": 24}})
    exported = unverified(run, tmp_path / "exported")
    check_like_transformers(run.folder, expected(exported, LINES))


@pytest.mark.slow
def test_an_export_is_verified(imported: Callable[[str], Path], tmp_path: Path) -> None:
    options = ExportOptions(output=tmp_path / "exported")
    EXPORTERS["huggingface"].export(Run.open(imported("shared")), options)
    card = (tmp_path / "exported" / "README.md").read_text(encoding="utf-8")
    assert "AutoModelForSeq2SeqLM" in card
    assert "lines translated differently, of 10" in card
