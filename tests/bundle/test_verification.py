"""Exports are verified unless told otherwise, and what was not verified can be later."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.bundle.hashes import file_records
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.bundle.report import PASSED, SKIPPED
from nmt_cli.errors import NmtError
from nmt_cli.export import against_keras, onnx_bundle
from nmt_cli.export.against_keras import Gates
from nmt_cli.export.onnx_bundle import export_onnx, verify_bundle
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import load_bundle, open_bundle
from nmt_cli.training.run import Run
from tests.bundle import harm
from tests.systems import untrained_run


def silent(line: str) -> None:
    pass


def export(run: Run, folder: Path, precision: str = "int8", verify: bool = True) -> None:
    export_onnx(run, run.last, run.recipe.decoding, folder, silent, precision, verify)


def tamper(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    """Change one weight behind the exporter's back."""
    original = onnx_bundle.write_graphs

    def tampered(graph, folder, precision, attention):
        bias = graph.decoder_layers[-1].feed.outer.bias
        kept = bias.numpy().copy()
        bias.assign(kept + np.linspace(-scale, scale, kept.size))
        try:
            return original(graph, folder, precision, attention=attention)
        finally:
            bias.assign(kept)

    monkeypatch.setattr(onnx_bundle, "write_graphs", tampered)


def test_a_bundle_is_loaded_without_a_warning(bundle: Path) -> None:
    warnings: list[str] = []
    opened = open_bundle(bundle, warnings.append)
    assert warnings == []
    assert all(each.passed for each in check_bundle(opened))
    manifest = opened.manifest
    names = [each.name for each in manifest.verification.checks]
    assert "log-probabilities, largest difference (16 sentences)" in names
    card = (bundle / "MODEL_CARD.md").read_text(encoding="utf-8")
    for line in manifest.verification.lines():
        assert f"- {line}\n" in card


def test_a_skipped_verification_warns_until_it_is_made_up_for(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    export(run, folder, "float32", verify=False)
    assert read_manifest(folder).verification.outcome == SKIPPED
    assert "skipped" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    (folder / "notes.txt").write_text("mine\n", encoding="utf-8")
    for _ in range(2):
        warnings: list[str] = []
        load_bundle(folder, warn=warnings.append)
        assert len(warnings) == 1
        assert f"nmt verify {folder}" in warnings[0]
    verify_bundle(run, run.last, folder, silent)
    manifest = read_manifest(folder)
    assert manifest.verification.outcome == PASSED
    assert {row["metric"] for row in manifest.metrics} == {"BLEU", "chrF"}
    assert manifest.files == file_records(folder)
    load_bundle(folder, warn=warnings.append)
    assert len(warnings) == 1
    assert (folder / "notes.txt").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["bundle"]


def test_a_verified_bundle_is_verified_again_and_left_as_it_is(run: Run, bundle: Path) -> None:
    before = file_records(bundle), (bundle / "manifest.json").read_bytes()
    findings = verify_bundle(run, run.last, bundle, silent)
    assert findings.verification.outcome == PASSED
    assert (file_records(bundle), (bundle / "manifest.json").read_bytes()) == before


@pytest.fixture(scope="module")
def int8(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An int8 bundle that was not verified."""
    folder = tmp_path_factory.mktemp("int8") / "bundle"
    export(run, folder, verify=False)
    return folder


def test_int8_is_held_to_its_gates(run: Run, int8: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(int8, tmp_path / "bundle"))
    verify_bundle(run, run.last, folder, silent)
    manifest = read_manifest(folder)
    assert (manifest.precision, manifest.verification.outcome) == ("int8", PASSED)
    limits = {each.name.split(",")[0]: each.limit for each in manifest.verification.checks}
    assert limits["divergence of the probabilities (16 sentences)"] == 0.05
    assert limits["chrF of the translations with Keras'"] == 20  # so few lines
    assert limits["log-probabilities"] is None


@pytest.mark.parametrize(
    ("gates", "enough", "fragment"),
    [
        (Gates(1e-9, 0.2, 20), 200, "divergence of the probabilities (16 sentences): "),
        (Gates(1e9, 0.2, -1), 200, "chrF of the translations with Keras', distance to 100"),
        (Gates(1e9, -1, 100), 1, "BLEU lost on "),
    ],
)
def test_a_gate_that_is_not_passed(
    run: Run,
    int8: Path,
    monkeypatch: pytest.MonkeyPatch,
    gates: Gates,
    enough: int,
    fragment: str,
) -> None:
    monkeypatch.setitem(against_keras.GATES, "int8", gates)
    monkeypatch.setattr(against_keras, "ENOUGH_FOR_BLEU", enough)
    with pytest.raises(NmtError, match="toy-xx-yy in int8: verification failed: ") as caught:
        verify_bundle(run, run.last, int8, silent)
    assert fragment in str(caught.value)
    assert read_manifest(int8).verification.outcome == SKIPPED


def test_wrong_weights_do_not_pass_as_rounding(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(monkeypatch, scale=20)
    with pytest.raises(NmtError, match=r"divergence .*; try another --quantize, or --no-verify"):
        export(run, tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_wrong_graph_is_found_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(monkeypatch, scale=0.1)
    export(run, tmp_path / "bundle", "float32", verify=False)
    with pytest.raises(NmtError, match="verification failed: held-out sentence 1, position 0"):
        verify_bundle(run, run.last, tmp_path / "bundle", silent)
    assert read_manifest(tmp_path / "bundle").verification.outcome == SKIPPED


def test_the_wrong_run(run: Run, bundle: Path, tmp_path: Path) -> None:
    other = untrained_run(tmp_path, model={"feed_forward": 32})
    with pytest.raises(NmtError, match="was not made of .*another architecture or tokenizer"):
        verify_bundle(other, other.last, bundle, silent)
    tree = harm.read(bundle)
    tree["provenance"]["steps"] = 7
    harm.write(bundle, tree)
    with pytest.raises(
        NmtError, match=r"was made at step 7, .*step-00000001\.npz is of step 1; .*--check"
    ):
        verify_bundle(run, run.last, bundle, silent)
