"""Bundles are exported with vocabulary shortlists."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import ModelError, OptionError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.onnx.bundle import GATES
from nmt_cli.export.verification import Gates
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.segments import BeamSearch
from nmt_cli.training.run import Run
from tests.systems import export_bundle, untrained_run
from tests.translators import load_bundle, real_sentences


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "precision"),
    [
        ({"embeddings": "none"}, "int8"),
        ({"output_bias": True}, "int8"),
        ({"embeddings": "all"}, "float16"),
    ],
)
def test_shortlists_of_the_whole_vocabulary_change_nothing(
    tmp_path: Path, model: dict[str, object], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Untrained models may write no letters, so that small differences leave lines as they are.
    monkeypatch.setitem(GATES, precision, Gates(bleu=100, chrf=0, divergence=0.05))
    run = untrained_run(tmp_path, model=model)
    folder = export_bundle(run, tmp_path / "bundle", precision, verify=True, shortlist=384)
    manifest, lines = read_manifest(folder), real_sentences(20)
    assert manifest.shortlist is not None
    assert manifest.shortlist.size == manifest.vocabulary["target"] < 384
    assert "that their shortlists lack: 0" in "\n".join(manifest.verification.lines())
    translator = load_bundle(folder, DecodingOptions(beam_size=4))
    model = OnnxStepModel(folder, replace(manifest, shortlist=None))
    plain = replace(translator, search=BeamSearch(model, translator.tokenizers))
    texts = [
        [translation.text for translation in one.translate(lines)] for one in (plain, translator)
    ]
    if precision == "int8":  # whose products are exact
        assert texts[0] == texts[1]
    assert sum(one == other for one, other in zip(*texts, strict=True)) >= 15


def test_learning_them_needs_the_data_of_the_run(tiny_run: Run, tmp_path: Path) -> None:
    options = ExportOptions(output=tmp_path / "bundle", checkpoint=tiny_run.last, shortlist=True)

    def export(prepared: Path, format_name: str = "onnx", run: Run = tiny_run) -> None:
        asked = replace(options, prepared=prepared)
        EXPORTERS[format_name].export(run, asked)

    with pytest.raises(OptionError, match="`shortlist` needs `onnx`"):
        export(tmp_path, "saved-model")
    with pytest.raises(ModelError, match="not a prepared folder"):
        export(tmp_path)
    with pytest.raises(ModelError, match="is not the data that .*run was trained on"):
        export(tiny_run.folder.parent / "prepared", run=replace(tiny_run, prepared_key="other"))
