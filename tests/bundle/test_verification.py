"""Exports are verified by default, and an unverified bundle can be verified later."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.bundle.manifest import Verification
from nmt_cli.bundle.reading import file_records, read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.export import verification
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.onnx import bundle as onnx_bundle
from nmt_cli.export.onnx.bundle import GATES, verify_against_run
from nmt_cli.export.verification import Gates
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import Bundle
from nmt_cli.training.run import Run
from tests.bundle import harm
from tests.systems import export_bundle, untrained_run


def verify(run: Run, folder: Path) -> Verification:
    options = ExportOptions(checkpoint=run.last)
    return verify_against_run(run, options, folder)


def tamper(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    """Make exports change one bias vector of the model."""
    original = onnx_bundle.write_graphs

    def tampered(graph, folder, precision, **options):
        bias = graph.decoder_layers[-1].feed.outer.bias
        kept = bias.numpy().copy()
        bias.assign(kept + np.linspace(-scale, scale, kept.size))
        try:
            return original(graph, folder, precision, **options)
        finally:
            bias.assign(kept)

    monkeypatch.setattr(onnx_bundle, "write_graphs", tampered)


def test_a_bundle_is_loaded_without_a_warning(
    bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = Bundle(bundle)
    assert caplog.messages == []
    assert all(check.passed for check in check_bundle(opened))
    manifest = opened.manifest
    names = [check.name for check in manifest.verification.checks]
    assert "log-probabilities, largest difference (16 sentences)" in names
    card = (bundle / "MODEL_CARD.md").read_text(encoding="utf-8")
    for line in manifest.verification.lines():
        assert f"- {line}\n" in card


def test_verifying_again_leaves_a_bundle_unchanged(run: Run, bundle: Path) -> None:
    before = file_records(bundle), (bundle / "manifest.json").read_bytes()
    assert verify(run, bundle).outcome == "passed"
    assert (file_records(bundle), (bundle / "manifest.json").read_bytes()) == before


@pytest.fixture
def int8(tiny_bundle, tmp_path: Path) -> Path:
    """An unverified int8 bundle."""
    return Path(shutil.copytree(tiny_bundle("int8"), tmp_path / "bundle"))


def test_an_unverified_bundle_warns_until_it_is_verified(
    run: Run, int8: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_manifest(int8).verification.outcome == "skipped"
    assert "skipped" in (int8 / "MODEL_CARD.md").read_text(encoding="utf-8")
    (int8 / "notes.txt").write_text("mine\n", encoding="utf-8")
    for _ in range(2):
        caplog.clear()
        Bundle(int8)
        (warning,) = caplog.messages
        assert f"nmt verify {int8}" in warning
    verify(run, int8)
    caplog.clear()
    manifest = read_manifest(int8)
    assert (manifest.precision, manifest.verification.outcome) == ("int8", "passed")
    assert {row["metric"] for row in manifest.metrics} == {"BLEU", "chrF"}
    assert manifest.files == file_records(int8)
    Bundle(int8)
    assert caplog.messages == []
    assert (int8 / "notes.txt").exists()
    assert [each.name for each in int8.parent.iterdir()] == ["bundle"]
    limits = {each.name.split(",")[0]: each.limit for each in manifest.verification.checks}
    assert limits["divergence of the probabilities (16 sentences)"] == 0.05
    assert limits["100 - chrF against the trained model's translations"] == 20  # so few lines
    assert limits["log-probabilities"] is None


def test_a_failed_gate(run: Run, int8: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GATES, "int8", Gates(-200, 0))
    monkeypatch.setattr(verification, "ENOUGH_FOR_BLEU", 1)
    with pytest.raises(NmtError, match="int8 verification failed: BLEU falls by "):
        verify(run, int8)
    assert read_manifest(int8).verification.outcome == "skipped"


def test_wrong_weights_are_not_mistaken_for_rounding(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(monkeypatch, scale=20)
    with pytest.raises(NmtError, match="divergence of the probabilities .*; try another"):
        export_bundle(run, tmp_path / "bundle", "int8", verify=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_wrong_graph_is_found_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(monkeypatch, scale=0.1)
    export_bundle(run, tmp_path / "bundle")
    with pytest.raises(
        NmtError, match="float32 verification failed: log-probabilities, largest difference"
    ):
        verify(run, tmp_path / "bundle")
    assert read_manifest(tmp_path / "bundle").verification.outcome == "skipped"


def test_the_wrong_run(run: Run, bundle: Path, tmp_path: Path) -> None:
    other = untrained_run(tmp_path, model={"feed_forward": 32})
    with pytest.raises(NmtError, match="was not made from .*different architecture or tokenizer"):
        verify(other, bundle)
    tree = harm.read(bundle)
    tree["provenance"]["steps"] = 7
    harm.write(bundle, tree)
    with pytest.raises(
        NmtError, match="was made at step 7, but .* are from step 1; .*`checkpoint`"
    ):
        verify(run, bundle)
