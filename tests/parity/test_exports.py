"""ONNX bundles and SavedModels translate like the trained model."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from nmt_cli.bundle.manifest import Verification
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.export import verification
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.onnx import bundle
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.systems import WORDS, export_bundle, untrained_run
from tests.translators import load_bundle

VARIANTS = {
    "pre, all tied, SentencePiece": {},
    "post, untied, separate BPE": {
        "model": {"norm": "post", "embeddings": "none"},
        "tokenizer": {"joint": False, "model": "bpe", "vocab_size": 300},
    },
    "pre, characters": {"tokenizer": {"kind": "character"}},
    "pre, WordPiece": {"tokenizer": {"kind": "wordpiece", "vocab_size": 200}},
}


def export_saved_model(run: Run, folder: Path, **options: Any) -> Verification:
    given = ExportOptions(output=folder, checkpoint=run.last, **options)
    return EXPORTERS["saved-model"].export(run, given)


def lines() -> list[str]:
    rng = np.random.default_rng(11)
    sentences = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(40)]
    long = ". ".join(sentences[:12]) + "."
    endless = " ".join(WORDS * 12)
    return [*sentences, *HARD_LINES, long, "", "\x85\u3000\0", endless]


# Only a SavedModel of the first variant is in the default suite: tests/parity/test_options.py
# compares its bundle. Each takes a minute on two cores.
PARAMS = [
    pytest.param(sections, id=name, marks=[] if not sections else [pytest.mark.slow])
    for name, sections in VARIANTS.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory) -> Run:
    sections = {**request.param, "decoding": {"max_length": 24, "max_source": 20}}
    return untrained_run(tmp_path_factory.mktemp("run"), **sections)


def search_once(beam_size: int) -> DecodingOptions:
    """A SavedModel does not search again where a translation repeats itself."""
    return DecodingOptions(beam_size=beam_size, length_penalty=0.6, no_repeat_ngram=0)


def keras_translator(run: Run, beam_size: int) -> Translator:
    model, _ = trained_model(run, run.last)
    decoding = replace(run.recipe.decoding, max_source=20)
    return translator_for(KerasStepModel(model), run.tokenizers(), decoding, search_once(beam_size))


@pytest.fixture(scope="module")
def by_keras(run) -> Callable[[int], list[Translation]]:
    """What the trained model makes of the lines, by beam size."""
    return cache(lambda beam_size: list(keras_translator(run, beam_size).translate(lines())))


def assert_alike(expected, results) -> None:
    """Check that texts are equal, except for ties."""
    for number, (left, right) in enumerate(zip(expected, results, strict=True)):
        same = left.text == right[0] or abs(left.score - right[1]) <= TIE
        assert same, f"line {number}: {left.text!r} ({left.score}) against {right}"
        assert left.score == pytest.approx(right[1], abs=1e-3)


@pytest.mark.slow
def test_a_bundle_translates_like_keras(run, by_keras, tmp_path):
    export_bundle(run, tmp_path / "bundle", verify=True)
    checks = read_manifest(tmp_path / "bundle").verification.checks
    found = {each.name: each.value for each in checks}
    assert found["log-probabilities, largest difference (16 sentences)"] < 1e-4
    text = lines()
    for beam_size in (1, 4):
        bundle = load_bundle(tmp_path / "bundle", search_once(beam_size))
        found = [(each.text, each.score) for each in bundle.translate(text)]
        assert_alike(by_keras(beam_size), found)


@pytest.mark.slow
def test_a_saved_model_translates_like_keras(run, tmp_path):
    """In a process with tensorflow and tensorflow_text, but without nmt; one searches greedily."""
    beam_size = 1 if run.recipe.model.norm == "post" else 4
    export_saved_model(run, tmp_path / "saved", beam_size=beam_size, length_penalty=0.6)
    # It does not edit lines, or refuse translations, and splits long lines in another way.
    translator = keras_translator(run, beam_size)
    translator = replace(translator, path=replace(translator.path, edits=False))
    passages = translator.path.read(lines(), [False] * len(lines()))
    text = [passage.line for passage in passages if len(passage.parts) < 2]
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
    results = list(zip(texts, scores, strict=True))
    assert_alike(translator.translate(text), results)


def test_a_wrong_graph_is_not_exported(tiny_run, tmp_path, monkeypatch):
    """With one wrong weight in the graph, the export fails and leaves no files."""
    original = bundle.write_graphs

    def tampered(graph, folder: Path, precision: str, **options):
        layer = graph.decoder_layers[-1].feed.outer
        original_bias = layer.bias.numpy().copy()
        layer.bias.assign(original_bias + np.linspace(0, 0.1, original_bias.size))
        try:
            return original(graph, folder, precision, **options)
        finally:
            layer.bias.assign(original_bias)

    monkeypatch.setattr(bundle, "write_graphs", tampered)
    with pytest.raises(
        NmtError, match="float32 verification failed: log-probabilities, largest difference"
    ):
        export_bundle(tiny_run, tmp_path / "b", verify=True)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_describes_itself(tiny_bundle):
    folder = tiny_bundle("float32")
    manifest = read_manifest(folder)
    names = {"encoder.onnx", "decoder.onnx", "MODEL_CARD.md", "tokenizer/tokenizer.json"}
    assert names <= manifest.files.keys()
    assert not list(folder.rglob("*.pkl"))
    assert (manifest.source_language, manifest.target_language) == ("xx", "yy")
    shapes = {tensor.name: tensor.shape for tensor in manifest.decoder.inputs}
    assert shapes["ancestry"] == ("B", "K", "P")
    assert shapes["self_key_0"] == ("B", 2, "P", 16)
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "xx to yy" in card
    assert "| BLEU |" in card


def test_an_older_bundle_is_replaced_only_with_force(tiny_run, tiny_bundle, tmp_path):
    shutil.copytree(tiny_bundle("float32"), tmp_path / "b")
    given = ExportOptions(
        output=tmp_path / "b", checkpoint=tiny_run.last, beam_size=3, verify=False
    )
    with pytest.raises(NmtError, match=r"b: already exists; replace it with `force`"):
        EXPORTERS["onnx"].export(tiny_run, given)
    assert read_manifest(tmp_path / "b").decoding.beam_size == 4
    EXPORTERS["onnx"].export(tiny_run, replace(given, force=True))
    assert read_manifest(tmp_path / "b").decoding.beam_size == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("name", ["onnx", "saved-model"])
def test_exports_are_verified_as_they_are_used(
    tiny_run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """A bundle through the steps of the text path, which a SavedModel does not have."""
    decoding = replace(tiny_run.recipe.decoding, fold_capitals=True, repair_code=True)
    run = replace(tiny_run, recipe=replace(tiny_run.recipe, decoding=decoding))
    monkeypatch.setattr(verification, "HARD_LINES", ("UM DOIS TRÊS", "um gato_2 sol"))
    output = tmp_path / "export"
    report = EXPORTERS[name].export(run, ExportOptions(output=output, checkpoint=run.last))
    assert report.outcome == "passed"
    card = (output / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert report.lines()[-1] in card
    if name == "saved-model":
        code = re.search(r"((?:^    .*\n|^\n)+)", card.partition("## Use\n")[2], re.M)
        assert code
        exec(dedent(code[1]).replace("THIS_FOLDER", str(output)), {})
        text, score = capsys.readouterr().out.rsplit(maxsplit=1)
        assert text
        assert float(score) < 0
