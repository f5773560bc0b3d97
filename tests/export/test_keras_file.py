"""A .keras file computes what the run's model computes, and its parts can be used alone."""

import re
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.model import build_model
from nmt_cli.recipe.model import ARCHITECTURES
from nmt_cli.training.run import Run
from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "reference" / "export-formats.md").read_text(encoding="utf-8")
UNUSUAL = {
    "decoder": "ssru",
    "positions": "learned",
    "norm": "post",
    "embeddings": "none",
    "word_dropout": 0.1,
    "layer_drop": 0.1,
    "pad_ids": (0, 3),
}


def test_a_file_is_verified_and_its_parts_compute_the_same(tiny_run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    EXPORTERS["keras"].export(tiny_run, ExportOptions(output=folder))
    assert "logits that differ, of " in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert (folder / "tokenizer" / "tokenizer.json").exists()
    section = PAGE[PAGE.index("## Keras") : PAGE.index("## SavedModel")]
    code = re.findall(r"(?m)^    (?!nmt export)(.*)$", section)
    names: dict[str, Any] = {}
    split = next(number for number, line in enumerate(code) if "sub_models" in line)
    for lines in (code[:split], code[split:]):
        script = "\n".join(lines).replace("exports/mine-de-en-keras", str(folder))
        exec(script, names)
        names.setdefault("whole", names["logits"])
    np.testing.assert_allclose(names["logits"], names["whole"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("transformer", {"feed_forward": 32, "heads": 2, **UNUSUAL}), ("rnn", {"encoder_layers": 2})],
)
def test_every_architecture_can_be_saved(
    tmp_path: Path, kind: str, settings: dict[str, Any]
) -> None:
    model = build_model(ARCHITECTURES[kind](d_model=16, **settings), 50, 60, 1)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [layer.name for layer in loaded.layers] == [layer.name for layer in model.layers]
    ids = np.random.default_rng(0).integers(4, 50, (2, 3, 6)).astype(np.int32)
    ids[0, 1, 4:] = 0
    np.testing.assert_array_equal(model([*ids]), loaded([*ids]))


def test_a_different_model_is_not_exported(
    tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = keras.models.load_model

    def tampered(path: Path) -> Any:
        model = original(path)
        model.weights[-1].assign(model.weights[-1] + 0.1)
        return model

    monkeypatch.setattr(keras.models, "load_model", tampered)
    with pytest.raises(NmtError, match="logits that differ"):
        EXPORTERS["keras"].export(tiny_run, ExportOptions(output=tmp_path / "e"))
    assert not (tmp_path / "e").exists()
