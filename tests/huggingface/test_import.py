"""Imported models do what transformers does with them; errors name the file.

tests/huggingface/write_fixtures.py recorded what transformers does.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.importing.huggingface import import_huggingface
from nmt_cli.models import open as open_model
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.search.beam import beam_search
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.segments import padded
from nmt_cli.text.tokenizer import END_ID, Tokenizer, load_tokenizers
from tests.harness import nmt

needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="pytorch_model.bin needs torch")
MODELS = [
    pytest.param("shared", marks=pytest.mark.slow),
    "tags",
    pytest.param("separate", marks=pytest.mark.slow),
    "untied",
    pytest.param("separate-untied", marks=[needs_torch, pytest.mark.slow]),
]


def check_like_transformers(run: Path, expected: dict[str, Any]) -> None:
    """Compare ids, translations at beams 1 and 4, and the log-probabilities of the first."""
    model, rows = open_model(run), expected["rows"]
    source, target = model.tokenizers.source, model.tokenizers.target
    framed = [
        source.with_special_tokens(ids) for ids in source.encode([row["line"] for row in rows])
    ]
    for row, ids in zip(rows, framed, strict=True):
        listed = [expected["source"][index] for index in row["source"]]
        assert as_listed(ids, source, expected["source"]) == listed
    # transformers' limits depend on nothing else, and its length penalty is another.
    decoding = replace(model.decoding, max_length=40, length_ratio=9.0, length_penalty=0.0)
    for beams in (1, 4):
        options = SearchOptions.of(decoding, DecodingOptions(beam_size=beams))
        results = beam_search(model.translator().model, padded(framed), options)
        for row, (best,) in zip(rows, results, strict=True):
            tokens = [expected["target"][index] for index in row[f"beam {beams}"]]
            pieces, same = target.tokens([*best.ids, END_ID]), len(tokens)
            if same >= expected["longest"]:  # transformers inserts END, or cuts the best beam
                same = expected["longest"] - 1 if beams == 1 else 0
                pieces, tokens = pieces[:same], tokens[:same]
            assert pieces == tokens
            (text,) = target.decode([best.ids])  # transformers leaves unknown tokens out
            assert text.strip() == row[f"text {beams}"] or "⁇" in text or same < len(best.ids)
            if beams == 1:
                scores = best.token_scores[:same], row["log_probs"][:same]
                np.testing.assert_allclose(*scores, atol=1e-4)


def as_listed(ids: list[int], tokenizer: Tokenizer, vocabulary: list[str]) -> list[str]:
    """Tokens as vocab.json has them: tags without the mark of a space, unknown pieces as such."""
    tokens = [
        token.removeprefix("▁") if "<<" in token else token for token in tokenizer.tokens(ids)
    ]
    return [token if token in vocabulary else "<unk>" for token in tokens]


@pytest.mark.parametrize("name", MODELS)
def test_it_does_what_transformers_does(
    name: str, folders: Path, imported: Callable[[str], Path]
) -> None:
    expected = json.loads((folders / name / "expected.json").read_text(encoding="utf-8"))
    check_like_transformers(imported(name), expected)


def test_the_command_writes_a_run_that_translates(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "shared", tmp_path / "opus-mt-de-en")
    (tmp_path / "opus-mt-de-en" / "tokenizer_config.json").unlink()
    done = nmt("import", "opus-mt-de-en", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.message == (
        "run written to runs/opus-mt-de-en; next: nmt export runs/opus-mt-de-en --onnx "
        "--quantize int8"
    )
    recipe = load_recipe(tmp_path / "runs" / "opus-mt-de-en" / "recipe.toml")
    assert (recipe.name, recipe.data.source, recipe.data.target) == ("opus-mt", "de", "en")
    assert (recipe.decoding.beam_size, recipe.decoding.max_length) == (4, 23)
    done = nmt("translate", "-m", "runs/opus-mt-de-en", cwd=tmp_path, stdin=b"um gato\n")
    assert done.out == b"mu otag\n"
    again = nmt("import", "opus-mt-de-en", cwd=tmp_path)
    assert ": a run already exists" in again.message


def test_punctuation_of_sources_can_be_normalized(folders: Path, tmp_path: Path) -> None:
    (tmp_path / "marian").symlink_to(folders / "shared")
    done = nmt("import", "marian", "--normalize-punctuation", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    tokenizers = load_tokenizers(tmp_path / "run" / "tokenizer")
    source, target, lines = tokenizers.source, tokenizers.target, ["um—gato"]
    assert source.encode(lines) == source.encode(["um - gato"])
    assert target.encode(lines) != target.encode(["um - gato"])
    done = nmt("export", "run", "--huggingface", cwd=tmp_path)
    assert done.message == (
        "nmt: --huggingface: other programs would not normalize the punctuation of sources; "
        "use --onnx, or import the model without --normalize-punctuation"
    )


def edited(folder: Path, **keys: object) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, **keys}), encoding="utf-8")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


# What is wrong with a folder, and the message.
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (
        lambda folder: (folder / "config.json").unlink(),
        r"marian: not a Hugging Face model \(no config.json\); give the folder of a Marian model",
    ),
    "another kind": (
        lambda folder: edited(folder, model_type="t5"),
        r"config.json: model_type is 't5'; nmt imports marian and pegasus models",
    ),
    "a key of the wrong type": (
        lambda folder: edited(folder, d_model="wide"),
        r"config.json: Expected int, got str - at \$.d_model",
    ),
    "two numbers of heads": (
        lambda folder: edited(folder, decoder_attention_heads=4),
        r"encoder_attention_heads = 2 and decoder_attention_heads = 4 differ",
    ),
    "an unknown activation": (
        lambda folder: edited(folder, activation_function="gelu_new"),
        r"activation_function is 'gelu_new'; nmt has swish, silu, relu, gelu",
    ),
    "no source.spm": (
        lambda folder: (folder / "source.spm").unlink(),
        r"source.spm: no such file; the folder is incomplete",
    ),
    "a text as target.spm": (
        lambda folder: (folder / "target.spm").write_text("not a model"),
        r"target.spm: is not a SentencePiece model",
    ),
    "no vocab.json": (
        lambda folder: (folder / "vocab.json").unlink(),
        r"vocab.json: no such file; the folder is incomplete",
    ),
    "another vocabulary": (
        lambda folder: edited(folder, vocab_size=7),
        r"vocab.json: has \d+ entries, but config.json 7, with ids from 0; the files are of",
    ),
    "a huge vocabulary": (
        lambda folder: edited(folder, vocab_size=10**12),
        r"vocab.json: has 62 entries, but config.json 1,000,000,000,000, with ids from 0",
    ),
    "a thousand layers": (
        lambda folder: edited(folder, decoder_layers=1000),
        r"marian: its settings need 3,614,064 weights, its files have 16,446 values; the files are",
    ),
    "huge layers": (
        lambda folder: edited(folder, encoder_ffn_dim=10**9, decoder_ffn_dim=10**9),
        r"marian: its settings need 132,000,008,000 weights, its files have 16,446 values",
    ),
    "ids that are lists": (
        lambda folder: (folder / "vocab.json").write_text('{"a": [1]}'),
        r"vocab.json: Expected int, got array",
    ),
    "a pipe as vocab.json": (
        lambda folder: pipe(folder / "vocab.json"),
        "vocab.json: .*not a file",
    ),
    "a pipe as source.spm": (
        lambda folder: pipe(folder / "source.spm"),
        "source.spm: .*not a file",
    ),
    "a pipe as weights": (lambda folder: pipe(folder / "model.safetensors"), "marian: has neither"),
    "END beyond the vocabulary": (
        lambda folder: edited(folder, eos_token_id=900),
        r"vocab.json: padding, unknown, start and end tokens are \d+, 1, \d+ and 900 in config",
    ),
    "no weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        r"marian: has neither model.safetensors nor pytorch_model.bin",
    ),
    "cut weights": (
        lambda folder: cut(folder / "model.safetensors"),
        r"model.safetensors: damaged, or not safetensors \(",
    ),
    "another width": (
        lambda folder: edited(folder, encoder_ffn_dim=48, decoder_ffn_dim=48),
        r"encoder.layers.0.fc1.weight has shape \[40, 16\], but \[48, 16\] follows from config",
    ),
    "too many layers": (
        lambda folder: edited(folder, encoder_layers=1),
        r"safetensors: has 16 weights that nmt's model lacks, e.g. model.encoder.layers.1.fc1.bias",
    ),
    "too few layers": (
        lambda folder: edited(folder, encoder_layers=3),
        r"model.safetensors: has no model.encoder.layers.2.self_attn.q_proj.weight; config.json",
    ),
    "no languages": (
        lambda folder: (folder / "tokenizer_config.json").unlink(),
        r"marian does not name its languages: give `source` and `target`",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_imported_is_named(name: str, folders: Path, tmp_path: Path) -> None:
    damage, message = DAMAGES[name]
    folder = tmp_path / "marian"
    shutil.copytree(folders / "shared", folder)
    damage(folder)
    with pytest.raises(NmtError, match=message):
        import_huggingface(folder, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["marian"]


@pytest.mark.slow
@pytest.mark.traced
@pytest.mark.parametrize("name", ["tags", "separate"])
def test_every_format_exports_it(
    name: str, imported: Callable[[str], Path], tmp_path: Path
) -> None:
    """Each export is verified against the run."""
    run, line = imported(name), b">>fra<< dois gatos\n"
    for words in ("--onnx", "--onnx --quantize int8", "--saved-model", "--ctranslate2"):
        done = nmt("export", run, *words.split(), "-o", f"{words}/out", cwd=tmp_path)
        assert done.code == 0, done.err
    expected = nmt("translate", "-m", run, cwd=tmp_path, stdin=line).out
    output = nmt("translate", "-m", "--onnx/out", cwd=tmp_path, stdin=line).out
    assert output == expected
