"""Bundles with correct hashes and invalid content, refused by loading or search."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from nmt_cli.bundle import DECODER, MANIFEST, PRECISIONS, WEIGHTS
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.runtime.load import _check_sizes
from nmt_cli.runtime.onnx_file import read_onnx
from tests.bundle import harm
from tests.translators import load_bundle


def refusal(folder: Path) -> str:
    """Update the hashes of a bundle, translate with it, and return the error."""
    harm.hide(folder)
    with pytest.raises(NmtError) as caught:
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
    "place",
    [
        "../weights.bin",
        "{folder}/../weights.bin",
        "a/../../weights.bin",
        "other.bin",
        "tokenizer/joint.model",
    ],
)
def test_weights_from_elsewhere(bundle: Path, place: str) -> None:
    """Weights outside the bundle, in it without a hash, or in a file of another kind."""
    for copy in (bundle.parent / WEIGHTS, bundle / "other.bin"):
        shutil.copy(bundle / WEIGHTS, copy)
    model = graph_of(bundle)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = place.format(folder=bundle)
    save(model, bundle)
    message = refusal(bundle)
    assert "decoder.onnx: reads weights from " in message
    assert "not from weights.bin" in message


def test_weights_without_a_hash(bundle: Path) -> None:
    tree = harm.read(bundle)
    del tree["files"][WEIGHTS]
    harm.write(bundle, tree)
    assert "files has no record of weights.bin" in refusal(bundle)


def test_weights_in_two_places(bundle: Path) -> None:
    """Readers differ in which place they choose."""
    model = graph_of(bundle)
    tensor = next(each for each in model.graph.initializer if each.external_data)
    tensor.external_data.add(key="location", value="tokenizer/joint.model")
    save(model, bundle)
    assert "decoder.onnx: not an ONNX file (weights in two places)" in refusal(bundle)


@pytest.mark.parametrize("layers", [2, 999])
def test_more_layers_than_the_graphs_have(bundle: Path, layers: int) -> None:
    tree = harm.read(bundle)
    tree["architecture"]["encoder_layers"] = layers
    harm.write(bundle, tree)
    message = refusal(bundle)
    assert "its graphs have 4" in message
    assert "weights, but the architecture in manifest.json has " in message


def test_equal_vectors_may_be_stored_once(bundle: Path) -> None:
    """Biases of a model that was not trained are all zero."""
    manifest = read_manifest(bundle)
    graphs = {each.file: read_onnx(bundle / each.file) for each in manifest.graphs}
    constants, width = graphs[DECODER].constants, manifest.architecture.d_model

    def check_without(size: int) -> None:
        kept = tuple(each for each in constants if each.size != size)
        assert len(kept) < len(constants)
        found = {**graphs, DECODER: graphs[DECODER]._replace(constants=kept)}
        _check_sizes(bundle, manifest, found)

    check_without(width)
    with pytest.raises(NmtError, match="its graphs have "):
        check_without(width * width)


def test_smaller_layers_than_the_graphs_have(bundle: Path) -> None:
    tree = harm.read(bundle)
    tree["architecture"]["feed_forward"] = 32
    harm.write(bundle, tree)
    assert "weights, but the architecture in manifest.json has " in refusal(bundle)


@pytest.mark.parametrize("found", PRECISIONS)
def test_a_different_precision(
    tiny_bundle: Callable[[str], Path], tmp_path: Path, found: str
) -> None:
    for stated in sorted({*PRECISIONS} - {found}):
        folder = Path(shutil.copytree(tiny_bundle(found), tmp_path / stated))
        harm.write(folder, {**harm.read(folder), "precision": stated})
        message = refusal(folder)
        if found != "float16":  # else already the types of the graphs' outputs differ
            assert f"its graphs are {found}, but manifest.json says {stated}" in message


def test_weights_that_are_not_numbers(bundle: Path) -> None:
    size = (bundle / WEIGHTS).stat().st_size // 4
    (bundle / WEIGHTS).write_bytes(np.full(size, np.nan, np.float32).tobytes())
    assert "its graphs returned scores that are not numbers" in refusal(bundle)


def test_nested_graphs(bundle: Path) -> None:
    """Nested graphs could loop forever."""
    model = graph_of(bundle)
    body = helper.make_graph([], "body", [], [])
    model.graph.node.append(helper.make_node("If", ["c"], ["o"], then_branch=body))
    save(model, bundle)
    assert "decoder.onnx: not an ONNX file (nested graphs)" in refusal(bundle)


def test_custom_functions(bundle: Path) -> None:
    model = graph_of(bundle)
    opsets = [helper.make_opsetid("", 18)]
    model.functions.append(helper.make_function("x", "f", [], [], [], opsets))
    save(model, bundle)
    assert "not an ONNX file (it defines functions)" in refusal(bundle)


def test_a_different_opset(bundle: Path) -> None:
    tree = harm.read(bundle)
    tree["encoder"]["opset"] += 1
    harm.write(bundle, tree)
    assert "encoder.onnx: not the graph that manifest.json describes (opset " in refusal(bundle)


def test_a_different_type(bundle: Path) -> None:
    model = graph_of(bundle)
    next(each for each in model.graph.output if each.name == "ids").type.tensor_type.elem_type = 7
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
        node.output[:] = ["true_ids" if each == "ids" else each for each in node.output]
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


def test_files_that_are_not_onnx(bundle: Path) -> None:
    for content in (b"", b"\x08", b"\xff" * 50, b'{"format": 1}'):
        (bundle / "encoder.onnx").write_bytes(content)
        assert "encoder.onnx: not an ONNX file (" in refusal(bundle)


def test_the_reader_agrees_with_the_onnx_package(bundle: Path) -> None:
    for name in ("encoder.onnx", "decoder.onnx"):
        model, found = graph_of(bundle, name), read_onnx(bundle / name)
        assert [each.name for each in found.inputs] == [each.name for each in model.graph.input]
        assert [each.name for each in found.outputs] == [each.name for each in model.graph.output]
        assert found.opset == next(each.version for each in model.opset_import if not each.domain)
        assert {each.location for each in found.constants} == {"", WEIGHTS}
