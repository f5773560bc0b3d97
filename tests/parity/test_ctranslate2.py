"""A CTranslate2 folder translates like the model it was made from."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export import ctranslate2_spec
from nmt_cli.export.ctranslate2_check import compare_scores, is_cut
from nmt_cli.export.ctranslate2_model import export_ctranslate2
from nmt_cli.export.ctranslate2_spec import write_ctranslate2
from nmt_cli.model.build import step_graph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.runtime.ctranslate2_translator import SETTINGS, load_ctranslate2
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.systems import WORDS, untrained_run

pytest.importorskip("ctranslate2")

SEPARATE = {"joint": False, "model": "bpe", "vocab_size": 300}
VARIANTS = {
    "pre, all": {},
    "SwiGLU, tutorial positions, no biases": {
        "model": {
            "activation": "swiglu",
            "positions": "concatenated",
            "attention_bias": False,
            "scale_embeddings": False,
            "encoder_layers": 2,
            "decoder_layers": 1,
        }
    },
    "GELU, learned positions": {
        "model": {"activation": "gelu", "positions": "learned", "max_positions": 130}
    },
    "no positions": {"model": {"positions": "none"}},
    "post, all": {"model": {"norm": "post"}},
    "pre, source-target, epsilon": {"model": {"embeddings": "source-target", "epsilon": 1e-2}},
    "post, target-softmax": {
        "model": {"norm": "post", "embeddings": "target-softmax"},
        "tokenizer": SEPARATE,
    },
    "post, none": {"model": {"norm": "post", "embeddings": "none"}, "tokenizer": SEPARATE},
    "pre, none": {"model": {"embeddings": "none"}},
    "WordPiece": {"tokenizer": {"kind": "wordpiece", "vocab_size": 200}},
}


def silent(line: str) -> None:
    pass


DEFAULT = ("pre, all", "post, none", "WordPiece")
PARAMS = [
    pytest.param(sections, id=name, marks=[] if name in DEFAULT else [pytest.mark.slow])
    for name, sections in VARIANTS.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory) -> Run:
    sections = {**request.param, "decoding": {"max_length": 24, "max_source": 20}}
    return untrained_run(tmp_path_factory.mktemp("run"), **sections)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory) -> tuple[Run, Path, KerasStepModel]:
    folder = tmp_path_factory.mktemp("exported") / "model"
    export_ctranslate2(run, run.last, run.recipe.decoding, folder, say=silent)
    return run, folder, KerasStepModel(trained_model(run, run.last)[0])


def test_log_probabilities_are_the_models(exported):
    run, folder, original = exported
    pairs = list(zip(*run.held_out(), strict=True))[:8]
    random = np.random.default_rng(5).choice(WORDS, (8, 9))  # no reference, and longer
    pairs += [(" ".join(row), " ".join(row[::2])) for row in random]
    assert compare_scores(original, load_ctranslate2(folder), pairs) < 1e-4


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_are_the_models(exported, beam_size):
    """Over-long lines are split alike, and each sentence has its own limit.

    At that limit the two searches choose otherwise, which models without training often reach.
    """
    run, folder, original = exported
    rng = np.random.default_rng(11)
    lines = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(40)]
    lines += [*HARD_LINES, ". ".join(lines[:12]) + ".", "", " ".join(WORDS * 12)]
    options = SearchOptions.of(
        run.recipe.decoding, DecodingOptions(beam_size=beam_size, length_penalty=0.0)
    )
    translator = Translator(original, run.tokenizers(), options, 20)
    ours = list(translator.translate(lines))
    theirs = list(
        load_ctranslate2(
            folder, DecodingOptions(beam_size=beam_size, length_penalty=0.0)
        ).translate(lines)
    )
    assert len(ours) == len(theirs) == len(lines)
    differing = [
        (line, left, right)
        for line, left, right in zip(lines, ours, theirs, strict=True)
        if left.ids != right.ids
        and abs(left.score - right.score) > TIE
        and not is_cut(translator, line, left, right)
    ]
    assert not differing


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory) -> Run:
    return untrained_run(tmp_path_factory.mktemp("plain"))


def test_weights_can_be_quantized(plain_run, tmp_path):
    report = export_ctranslate2(
        plain_run, plain_run.last, plain_run.recipe.decoding, tmp_path / "model", "int8", silent
    )
    assert report["log-probabilities, largest difference"] < 1e-4  # of float32, before
    assert "of them as in float32" in report
    translator = load_ctranslate2(tmp_path / "model")
    assert "int8" in translator.model.compute_type
    assert len(list(translator.translate(["um dois três", ""]))) == 2


def test_without_the_package_the_error_names_it(plain_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(NmtError, match=r"pip install 'nmt_cli\[ctranslate2\]'"):
        export_ctranslate2(
            plain_run, plain_run.last, plain_run.recipe.decoding, tmp_path / "model", say=silent
        )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_quantization_is_refused(plain_run, tmp_path):
    with pytest.raises(NmtError, match="choose one of int8"):
        export_ctranslate2(
            plain_run, plain_run.last, plain_run.recipe.decoding, tmp_path / "m", "int7", silent
        )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"architecture": "rnn"}, "CTranslate2 has no models of architecture 'rnn'"),
        ({"key_dim": 4, "value_dim": 16}, "not model.key_dim = 4 and model.value_dim = 16"),
        ({"pad_ids": [0, 5]}, "CTranslate2 hides padding alone, not model.pad_ids = [0, 5]"),
    ],
)
def test_a_model_that_ctranslate2_cannot_run_is_refused(tmp_path, model, message):
    run = untrained_run(tmp_path, model=model)
    with pytest.raises(NmtError) as caught:
        export_ctranslate2(run, run.last, run.recipe.decoding, tmp_path / "m", say=silent)
    assert message in caught.value.message
    assert "nmt export --onnx" in caught.value.hint
    assert not (tmp_path / "m").exists()


def test_a_wrong_conversion_is_not_put_in_place(plain_run, tmp_path, monkeypatch):
    """Positions one off: the export fails, and the older folder stays."""
    decoding = plain_run.recipe.decoding
    export_ctranslate2(plain_run, plain_run.last, decoding, tmp_path / "model", say=silent)
    before = (tmp_path / "model" / "model.bin").read_bytes()
    original = ctranslate2_spec._positions

    def one_off(positions, longest, width):
        return original(positions, longest + 1, width)[1:]

    monkeypatch.setattr(ctranslate2_spec, "_positions", one_off)
    with pytest.raises(NmtError, match=r"verification failed: held-out sentence 1, position 0"):
        export_ctranslate2(plain_run, plain_run.last, decoding, tmp_path / "model", say=silent)
    assert (tmp_path / "model" / "model.bin").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_an_older_folder_is_replaced_and_somebodys_own_is_not(plain_run, tmp_path):
    folder = tmp_path / "model"
    for beam_size in (2, 3):
        decoding = replace(plain_run.recipe.decoding, beam_size=beam_size)
        export_ctranslate2(plain_run, plain_run.last, decoding, folder, say=silent)
    assert json.loads((folder / SETTINGS).read_text())["decoding"]["beam_size"] == 3
    assert load_ctranslate2(folder).options.beam_size == 3
    assert "sentencepiece" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.bin").write_text("another CTranslate2 model")
    with pytest.raises(NmtError, match="contains something else"):
        export_ctranslate2(plain_run, plain_run.last, decoding, tmp_path / "own", say=silent)
    assert (tmp_path / "own" / "model.bin").read_text() == "another CTranslate2 model"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (None, "", "no nmt_ctranslate2.json"),
        (SETTINGS, "[]", "damaged"),
        (SETTINGS, '{"format": 99}', "newer nmt"),
        ("model.bin", "", "CTranslate2 cannot load it"),
    ],
)
def test_a_damaged_folder_is_refused(plain_run, tmp_path, file, content, message):
    folder = tmp_path / "model"
    if file:
        export_ctranslate2(plain_run, plain_run.last, plain_run.recipe.decoding, folder, say=silent)
        (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(NmtError, match=message):
        load_ctranslate2(folder)


def test_tokens_that_ctranslate2_cannot_tell_apart_are_refused(plain_run, tmp_path):
    graph = step_graph(trained_model(plain_run, plain_run.last)[0])
    tokens = [f"t{at}" for at in range(graph.vocab_size)]
    with pytest.raises(NmtError, match="'t5' stands for two ids"):
        write_ctranslate2(graph, tokens, [*tokens[:-1], "t5"], tmp_path)
    with pytest.raises(NmtError, match="one string for token 2 on both sides"):
        write_ctranslate2(graph, tokens, [*tokens[:2], "start", *tokens[3:]], tmp_path)
