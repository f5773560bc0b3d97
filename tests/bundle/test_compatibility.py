"""Bundles written before the redesign load and translate as before.

``format3.tar.xz`` holds an untrained Transformer and an untrained recurrent model, exported in
float32 with their attention weights, and the translations of the version that wrote them.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt_cli.bundle.card import describe_bundle
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.search.options import DecodingOptions
from tests.translators import load_bundle, unedited


@pytest.mark.parametrize("name", ["transformer", "rnn"])
def test_an_older_bundle_translates_as_before(older_bundles: Path, name: str) -> None:
    expected = json.loads((older_bundles / "expected.json").read_text(encoding="utf-8"))
    # That version did not search again where a translation repeats itself or lacks something.
    once = DecodingOptions(no_repeat_ngram=0)
    translator = unedited(load_bundle(older_bundles / name, once))
    translations = list(translator.translate(expected["lines"]))
    rows = expected["translations"][name]
    assert [translation.text for translation in translations] == [row["text"] for row in rows]
    scores = [row["score"] for row in rows]
    assert [translation.score for translation in translations] == pytest.approx(scores, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "unused_key"), [("transformer", "encoder_cell"), ("rnn", "heads")]
)
def test_an_older_manifest_can_be_described_and_rewritten(
    older_bundles: Path, tmp_path: Path, name: str, unused_key: str
) -> None:
    """Older manifests had the keys of every architecture."""
    tree = json.loads((older_bundles / name / "manifest.json").read_text(encoding="utf-8"))
    assert unused_key in tree["architecture"]
    manifest = read_manifest(older_bundles / name)
    assert (manifest.format, manifest.verification.outcome) == (3, "passed")
    later = {"pad_ids": (0,), "decoder": "attention", "output_bias": False}  # the defaults
    later |= {"start": "embedding", "final_norm": True}
    later |= {"attention_scale": False, "attentional_vector": True}
    assert asdict(manifest.architecture).items() <= {**tree["architecture"], **later}.items()
    assert unused_key not in describe_bundle(older_bundles / name)["architecture"]
    manifest.write(tmp_path)
    assert read_manifest(tmp_path) == manifest
