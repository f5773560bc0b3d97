"""Exports for Marian, imported again, and what other files of Marian and OPUS-MT have."""

import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import yaml
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.importing.marian import import_marian
from nmt_cli.export.marian import files, firefox, folder
from nmt_cli.recipe.model import SUPPRESSED, model_config
from nmt_cli.text.tokenizer import PAD_ID, START_ID, UNK_ID
from nmt_cli.training.run import Run
from tests.harness import nmt
from tests.marian.conftest import LINES, MARIAN, SMALL, again, change, set_settings, weights_of


@pytest.fixture
def _eager() -> Iterator[None]:
    """Train without graphs, whose tracing takes seconds."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def ssru(written: Callable[..., Path], tmp_path: Path) -> Path:
    """A folder for Marian with one vocabulary, to change."""
    return Path(shutil.copytree(written("ssru"), tmp_path / "small-pt-en"))


@pytest.fixture
def separate(written: Callable[..., Path], tmp_path: Path) -> Path:
    """A folder for Marian with two vocabularies, to change."""
    return Path(shutil.copytree(written("separate"), tmp_path / "small-pt-en"))


@pytest.mark.parametrize("name", SMALL)
def test_an_export_that_is_imported_again_has_the_same_weights(
    name: str, small: Callable[[str], Run], written: Callable[..., Path], tmp_path: Path
) -> None:
    before, after = small(name), again(written(name), tmp_path / "run")
    assert after.recipe.model == before.recipe.model
    assert (after.recipe.label, after.recipe.decoding.beam_size) == ("marian-pt-en", 4)
    weights = weights_of(before), weights_of(after)
    assert weights[0].keys() == weights[1].keys()
    if name == "separate":  # no source has these tokens
        weights[0]["source_embedding/matrix"][[PAD_ID, START_ID]] = 0
    for key, value in weights[0].items():
        # Without the tokens that fill the file's vocabulary up to a multiple of 8.
        np.testing.assert_array_equal(weights[1][key], value, err_msg=key)
    assert before.target_vocab == after.target_vocab
    assert (before.target_vocab - 2) % folder.COLUMNS
    for side in ("source", "target"):
        tokenizers = [getattr(run.tokenizers(), side) for run in (before, after)]
        ids = [tokenizer.encode(LINES) for tokenizer in tokenizers]
        assert ids[0] == ids[1]
        assert tokenizers[0].decode(ids[0]) == tokenizers[1].decode(ids[1])


def test_the_unknown_token_is_suppressed_as_marian_does(ssru: Path, tmp_path: Path) -> None:
    done = nmt("import", ssru / "model.npz", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.message == (
        "run written to runs/small-pt-en; next: nmt export runs/small-pt-en --onnx --quantize int8"
    )
    bias = weights_of(Run.open(tmp_path / "runs" / "small-pt-en"))["target_embedding/bias"]
    assert (bias[[PAD_ID, START_ID, UNK_ID]] == SUPPRESSED).all()
    done = nmt("translate", "-m", "runs/small-pt-en", cwd=tmp_path, stdin=b"Onde fica a casa?\n")
    assert done.code == 0, done.err
    assert done.out.strip()


@pytest.mark.usefixtures("_eager")
def test_an_imported_model_can_be_trained_further(
    small: Callable[[str], Run], ssru: Path, tmp_path: Path
) -> None:
    """The rows that Marian lacks stay as they are."""
    run, data = again(ssru, tmp_path / "run"), 'data.train=["phrasebook:test"]'
    words = ["--init-from", "run", "-o", "more", "--set", data, "--set", "training.max_steps=2"]
    words += ["--set", "training.validate_sentences=1", "--set", "decoding.max_length=5"]
    done = nmt("train", "run/recipe.toml", *words, cwd=tmp_path)
    assert done.code == 0, done.err
    before, after = weights_of(run), weights_of(Run.open(tmp_path / "more"))
    special = [PAD_ID, START_ID]
    assert not after["target_embedding/matrix"][special].any()
    assert (after["target_embedding/bias"][special] == SUPPRESSED).all()
    for name, value in after.items():
        assert 0 < np.abs(value - before[name]).max() < 0.1, name


def lists(folder: Path, tokens: dict[str, str]) -> None:
    """Replace vocab.spm by a list in YAML, without some tokens, and models with other ids."""
    model = sentencepiece_model_pb2.ModelProto.FromString((folder / "vocab.spm").read_bytes())
    names = [tokens.get(piece.piece, piece.piece) for piece in model.pieces]
    ids = {name: number for number, name in enumerate(names)}
    text = yaml.safe_dump(ids, allow_unicode=True)
    for name in tokens.values():  # as Marian's own script writes them
        text = text.replace(f"'{name}':", f"{name}:")
    (folder / "opus.vocab.yml").write_text(text, encoding="utf-8")
    pieces = [*model.pieces[:2], *reversed(model.pieces[2:])]
    del model.pieces[:]
    model.pieces.extend(pieces)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.SerializeToString())
    (folder / "vocab.spm").unlink()
    decoding = {"vocabs": ["/elsewhere/opus.vocab.yml"] * 2, "beam-size": 6, "normalize": 1}
    decoder = yaml.safe_load((folder / "decoder.yml").read_text(encoding="utf-8"))
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder | decoding), encoding="utf-8")


def embedded(run: Run, line: str) -> Any:
    """Return the rows of a line's tokens."""
    (ids,) = run.tokenizers().source.encode([line])
    return weights_of(run)["target_embedding/matrix"][ids]


def test_an_archive_of_opus_mt(written: Callable[..., Path], ssru: Path, tmp_path: Path) -> None:
    before = again(written("ssru"), tmp_path / "before")
    words = dict(zip("çãâêíóôúàéõá", ["yes", "no", "null", "~", "1", "1.5", "on"], strict=False))
    lists(ssru, words)
    archive = tmp_path / "opus-pt-en.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        for path in ssru.iterdir():
            stream.write(path, path.name)
        stream.writestr("README.md", "opus")
        stream.writestr("../outside", "outside")
        stream.writestr(str(tmp_path / "outside"), "outside")
    after = again(archive, tmp_path / "after")
    assert not (tmp_path / "outside").exists()
    assert after.recipe.label == "opus-pt-en"
    decoding = after.recipe.decoding
    assert (decoding.beam_size, decoding.length_penalty) == (6, 1.0)
    np.testing.assert_array_equal(embedded(after, "Onde fica?"), embedded(before, "Onde fica?"))
    target = after.tokenizers().target
    tokens = target.tokens(list(range(after.target_vocab)))
    assert set(words.values()) <= set(tokens)
    # Pieces that the list lacks get the weights of the unknown token.
    bias = weights_of(after)["target_embedding/bias"]
    for token in words:
        row = tokens.index(token)
        assert bias[row] == SUPPRESSED
        matrix = weights_of(after)["target_embedding/matrix"]
        np.testing.assert_array_equal(matrix[row], matrix[UNK_ID])


def test_an_output_matrix_that_is_not_transposed(separate: Path, tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(376, 32)).astype(np.float32)
    set_settings(separate / "model.npz", tied_embeddings=False)
    outputs = {"decoder_ff_logit_out_Wt": matrix, "decoder_ff_logit_out_W": matrix.T}
    runs = []
    for name, value in outputs.items():
        change(separate / "model.npz", **{**dict.fromkeys(outputs), name: value})
        runs.append(again(separate, tmp_path / name))
    new, old = (weights_of(run) for run in runs)
    assert runs[0].recipe.model.embeddings == "none"
    np.testing.assert_array_equal(new["logits/kernel"], old["logits/kernel"])
    np.testing.assert_array_equal(old["logits/kernel"][:, UNK_ID], matrix[1])


def test_learned_positions(ssru: Path, tmp_path: Path) -> None:
    """Marian's default is a table for 50 tokens; 1.12 ignores the setting, and has no table."""
    table = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)
    set_settings(ssru / "model.npz", transformer_train_position_embeddings=True)
    assert again(ssru, tmp_path / "without").recipe.model.positions == "marian"
    change(ssru / "model.npz", Wpos=table)
    run = again(ssru, tmp_path / "run")
    model = run.recipe.model
    assert (model.positions, model.shared_positions, model.max_positions) == ("learned", True, 50)
    assert (run.recipe.data.max_tokens, run.recipe.decoding.max_length) == (50, 48)
    np.testing.assert_array_equal(weights_of(run)["positions/table"], table)


def test_tied_layers_share_their_matrices_in_8_bits(ssru: Path, tmp_path: Path) -> None:
    with np.load(ssru / "model.npz") as archive:
        second = [name for name in archive if name.startswith("decoder_l2_")]
    change(ssru / "model.npz", **dict.fromkeys(second))
    set_settings(ssru / "model.npz", transformer_tied_layers=[1, 1])
    run = again(ssru, tmp_path / "run")
    weights = weights_of(run)
    for name in [name for name in weights if name.startswith("decoder_0/")]:
        twin = name.replace("decoder_0", "decoder_1")
        np.testing.assert_array_equal(weights[name], weights[twin])
    options = ExportOptions(output=tmp_path / "int8", precision="int8", verify=False)
    EXPORTERS["onnx"].export(run, options)
    done = nmt("translate", "-m", "int8", cwd=tmp_path, stdin=b"Onde fica a casa?\n")
    assert done.code == 0, done.err


def test_scales_of_some_inputs_only_are_not_used(ssru: Path, tmp_path: Path) -> None:
    """The engine needs all of them: an export measures them."""
    change(ssru / "model.npz", encoder_l1_self_Wq_QuantMultA=np.ones(1, np.float32))
    assert again(ssru, tmp_path / "run").quantization == {}


def test_weights_in_float16(ssru: Path, tmp_path: Path) -> None:
    with np.load(ssru / "model.npz") as archive:
        halves = {name: archive[name].astype(np.float16) for name in archive}
    del halves[files.SETTINGS]
    change(ssru / "model.npz", **halves)
    weights = weights_of(again(ssru, tmp_path / "run"))
    expected = halves["decoder_l2_ffn_W1"].astype(np.float32)
    inner = weights["decoder_1/feed_forward/inner/kernel"]
    np.testing.assert_array_equal(inner, expected)


NAMES = [
    # A path, given languages, and the run's label.
    ("small-pt-en", (), "small-pt-en"),
    ("opus-mt-pt-en", (), "opus-mt-pt-en"),
    ("pt-en", (), "marian-pt-en"),
    ("mini_pt_BR-en", (), "mini-pt_BR-en"),
    ("pt-en/model.npz", (), "marian-pt-en"),
    ("small/model.ptenx.npz", ("a", "b"), "small-a-b"),
    ("small/model.deen.intgemm.alphas.bin", (), "small-de-en"),
    ("small/model.nben.intgemm8.bin", ("no", None), "small-no-en"),
    ("base/model.de-en.npz", ("de", "en"), "base-de-en"),
]


@pytest.mark.parametrize(("name", "given", "label"), NAMES)
def test_languages_are_in_the_names(
    name: str, given: tuple[str, str], label: str, written: Callable[..., Path], tmp_path: Path
) -> None:
    model = tmp_path / name
    if not model.suffix:
        model /= "model.npz"
    shutil.copytree(written("ssru", for_firefox=model.suffix == ".bin"), model.parent)
    next(model.parent.glob("model*")).rename(model)
    with mock.patch("nmt_cli.export.importing.marian.write_run") as write:
        import_marian(tmp_path / name, languages=given or (None, None))
    assert write.call_args.args[1].label == label


def test_names_may_lack_the_languages(ssru: Path, tmp_path: Path) -> None:
    ssru.rename(tmp_path / "small")
    done = nmt("import", "small", cwd=tmp_path)
    assert (done.code, done.message) == (
        2,
        "Error: small does not name its languages: give --source and --target",
    )


REFUSED = {key: ("x", -1, ["x"]) for key in files.ALLOWED} | {
    "dec-cell": ("gru", "lstm"),
    "transformer-decoder-dim-ffn": (7,),
}
CHECKED_EARLIER = {"transformer-decoder-autoreg", "transformer-ffn-activation"}  # as strings


@pytest.mark.parametrize("key", REFUSED)
def test_settings_that_nmt_lacks_are_named(key: str) -> None:
    settings = {"dim-emb": 8, "dim-vocabs": [9, 9], "enc-depth": 1, "dec-depth": 1}
    settings |= {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
    assert files.MarianConfig.read(yaml.safe_dump(settings).encode(), Path("a")).decoder == "ssru"
    for value in REFUSED[key][: 1 if key in CHECKED_EARLIER else None]:
        text = yaml.safe_dump(settings | {key: value}).encode()
        with pytest.raises(NmtError) as caught:
            files.MarianConfig.read(text, Path("model.npz"))
        assert str(caught.value) == f"model.npz: {key} is {value!r}, which nmt does not have"


HINT = "; use `onnx`, which supports every model"
LACKING: list[tuple[dict[str, Any], str]] = [
    ({"start": "embedding"}, "model.start = 'embedding' (its decoder starts from zeros)"),
    ({"positions": "sinusoidal"}, "model.positions = 'sinusoidal' (it has its own)"),
    ({"positions": "learned"}, "model.positions = 'learned' (it has its own)"),
    ({"scale_embeddings": False}, "model.scale_embeddings = false"),
    ({"norm": "pre"}, "model.norm = 'pre' with attention in the decoder"),
    ({"attention_bias": False}, "model.attention_bias = false"),
    ({"activation": "swiglu"}, "model.activation = 'swiglu'"),
    ({"epsilon": 1e-5}, "model.epsilon = 1e-05 (its is 1e-06)"),
    ({"pad_ids": [0, 9]}, "model.pad_ids = [0, 9]"),
    ({"key_dim": 3}, "model.key_dim and value_dim other than d_model / heads"),
]
FIREFOX = {**MARIAN, "decoder": "ssru", "activation": "relu"}
LACKING_IN_FIREFOX: list[tuple[dict[str, Any], str]] = [
    ({"decoder": "attention"}, "model.decoder = 'attention'"),
    ({"norm": "pre"}, "model.norm = 'pre'"),
    ({"activation": "gelu"}, "model.activation = 'gelu'"),
    ({"embeddings": "source-target"}, "model.embeddings = 'source-target'"),
    ({"embeddings": "none"}, "model.embeddings = 'none'"),
    ({"positions": "none"}, "model.positions = 'none' (it has its own)"),
]


def trained(keys: dict[str, Any], run: Run) -> Any:
    """Return what the exporters read of a model before they refuse it."""
    recipe = SimpleNamespace(model=model_config(keys, "test"))
    return SimpleNamespace(run=SimpleNamespace(recipe=recipe), tokenizers=run.tokenizers())


@pytest.mark.parametrize(("keys", "message"), LACKING)
def test_what_marian_lacks_is_named(
    keys: dict[str, Any], message: str, small: Callable[[str], Run]
) -> None:
    with pytest.raises(NmtError) as caught:
        folder.convert(trained({**MARIAN, **keys}, small("ssru")), "Marian")
    assert str(caught.value) == f"Marian cannot represent {message}{HINT}"


@pytest.mark.parametrize(("keys", "message"), LACKING_IN_FIREFOX)
def test_what_firefoxs_engine_lacks_is_named(
    keys: dict[str, Any], message: str, small: Callable[[str], Run], tmp_path: Path
) -> None:
    with pytest.raises(NmtError) as caught:
        firefox.write(trained({**FIREFOX, **keys}, small("ssru")), mock.Mock(), tmp_path)
    assert str(caught.value) == f"Firefox's engine cannot represent {message}{HINT}"
    assert not list(tmp_path.iterdir())


def test_wordpiece_cannot_be_exported(small: Callable[[str], Run]) -> None:
    model = trained(MARIAN, small("ssru"))
    model.tokenizers = mock.Mock()
    with pytest.raises(NmtError, match=r"Marian cannot represent tokenizer.kind = 'wordpiece'"):
        folder.convert(model, "Marian")
