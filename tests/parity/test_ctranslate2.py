"""A CTranslate2 model translates like the trained model."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.bundle.manifest import Verification
from nmt_cli.errors import ModelError, NmtError, OptionError
from nmt_cli.export.ctranslate2 import folder as folder_module
from nmt_cli.export.ctranslate2.folder import write
from nmt_cli.export.ctranslate2.translator import SETTINGS, load_ctranslate2
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import Gates, given_log_probs, is_cut
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.model import RecurrentConfig
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.text.tokenizer import END_ID
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.model.models import tiny
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
    "GELU, learned positions, pre, none": {
        "model": {
            "activation": "gelu",
            "positions": "learned",
            "max_positions": 130,
            "embeddings": "none",
        }
    },
    "no positions, pre, source-target, epsilon": {
        "model": {"positions": "none", "embeddings": "source-target", "epsilon": 1e-2}
    },
    "as Marian": {
        "model": {
            "norm": "post",
            "positions": "concatenated",
            "activation": "swish",
            "output_bias": True,
            "epsilon": 1e-5,
        }
    },
    "post, target-softmax": {
        "model": {"norm": "post", "embeddings": "target-softmax"},
        "tokenizer": SEPARATE,
    },
    "post, none, WordPiece": {
        "model": {"norm": "post", "embeddings": "none"},
        "tokenizer": {"kind": "wordpiece", "vocab_size": 200, "joint": False},
    },
}


def export(run: Run, folder: Path, precision: str = "float32", **options: Any) -> Verification:
    given = ExportOptions(output=folder, checkpoint=run.last, precision=precision, **options)
    return EXPORTERS["ctranslate2"].export(run, given)


DEFAULT = "post, none, WordPiece"  # other tests export "pre, all"
PARAMS = [
    pytest.param(sections, id=name, marks=[] if name == DEFAULT else [pytest.mark.slow])
    for name, sections in VARIANTS.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def run(request, tmp_path_factory) -> Run:
    sections = {**request.param, "decoding": {"max_length": 24, "max_source": 20}}
    return untrained_run(tmp_path_factory.mktemp("run"), **sections)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory) -> tuple[Run, Path, KerasStepModel]:
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(run, folder)
    return run, folder, KerasStepModel(trained_model(run, run.last)[0])


def test_log_probabilities_match_the_model(exported):
    run, folder, original = exported
    pairs = list(zip(*run.held_out(), strict=True))[:8]
    random = np.random.default_rng(5).choice(WORDS, (8, 9))  # longer, and not references
    pairs += [(" ".join(row), " ".join(row[::2])) for row in random]
    tokenizers, exported = run.tokenizers(), load_ctranslate2(folder)
    for source, target in pairs:
        (source_ids,), (ids,) = (
            tokenizers.source.encode([source]),
            tokenizers.target.encode([target]),
        )
        framed, tokens = tokenizers.source.with_special_tokens(source_ids), [*ids, END_ID]
        expected = given_log_probs(original, framed, ids)[np.arange(len(tokens)), tokens]
        (forced,) = exported.force([(framed, ids)])
        np.testing.assert_allclose(forced.token_scores, expected, atol=1e-4)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_match_the_model(exported, beam_size):
    """Long lines are split in the same way, and each sentence has its own length limit.

    At that limit, which untrained models often reach, the two searches choose differently.
    """
    run, folder, original = exported
    rng = np.random.default_rng(11)
    lines = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(40)]
    lines += [*HARD_LINES, ". ".join(lines[:12]) + ".", "", " ".join(WORDS * 12)]
    once = DecodingOptions(beam_size=beam_size, length_penalty=0.0, no_repeat_ngram=0)
    decoding = replace(run.recipe.decoding, max_source=20)
    translator = translator_for(original, run.tokenizers(), decoding, once)
    from_keras = list(translator.translate(lines))
    from_ctranslate2 = list(load_ctranslate2(folder, once).translate(lines))
    assert len(from_keras) == len(from_ctranslate2) == len(lines)
    differing = [
        (line, left, right)
        for line, left, right in zip(lines, from_keras, from_ctranslate2, strict=True)
        if left.ids != right.ids
        and abs(left.score - right.score) > TIE
        and not is_cut(translator, line, len(left.ids), len(right.ids))
    ]
    assert not differing


def test_weights_can_be_quantized(tiny_run, tmp_path, monkeypatch):
    # The model is untrained.
    monkeypatch.setattr(folder_module, "GATES", Gates(bleu=100, chrf=0))
    report = export(tiny_run, tmp_path / "model", "int8")
    values = {check.name: check.value for check in report.checks}
    assert values["in float32: log-probabilities, largest difference (16 sentences)"] < 1e-4
    assert values["log-probabilities, mean difference"] > 1e-4
    assert any(name.startswith("100 - chrF") for name in values)
    translator = load_ctranslate2(tmp_path / "model")
    assert "int8" in translator.search.model.compute_type
    assert len(list(translator.translate(["um dois três", ""]))) == 2


@pytest.mark.parametrize(
    ("package", "precision", "message"),
    [
        (
            "ctranslate2",
            "float32",
            "`ctranslate2`: ctranslate2 is not installed; pip install 'n",
        ),
        ("torch", "bfloat16", "`quantize=bfloat16`: torch is not installed; pip install torch"),
        ("torch", "int8_bfloat16", "`quantize=int8_bfloat16`: torch is not installed; pip install"),
    ],
)
def test_a_missing_package_is_named(tiny_run, tmp_path, monkeypatch, package, precision, message):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NmtError) as caught:
        export(tiny_run, tmp_path / "model", precision)
    assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_quantization_is_refused(tiny_run, tmp_path):
    with pytest.raises(OptionError, match="`quantize=int7` needs another format"):
        export(tiny_run, tmp_path / "m", "int7")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"decoder": "ssru"}, "CTranslate2 cannot represent model.decoder = 'ssru'"),
        ({"key_dim": 4, "value_dim": 16}, "model.key_dim and value_dim other than d_model / heads"),
        ({"pad_ids": [0, 5]}, "CTranslate2 cannot represent model.pad_ids = [0, 5]"),
    ],
)
def test_a_model_that_ctranslate2_cannot_run_is_refused(tiny_run, tmp_path, model, message):
    keras_model = tiny(**model)
    trained = TrainedModel.open(tiny_run, ExportOptions())
    trained = replace(trained, step_model=KerasStepModel(keras_model))
    with pytest.raises(NmtError) as caught:
        write(trained, ExportOptions(), tmp_path / "m")
    assert message in caught.value.message
    assert "`onnx`" in caught.value.hint
    assert not (tmp_path / "m").exists()


def test_a_wrong_conversion_is_not_exported(tiny_run, written, tmp_path, monkeypatch):
    """With norms whose offsets are missing, the export fails and the older folder stays."""
    shutil.copytree(written, tmp_path / "model")
    before = (tmp_path / "model" / "model.bin").read_bytes()
    original = folder_module._norm

    def without_offset(spec, norm):
        original(spec, norm)
        spec.beta = np.zeros_like(spec.beta)

    monkeypatch.setattr(folder_module, "_norm", without_offset)
    with pytest.raises(
        NmtError, match="float32 verification failed: log-probabilities, largest difference"
    ):
        export(tiny_run, tmp_path / "model", force=True)
    assert (tmp_path / "model" / "model.bin").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_only_folders_written_by_nmt_are_replaced(tiny_run, tmp_path):
    folder = tmp_path / "model"
    for beam_size in (2, 3):
        export(tiny_run, folder, beam_size=beam_size, force=True)
    assert json.loads((folder / SETTINGS).read_text())["decoding"]["beam_size"] == 3
    assert load_ctranslate2(folder).options.beam_size == 3
    assert "sentencepiece" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.bin").write_text("another CTranslate2 model")
    with pytest.raises(NmtError, match="contains something else"):
        export(tiny_run, tmp_path / "own", force=True)
    assert (tmp_path / "own" / "model.bin").read_text() == "another CTranslate2 model"


@pytest.fixture(scope="module")
def written(tiny_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unverified export."""
    folder = tmp_path_factory.mktemp("written")
    write(TrainedModel.open(tiny_run, ExportOptions()), ExportOptions(), folder)
    return folder


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (None, "", "not a CTranslate2 model of nmt"),
        (SETTINGS, "[]", "damaged"),
        (SETTINGS, '{"format": 99}', "newer nmt"),
        ("model.bin", "", "damaged"),
    ],
)
def test_a_damaged_folder_is_refused(written, tmp_path, file, content, message):
    folder = tmp_path / "model"
    if file:
        shutil.copytree(written, folder)
        (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(NmtError, match=message):
        load_ctranslate2(folder)


@pytest.mark.parametrize("name", ["ctranslate2", "huggingface"])
def test_an_architecture_that_a_format_does_not_have(tiny_run: Run, name: str) -> None:
    run = replace(tiny_run, recipe=replace(tiny_run.recipe, model=RecurrentConfig()))
    with pytest.raises(ModelError, match=f"^`{name}` supports no models of architecture 'rnn'"):
        EXPORTERS[name].export(run, ExportOptions())
