"""What is exported translates like the trained model: ONNX bundles and SavedModels."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.export import onnx_bundle
from nmt_cli.export.onnx_bundle import export_onnx
from nmt_cli.export.saved_model import export_saved_model
from nmt_cli.export.verify import HARD_LINES, TIE
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.load import load_bundle
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.systems import WORDS, untrained_run

VARIANTS = {
    "pre, all tied, SentencePiece": {},
    "post, untied, separate BPE": {
        "model": {"norm": "post", "embeddings": "none"},
        "tokenizer": {"joint": False, "model": "bpe", "vocab_size": 300},
    },
    "pre, WordPiece": {"tokenizer": {"kind": "wordpiece", "vocab_size": 200}},
}


def silent(line: str) -> None:
    pass


def lines() -> list[str]:
    rng = np.random.default_rng(11)
    sentences = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(40)]
    long = ". ".join(sentences[:12]) + "."
    endless = " ".join(WORDS * 12)
    return [*sentences, *HARD_LINES, long, "", endless]


# The first variant is in the default suite; each takes a minute on two cores.
PARAMS = [
    pytest.param(sections, id=name, marks=[] if not sections else [pytest.mark.slow])
    for name, sections in VARIANTS.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory) -> Run:
    sections = {**request.param, "decoding": {"max_length": 24, "max_source": 20}}
    return untrained_run(tmp_path_factory.mktemp("run"), **sections)


def keras_translator(run: Run, beam_size: int) -> Translator:
    model, _ = trained_model(run, run.last)
    options = SearchOptions.of(
        run.recipe.decoding, DecodingOptions(beam_size=beam_size, length_penalty=0.6)
    )
    return Translator(KerasStepModel(model), run.tokenizers(), options, 20)


def assert_alike(ours, theirs) -> None:
    """Same text, or a tie."""
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        same = left.text == right[0] or abs(left.score - right[1]) <= TIE
        assert same, f"line {number}: {left.text!r} ({left.score}) against {right}"
        assert left.score == pytest.approx(right[1], abs=1e-3)


def test_a_bundle_translates_like_keras(run, tmp_path):
    manifest = export_onnx(run, run.last, run.recipe.decoding, tmp_path / "bundle", silent)
    found = {each.name: each.value for each in manifest.verification.checks}
    assert found["log-probabilities, largest difference (16 sentences)"] < 1e-4
    text = lines()
    for beam_size in (1, 4):
        bundle = load_bundle(
            tmp_path / "bundle", DecodingOptions(beam_size=beam_size, length_penalty=0.6)
        )
        found = [(each.text, each.score) for each in bundle.translate(text)]
        assert_alike(keras_translator(run, beam_size).translate(text), found)


@pytest.mark.parametrize("beam_size", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_a_saved_model_translates_like_keras(run, tmp_path, beam_size):
    """In a process that has tensorflow and tensorflow_text, and not nmt."""
    decoding = replace(run.recipe.decoding, beam_size=beam_size, length_penalty=0.6)
    export_saved_model(run, run.last, decoding, tmp_path / "saved", silent)
    text = lines()
    script = tmp_path / "serve.py"
    script.write_text(
        "import json, sys\n"
        "sys.modules['nmt_cli'] = None\n"
        "import tensorflow as tf, tensorflow_text\n"
        "serve = tf.saved_model.load(sys.argv[1]).signatures['serving_default']\n"
        "out = serve(text=tf.constant(json.load(sys.stdin)))\n"
        "texts = [each.decode() for each in out['translation'].numpy()]\n"
        "none = serve(text=tf.constant([], tf.string))['translation'].shape[0]\n"
        "json.dump([texts, out['score'].numpy().tolist(), none], sys.stdout)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "saved")],
        input=json.dumps(text),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    texts, scores, none = json.loads(done.stdout)
    assert none == 0
    found = list(zip(texts, scores, strict=True))
    assert_alike(keras_translator(run, beam_size).translate(text), found)


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory) -> Run:
    return untrained_run(tmp_path_factory.mktemp("plain"))


def test_a_wrong_graph_is_not_put_in_place(plain_run, tmp_path, monkeypatch):
    """One weight changed behind the converter's back: the export fails and leaves nothing."""
    original = onnx_bundle.write_graphs

    def tampered(graph, folder: Path, precision: str, attention: bool):
        layer = graph.decoder_layers[-1].feed.outer
        kept = layer.bias.numpy().copy()
        layer.bias.assign(kept + np.linspace(0, 0.1, kept.size))
        try:
            return original(graph, folder, precision, attention=attention)
        finally:
            layer.bias.assign(kept)

    monkeypatch.setattr(onnx_bundle, "write_graphs", tampered)
    with pytest.raises(NmtError, match=r"verification failed: held-out sentence 1, position 0"):
        export_onnx(plain_run, plain_run.last, plain_run.recipe.decoding, tmp_path / "b", silent)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_says_what_it_is(plain_run, tmp_path):
    export_onnx(plain_run, plain_run.last, plain_run.recipe.decoding, tmp_path / "b", silent)
    manifest = read_manifest(tmp_path / "b")
    names = {"encoder.onnx", "decoder.onnx", "MODEL_CARD.md", "tokenizer/tokenizer.json"}
    assert names <= manifest.files.keys()
    assert not list((tmp_path / "b").rglob("*.pkl"))
    assert (manifest.source_language, manifest.target_language) == ("xx", "yy")
    shapes = {each.name: each.shape for each in manifest.decoder.inputs}
    assert shapes["ancestry"] == ("B", "K", "P")
    assert shapes["self_key_0"] == ("B", 2, "P", 16)
    card = (tmp_path / "b" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "xx to yy" in card
    assert "| BLEU |" in card


@pytest.mark.slow
def test_an_older_bundle_is_replaced_whole(plain_run, tmp_path):
    for beam_size in (2, 3):
        decoding = replace(plain_run.recipe.decoding, beam_size=beam_size)
        export_onnx(plain_run, plain_run.last, decoding, tmp_path / "b", silent)
    assert read_manifest(tmp_path / "b").decoding.beam_size == 3
    assert [each.name for each in tmp_path.iterdir()] == ["b"]
