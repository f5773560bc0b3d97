"""Every architecture exports, and its bundle translates like Keras, with nmt and without."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.bundle.reading import read_manifest
from nmt_cli.export.onnx.bundle import GATES
from nmt_cli.export.verification import given_log_probs
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.check import HARD_LINES
from nmt_cli.runtime.load import Bundle
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.bundle.test_clients import assert_same_client
from tests.export.test_single_file import assert_same_search
from tests.parity.test_exports import assert_alike, export_saved_model, lines
from tests.systems import export_bundle, untrained_run
from tests.translators import load_bundle

# Together they cover all keys of [model] that the graphs depend on. The default suite has one
# Transformer, and compares a recurrent model in tests/parity/test_options.py.
MODELS = {
    "as Marian": {
        "norm": "post",
        "positions": "concatenated",
        "activation": "swish",
        "output_bias": True,
        "epsilon": 1e-5,
    },
    "swiglu, wide keys, several pad symbols": {
        "activation": "swiglu",
        "key_dim": 20,
        "value_dim": 12,
        "pad_ids": [0, 5, 9],
        "positions": "concatenated",
        "norm": "post",
    },
    "gelu, learned positions, no biases": {
        "activation": "gelu",
        "attention_bias": False,
        "positions": "learned",
        "shared_positions": True,
        "max_positions": 130,
        "scale_embeddings": False,
        "encoder_layers": 3,
        "decoder_layers": 1,
    },
    "SSRU, no positions, untied embeddings, one head": {
        "decoder": "ssru",
        "heads": 1,
        "positions": "none",
        "embeddings": "none",
    },
    "LSTM, luong-general, input feeding": {"architecture": "rnn", "encoder_layers": 2},
    "GRU, bahdanau": {
        "architecture": "rnn",
        "encoder_cell": "gru",
        "decoder_cell": "gru",
        "attention": "bahdanau",
        "input_feeding": False,
        "embeddings": "target-softmax",
    },
    "GRU and LSTM, scaled luong-dot, sum": {
        "architecture": "rnn",
        "encoder_cell": "gru",
        "attention": "luong-dot",
        "attention_scale": True,
        "attentional_vector": False,
        "embeddings": "none",
        "scale_embeddings": False,
    },
    "LSTM and GRU, luong-concat": {
        "architecture": "rnn",
        "decoder_cell": "gru",
        "attention": "luong-concat",
        "input_feeding": False,
    },
    "LSTM, no attention": {"architecture": "rnn", "attention": "none"},
}
DEFAULT = "swiglu, wide keys, several pad symbols"
PARAMS = [
    pytest.param(model, id=name, marks=[] if name == DEFAULT else [pytest.mark.slow])
    for name, model in MODELS.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory) -> Run:
    decoding = {"max_length": 24, "max_source": 20}
    folder = tmp_path_factory.mktemp("run")
    return untrained_run(folder, model=request.param, decoding=decoding)


def test_a_bundle_translates_like_keras(run: Run, tmp_path: Path) -> None:
    export_bundle(run, tmp_path / "bundle", verify=True)
    checks = read_manifest(tmp_path / "bundle").verification.checks
    found = {each.name: each.value for each in checks}
    assert found["log-probabilities, largest difference (16 sentences)"] < 3e-4
    model, _ = trained_model(run, run.last)
    for beam_size in (1, 4):
        options = DecodingOptions(beam_size=beam_size, length_penalty=0.6)
        decoding = replace(run.recipe.decoding, max_source=20)
        keras_translator = translator_for(
            KerasStepModel(model), run.tokenizers(), decoding, options
        )
        bundle = load_bundle(tmp_path / "bundle", options)
        found = [(each.text, each.score) for each in bundle.translate(lines())]
        assert_alike(keras_translator.translate(lines()), found)
        assert_same_client(tmp_path / "bundle", beam_size)
    assert_same_search(tmp_path / "bundle", tmp_path)


@pytest.mark.slow
def test_a_saved_model_translates_like_keras(run: Run, tmp_path: Path) -> None:
    """The export compares the translations itself; this test adds empty input and blank lines."""
    report = export_saved_model(run, tmp_path / "s")
    assert any("lines translated differently" in each.name for each in report.checks)
    serve = tf.saved_model.load(str(tmp_path / "s")).signatures["serving_default"]
    for blank in ([], [""], ["", " "]):
        translations = serve(text=tf.constant(blank, tf.string))["translation"]
        assert translations.numpy().tolist() == [each.encode() for each in blank]


@pytest.mark.slow
def test_other_precisions_stay_close(run: Run, tmp_path: Path) -> None:
    """Random weights cause steep probabilities and near ties; verification allows trained models
    a tenth of this (tests/e2e/test_every_architecture.py)."""
    original, tokenizers = KerasStepModel(trained_model(run, run.last)[0]), run.tokenizers()
    lines = list(filter(str.strip, HARD_LINES))
    sources = [
        tokenizers.source.with_special_tokens(ids) for ids in tokenizers.source.encode(lines)
    ]
    pairs = list(zip(sources, tokenizers.target.encode(lines), strict=True))
    expected = [given_log_probs(original, *pair) for pair in pairs]
    for precision in ("int8", "float16"):
        folder = export_bundle(run, tmp_path / precision, precision)
        bundle, divergences = Bundle(folder), []
        for pair, wanted in zip(pairs, expected, strict=True):
            log_probs = given_log_probs(bundle.model, *pair)
            divergences += (np.exp(wanted) * (wanted - log_probs)).sum(axis=1).tolist()
        assert 0 < np.mean(divergences) < 10 * GATES[precision].divergence
        translations = load_bundle(folder).translate(["um gato", ""])
        assert [bool(translation.text) for translation in translations] == [True, False]
