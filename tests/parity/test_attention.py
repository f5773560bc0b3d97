"""Attention weights of a bundle match those of the Keras model at each step."""

from pathlib import Path

import numpy as np
import pytest

import nmt_cli
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import ModelError
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import Bundle
from nmt_cli.search.alignment import AttentionMaps, forced_attention
from nmt_cli.text.tokenizer import END_ID, TokenizerPair
from nmt_cli.training.model import trained_model
from tests.systems import export_bundle, untrained_run

MODELS = {
    "transformer": {},
    "post-norm transformer": {"norm": "post", "value_dim": 20, "pad_ids": [0, 5]},
    "rnn": {"architecture": "rnn", "attention": "bahdanau"},
}


# tests/parity/test_options.py compares the alignments of a recurrent model in the default suite.
PARAMS = [
    pytest.param(name, marks=[] if name == "transformer" else [pytest.mark.slow]) for name in MODELS
]


def bundle_attention(folder: Path, source: str, target_ids: list[int]) -> AttentionMaps:
    bundle = Bundle(folder)
    return forced_attention(bundle.model, framed(bundle.tokenizers, source), target_ids)


def framed(tokenizers: TokenizerPair, source: str) -> list[int]:
    (ids,) = tokenizers.source.encode([source])
    return tokenizers.source.with_special_tokens(ids)


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory):
    return untrained_run(tmp_path_factory.mktemp("run"), model=MODELS[request.param])


def test_the_attention_of_a_bundle_matches_keras(run, tmp_path: Path) -> None:
    folder = export_bundle(run, tmp_path / "bundle", verify=True, attention="all")
    checks = read_manifest(folder).verification.checks
    names = [check.name for check in checks if "attention" in check.name]
    assert len(names) == 1 + (run.recipe.model.architecture == "transformer")
    model, _ = trained_model(run, run.last)
    tokenizers = run.tokenizers()
    (ids,) = tokenizers.target.encode(["gato água três"])
    keras_maps = forced_attention(KerasStepModel(model), framed(tokenizers, "três água gato"), ids)
    bundle_maps = bundle_attention(folder, "três água gato", ids)
    assert keras_maps.source == bundle_maps.source
    assert keras_maps.target == bundle_maps.target == [*ids, END_ID]
    for part in ("cross", "encoder", "decoder"):
        weights, expected = getattr(bundle_maps, part), getattr(keras_maps, part)
        if expected is None:  # of a recurrent model
            assert weights is None
            continue
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        np.testing.assert_allclose(expected.sum(axis=-1), 1.0, atol=1e-5)
    if run.recipe.model.architecture == "transformer":
        assert keras_maps.decoder is not None
        assert np.triu(keras_maps.decoder, 1).max() == 0  # no attention to later tokens
        assert keras_maps.encoder is not None
    maps = nmt_cli.open(folder).attention("três água gato", "gato água três")
    assert [word for word, _ in maps.source_words] == ["três", "água", "gato"]
    assert [word for word, _ in maps.target_words] == ["gato", "água", "três"]
    assert [check.passed for check in check_bundle(Bundle(folder))].count(False) == 0


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["int8", "float16"])
def test_other_precisions_have_similar_attention(run, tmp_path: Path, precision: str) -> None:
    folder = export_bundle(run, tmp_path / "bundle", precision, attention="all")
    model, _ = trained_model(run, run.last)
    tokenizers = run.tokenizers()
    (ids,) = tokenizers.target.encode(["gato água três"])
    keras_maps = forced_attention(KerasStepModel(model), framed(tokenizers, "três água gato"), ids)
    bundle_maps = bundle_attention(folder, "três água gato", ids)
    for part in ("cross", "encoder", "decoder"):
        weights, expected = getattr(bundle_maps, part), getattr(keras_maps, part)
        if expected is not None:
            # Random models attend more sharply than trained ones; unrelated weights would differ
            # by 0.25.
            assert 0 < np.abs(weights - expected).mean() < 0.03
            np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=5e-3)


def test_a_bundle_without_attention_is_refused_with_a_hint(tiny_bundle) -> None:
    with pytest.raises(ModelError, match="without attention weights"):
        bundle_attention(tiny_bundle("float32"), "um gato", [5])
