"""Exports for Firefox's engine: the layout of their files, as described in Mozilla's repository
(mozilla/translations, inference/marian-fork), and the engine itself."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import pytest
import yaml
from sentencepiece import SentencePieceProcessor

from nmt_cli.export.importing.marian import import_marian
from nmt_cli.text.tokenizer import END_ID, UNK_ID
from nmt_cli.training.run import Run
from tests.harness import nmt
from tests.marian.conftest import DATA, LINES, SMALL, again, export
from tests.systems import untrained_run

BIN = "model.pten.intgemm.alphas.bin"
INT8, FLOAT32, INTGEMM8 = 0x101, 0x404, 0x4101  # common/types.h
SIZE = 408  # of the vocabulary: 401 pieces, and 7 that fill it up


@dataclass(frozen=True)
class Item:
    """A tensor of a .bin file; ``offset`` is where its data begins."""

    kind: int
    shape: tuple[int, ...]
    offset: int
    data: bytes


def items_of(content: bytes) -> dict[str, Item]:
    """Read a file as loadItems does in common/binary.cpp."""
    at = 0

    def numbers(form: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from(f"<{form}", content, at)
        at += struct.calcsize(f"<{form}")
        return values

    version, count = numbers("QQ")
    assert version == 1
    headers = [numbers("QQQQ") for _ in range(count)]  # lengths of name, shape and data; type
    names = []
    for length, *_ in headers:
        name, end = content[at : at + length - 1], content[at + length - 1]
        assert end == 0
        names.append(name.decode("ascii"))
        at += length
    shapes = [numbers(f"{rank}i") for _, _, rank, _ in headers]
    (padding,) = numbers("Q")
    assert padding < 256
    at += padding
    items = {}
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers, strict=True):
        items[name] = Item(kind, shape, at, content[at : at + length])
        at += length
    assert at == len(content)
    assert len(items) == count
    return items


@pytest.fixture(scope="module")
def model(written: Callable[..., Path]) -> dict[str, Item]:
    path = written("ssru", for_firefox=True) / BIN
    return items_of(path.read_bytes())


def test_the_layout_of_the_model(
    model: dict[str, Item], written: Callable[..., Path], small: Callable[[str], Run]
) -> None:
    assert all(item.offset % 256 == 0 for item in model.values())
    assert [item.offset for item in model.values()] == sorted(i.offset for i in model.values())
    settings = yaml.safe_load(model["special:model.yml"].data.rstrip(b"\0"))
    assert model["special:model.yml"].kind == INT8
    assert settings["dim-vocabs"] == [SIZE, SIZE]
    with np.load(written("ssru") / "model.npz") as archive:
        tensors = {name: archive[name] for name in archive if name != "special:model.yml"}
    matrices = set()
    for name, tensor in tensors.items():
        item = model[name]
        assert item.shape == tensor.shape
        if item.kind == FLOAT32:
            assert np.frombuffer(item.data, "<f4", tensor.size).tolist() == tensor.ravel().tolist()
            continue
        assert item.kind == INTGEMM8
        matrices.add(name)
        (factor,) = struct.unpack_from("<f", item.data, tensor.size)
        assert factor == pytest.approx(127 / np.abs(tensor).max())
        integers = np.frombuffer(item.data, np.int8, tensor.size)
        stored = tensor if name == "Wemb" else tensor.T
        np.testing.assert_allclose(
            integers.reshape(stored.shape), stored * factor, atol=0.5 + 1e-4, err_msg=name
        )
    alphas = {name for name in model if name.endswith("_QuantMultA")}
    assert {name.removesuffix("_QuantMultA") for name in alphas} == {*matrices, "none"}
    assert all((model[name].kind, model[name].shape) == (FLOAT32, (1,)) for name in alphas)
    assert model.keys() == tensors.keys() | alphas | {"special:model.yml"}
    layer = "decoder_l2_rnn_W", "decoder_l2_rnn_Wf", "decoder_l2_context_Wq", "decoder_l2_ffn_W1"
    assert {"Wemb", "encoder_l2_self_Wo", *layer} < matrices
    assert {"decoder_ff_logit_out_b", "decoder_l1_rnn_ffn_ln_scale"}.isdisjoint(matrices)


def test_the_layout_of_the_shortlist(written: Callable[..., Path]) -> None:
    content = (written("ssru", for_firefox=True) / "lex.50.50.pten.s2t.bin").read_bytes()
    magic, checksum, first, best, rows, count = struct.unpack_from("<6Q", content)
    assert (magic, first, best, rows) == (0xF11A48D5013417F5, 50, 50, SIZE + 1)
    assert len(content) == 48 + 8 * rows + 4 * count
    # util::hashMem of common/hash.h, of the whole words after the checksum.
    seed = 0
    for (word,) in struct.iter_unpack("<Q", content[16 : len(content) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) % 2**64
    assert checksum == seed
    offsets = struct.unpack_from(f"<{rows}Q", content, 48)
    ids = struct.unpack_from(f"<{count}I", content, 48 + 8 * rows)
    assert (offsets[0], offsets[-1]) == (0, count)
    assert all(0 < end - start <= best for start, end in pairwise(offsets))
    assert max(ids) < SIZE


def test_the_shortlist_has_translations(written: Callable[..., Path]) -> None:
    folder = written("ssru", for_firefox=True)
    content = (folder / "lex.50.50.pten.s2t.bin").read_bytes()
    processor = SentencePieceProcessor(str(folder / "vocab.pten.spm"))
    for source, target in (("▁Paulo", "▁Paulo"), ("?", "?"), ("▁em", "▁in"), ("▁que", "▁want")):
        (start,) = struct.unpack_from("<Q", content, 48 + 8 * processor.piece_to_id(source))
        (first,) = struct.unpack_from("<I", content, 48 + 8 * (SIZE + 1) + 4 * start)
        assert processor.id_to_piece(first) == target


def test_names_are_those_of_firefox(written: Callable[..., Path]) -> None:
    assert {path.name for path in written("ssru", for_firefox=True).iterdir()} == {
        BIN,
        "vocab.pten.spm",
        "lex.50.50.pten.s2t.bin",
        "metadata.json",
    }


def test_two_vocabularies(tmp_path: Path) -> None:
    model = {**SMALL["ssru"]["model"], "embeddings": "target-softmax"}
    run = untrained_run(tmp_path, data=DATA, model=model, tokenizer=SMALL["separate"]["tokenizer"])
    export(run, tmp_path / "pt-en", for_firefox=True)
    paths = {path.name.partition(".")[0]: path for path in (tmp_path / "pt-en").iterdir()}
    assert paths.keys() == {"model", "srcvocab", "trgvocab", "lex", "metadata"}
    items = items_of(paths["model"].read_bytes())
    assert items["encoder_Wemb"].shape == items["decoder_Wemb"].shape == (376, 32)
    assert {"Wemb", "Wemb_QuantMultA", "encoder_Wemb_QuantMultA"}.isdisjoint(items)
    assert "decoder_Wemb_QuantMultA" in items
    after = again(tmp_path / "pt-en", tmp_path / "again")
    for side in ("source", "target"):
        tokenizers = [getattr(each.tokenizers(), side) for each in (run, after)]
        assert tokenizers[0].encode(LINES) == tokenizers[1].encode(LINES)
    contents = (paths[name].read_bytes() for name in ("model", "srcvocab", "trgvocab", "lex"))
    engine = pytest.importorskip("fxtranslate").Translator(*contents)
    assert engine.translate(LINES[0])


def test_an_export_that_is_imported_and_exported_again_has_the_same_bytes(
    written: Callable[..., Path], tmp_path: Path
) -> None:
    first = written("ssru", for_firefox=True)
    run = import_marian(first, tmp_path / "run", dev="phrasebook:dev", suppress_unknown=False)
    export(Run.open(run), tmp_path / "again", for_firefox=True)
    before, after = (items_of((path / BIN).read_bytes()) for path in (first, tmp_path / "again"))
    assert before.keys() == after.keys()
    for name, item in before.items():
        assert item.shape == after[name].shape
        size = int(np.prod(item.shape)) if item.kind == INTGEMM8 else 0
        assert item.data[:size] == after[name].data[:size], name
        if item.kind != INT8:  # floats: also the factors of the integers
            numbers = (np.frombuffer(each.data[size:], "<f4") for each in (item, after[name]))
            np.testing.assert_allclose(*numbers, rtol=1e-6, err_msg=name)
    name = "vocab.pten.spm"
    assert (first / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_an_int8_bundle_has_the_integers_of_the_file(
    written: Callable[..., Path], model: dict[str, Item], tmp_path: Path
) -> None:
    run = import_marian(written("ssru", for_firefox=True), tmp_path / "run")
    arguments = ["--onnx", "--quantize", "int8", "--no-verify", "-o", "bundle"]
    assert nmt("export", run, *arguments, cwd=tmp_path).code == 0
    tensors = {}
    for file in ("encoder.onnx", "decoder.onnx"):
        graph = onnx_ir.load(tmp_path / "bundle" / file).graph
        tensors |= {name: value.const_value.numpy() for name, value in graph.initializers.items()}
        # No input is measured at run time.
        assert "Abs" not in {node.op_type for node in graph}

    def integers(name: str) -> np.ndarray:
        item = model[name]
        values = np.frombuffer(item.data, np.int8, int(np.prod(item.shape)))
        return values.reshape(item.shape) if name == "Wemb" else values.reshape(item.shape[::-1]).T

    joined = np.concatenate([integers("decoder_l1_rnn_Wf"), integers("decoder_l1_rnn_W")], axis=1)
    np.testing.assert_array_equal(tensors["decoder_0/ssru/forget_input/kernel_int8"], joined)
    outer = tensors["encoder_0/feed_forward/outer/kernel_int8"]
    np.testing.assert_array_equal(outer, integers("encoder_l1_ffn_W2"))
    # Marian's first tokens are END, the unknown one, and what comes after END in nmt.
    rows = tensors["target_embedding/matrix_int8"]
    order = [END_ID, UNK_ID, *range(END_ID + 1, len(rows))]
    np.testing.assert_array_equal(rows[order], integers("Wemb")[: len(order)])


def test_the_engine_translates(written: Callable[..., Path]) -> None:
    fxtranslate = pytest.importorskip("fxtranslate")
    folder = written("ssru", for_firefox=True)
    model = (folder / BIN).read_bytes()
    vocabulary = (folder / "vocab.pten.spm").read_bytes()
    shortlist = (folder / "lex.50.50.pten.s2t.bin").read_bytes()
    for limit in (None, shortlist):
        engine = fxtranslate.Translator(model, vocabulary, vocabulary, limit)
        assert engine.translate(LINES[0])


def test_activations_are_measured_on_held_out_text(
    written: Callable[..., Path], tmp_path: Path
) -> None:
    again(written("ssru"), tmp_path / "run")
    done = nmt("export", "run", "--firefox", "-o", "out", cwd=tmp_path)
    assert (done.code, done.message) == (
        1,
        "nmt: run: has no held-out text, on which activations are measured; give some with --dev",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
