"""Bundles with correct hashes and invalid content, refused by loading or search."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from nmt_cli.bundle import MANIFEST, WEIGHTS
from nmt_cli.errors import ModelError
from tests.bundle import harm
from tests.translators import load_bundle


def refusal(folder: Path) -> str:
    """Update the hashes of a bundle, translate with it, and return the error."""
    harm.hide(folder)
    with pytest.raises(ModelError) as caught:
        list(load_bundle(folder).translate(["um dois três"]))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert str(folder) in message
    return message


def graph_of(folder: Path, name: str = "decoder.onnx") -> onnx.ModelProto:
    return onnx.load(str(folder / name), load_external_data=False)


def save(model: onnx.ModelProto, folder: Path, name: str = "decoder.onnx") -> None:
    (folder / name).write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    "location", ["../weights.bin", "{folder}/../weights.bin", "a/../../weights.bin", "link.bin"]
)
def test_weights_outside_the_folder(bundle: Path, location: str) -> None:
    """ONNX Runtime refuses them."""
    shutil.copy(bundle / WEIGHTS, bundle.parent / WEIGHTS)
    (bundle / "link.bin").symlink_to(f"../{WEIGHTS}")
    model = graph_of(bundle)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location.format(folder=bundle)
    save(model, bundle)
    assert "decoder.onnx: ONNX Runtime cannot load it (" in refusal(bundle)


def test_weights_without_a_hash(bundle: Path) -> None:
    tree = harm.read(bundle)
    del tree["files"][WEIGHTS]
    harm.write(bundle, tree)
    assert "files has no record of weights.bin" in refusal(bundle)


@pytest.mark.parametrize("domain", ["", "com.example"])
def test_operators_of_other_libraries(bundle: Path, domain: str) -> None:
    model = graph_of(bundle)
    model.graph.node.append(helper.make_node("Execute", ["tokens"], ["x"], domain=domain))
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    save(model, bundle)
    assert "decoder.onnx: ONNX Runtime cannot load it (" in refusal(bundle)


def test_weights_that_are_not_numbers(bundle: Path) -> None:
    size = (bundle / WEIGHTS).stat().st_size // 4
    (bundle / WEIGHTS).write_bytes(np.full(size, np.nan, np.float32).tobytes())
    assert "its graphs returned scores that are NaN" in refusal(bundle)


def test_a_different_type(bundle: Path) -> None:
    model = graph_of(bundle)
    model.graph.node.append(helper.make_node("Cast", ["ids"], ["wide"], to=onnx.TensorProto.INT64))
    output = next(each for each in model.graph.output if each.name == "ids")
    output.type.tensor_type.elem_type = onnx.TensorProto.INT64
    for node in model.graph.node:
        node.output[:] = [{"ids": "narrow", "wide": "ids"}.get(each, each) for each in node.output]
        node.input[:] = ["narrow" if each == "ids" else each for each in node.input]
    save(model, bundle)
    message = refusal(bundle)
    assert "decoder.onnx: not the graph that manifest.json describes (ids int64" in message


def test_a_missing_tensor(bundle: Path) -> None:
    model = graph_of(bundle)
    del model.graph.output[-1]
    save(model, bundle)
    assert "is missing" in refusal(bundle)


def test_swapped_graphs(bundle: Path) -> None:
    tree = harm.read(bundle)
    tree["encoder"]["file"], tree["decoder"]["file"] = "decoder.onnx", "encoder.onnx"
    harm.write(bundle, tree)
    assert "decoder.onnx: not the graph that manifest.json describes" in refusal(bundle)


def test_candidates_outside_the_vocabulary(bundle: Path) -> None:
    """The output ids is shifted beyond the vocabulary."""
    model = graph_of(bundle)
    for node in model.graph.node:
        node.output[:] = ["true_ids" if name == "ids" else name for name in node.output]
    thousand = helper.make_tensor("thousand", onnx.TensorProto.INT32, [], [1000])
    model.graph.initializer.append(thousand)
    model.graph.node.append(helper.make_node("Add", ["true_ids", "thousand"], ["ids"]))
    save(model, bundle)
    assert "its graphs returned tokens outside the vocabulary of " in refusal(bundle)


def test_a_different_vocabulary(bundle: Path) -> None:
    (bundle / "tokenizer" / "tokenizer.json").write_text(
        json.dumps({"kind": "wordpiece", "source": "vocab.txt", "target": "vocab.txt"}),
        encoding="utf-8",
    )
    words = ["[PAD]", "[UNK]", "[START]", "[END]", "um"]
    (bundle / "tokenizer" / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    assert f"vocab.txt: {MANIFEST} has no hash of it" in refusal(bundle)
    tree = harm.read(bundle)
    tree["files"]["tokenizer/vocab.txt"] = {"sha256": "0" * 64, "bytes": 1}
    harm.write(bundle, tree)
    assert "the source vocabulary has 5 entries, but manifest.json says 3" in refusal(bundle)


@pytest.mark.parametrize("content", [b"", b"\x08", b"\xff" * 50, b'{"format": 1}'])
def test_files_that_are_not_onnx(bundle: Path, content: bytes) -> None:
    (bundle / "encoder.onnx").write_bytes(content)
    message = refusal(bundle)
    assert "encoder.onnx: ONNX Runtime cannot load it (" in message or "not the graph" in message
