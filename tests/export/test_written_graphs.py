"""The files of a bundle: the operators of its graphs and the weights stored next to them."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import external_data_helper, numpy_helper

from nmt_cli.bundle import APPEND, DECODER, ENCODER, WEIGHTS
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.export.onnx.graphs import write_graphs
from nmt_cli.model import build_model, step_graph_of
from nmt_cli.recipe.model import model_config
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.options import DecodingOptions
from nmt_cli.text.tokenizer import START_ID
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.translators import load_bundle, unedited

PRECISIONS = ("float32", "int8", "float16")
PAGE = 4096
Bundle = Callable[[str], Path]


def graph(folder: Path, name: str) -> onnx.ModelProto:
    """Read a graph without its external weights."""
    return onnx.load(folder / name, load_external_data=False)


def operators(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def blocks(folder: Path) -> dict[tuple[int, int], bytes]:
    """Return the blocks of weights.bin that the graphs use, by offset and length."""
    content = (folder / WEIGHTS).read_bytes()
    used = {}
    for name in (ENCODER, DECODER, APPEND):
        for tensor in graph(folder, name).graph.initializer:
            if external_data_helper.uses_external_data(tensor):
                info = external_data_helper.ExternalDataInfo(tensor)
                assert info.location == WEIGHTS
                assert info.offset % PAGE == 0
                assert info.offset + info.length <= len(content)
                used[info.offset, info.length] = content[info.offset :][: info.length]
    return used


@pytest.mark.parametrize("precision", PRECISIONS)
def test_graphs_have_only_standard_and_fused_operators(tiny_bundle: Bundle, precision: str) -> None:
    for name, norms in ((ENCODER, 2 + 1), (DECODER, 2 * 3 + 1)):
        proto = graph(tiny_bundle(precision), name)
        assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx"}
        assert [opset.version for opset in proto.opset_import if opset.domain == ""] == [24]
        count = operators(proto)
        assert count["LayerNormalization"] == norms
        assert not {"ReduceMean", "Sqrt", "Softmax", "Loop", "If"} & set(count)
        assert count["Attention"] == (1 if name == ENCODER else 2 * 2)
        assert count["TensorScatter"] == (0 if name == ENCODER else 2 * 2)
        onnx.checker.check_model(str(tiny_bundle(precision) / name))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_bias_follows_each_product(tiny_bundle: Bundle, precision: str) -> None:
    if precision == "int8":
        pytest.skip("an integer product is scaled before the bias")
    for name in (ENCODER, DECODER):
        nodes = graph(tiny_bundle(precision), name).graph.node
        consumers = {value: node.op_type for node in nodes for value in node.input}
        constant = {tensor.name for tensor in graph(tiny_bundle(precision), name).graph.initializer}
        products = [
            node for node in nodes if node.op_type == "MatMul" and node.input[1] in constant
        ]
        assert products
        assert {consumers[node.output[0]] for node in products} == {"Add"}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_each_matrix_is_stored_once_outside_the_graphs(tiny_bundle: Bundle, precision: str) -> None:
    folder = tiny_bundle(precision)
    for name in (ENCODER, DECODER, APPEND):
        proto = graph(folder, name)
        inside = [tensor for tensor in proto.graph.initializer if tensor.external_data == []]
        inside += [
            attribute.t
            for node in proto.graph.node
            if node.op_type == "Constant"
            for attribute in node.attribute
        ]
        assert all(numpy_helper.to_array(tensor).nbytes < 1024 for tensor in inside)
        assert all(tensor.ByteSize() < 1024 for tensor in proto.graph.initializer), (
            "values stored in the graph as well as in the weights file"
        )
    stored = blocks(folder)
    digests = {hashlib.sha256(block).hexdigest() for block in stored.values()}
    assert len(digests) == len(stored)
    ends = sorted(stored)
    assert all(left[0] + left[1] <= right[0] for left, right in pairwise(ends))
    size = (folder / WEIGHTS).stat().st_size
    assert size == ends[-1][0] + ends[-1][1]
    assert size < sum(length + PAGE for _, length in stored)


def test_the_weights_are_those_of_the_model(tiny_bundle: Bundle, tiny_run: Run) -> None:
    model, _ = trained_model(tiny_run, tiny_run.last)
    arrays = [weight.numpy() for weight in model.weights]
    large = sorted(array.tobytes() for array in arrays if array.nbytes >= 1024)
    stored = sorted(blocks(tiny_bundle("float32")).values())
    assert stored == large


@pytest.mark.parametrize("name", [ENCODER, DECODER])
def test_all_products_with_weights_use_integers(tiny_bundle: Bundle, name: str) -> None:
    before, after = (operators(graph(tiny_bundle(precision), name)) for precision in PRECISIONS[:2])
    assert after["MatMul"] == 0
    assert after["MatMulInteger"] == before["MatMul"]
    floats = [
        tensor
        for tensor in graph(tiny_bundle("int8"), name).graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 1
    ]
    assert all(np.prod(tensor.dims) <= 32 for tensor in floats)  # frequencies of the positions


@pytest.mark.parametrize("name", [ENCODER, DECODER])
def test_values_after_a_relu_use_all_256_steps(tiny_bundle: Bundle, name: str) -> None:
    nodes = graph(tiny_bundle("int8"), name).graph.node
    producer = {value: node for node in nodes for value in node.output}

    def follows_relu(value: str) -> bool:
        node = producer.get(value)
        while node is not None and node.op_type in ("Reshape", "Div"):
            node = producer.get(node.input[0])
        return node is not None and node.op_type == "Relu"

    quantized = [node for node in nodes if node.op_type == "QuantizeLinear"]
    after_relu = [node for node in quantized if follows_relu(node.input[0])]
    assert len(after_relu) == operators(graph(tiny_bundle("int8"), name))["Relu"]
    for node in after_relu:
        (value,) = producer[node.input[2]].attribute
        assert numpy_helper.to_array(value.t) == 0


@pytest.mark.parametrize("name", [ENCODER, DECODER])
def test_onnx_runtime_fuses_every_integer_product(
    tiny_bundle: Bundle, tmp_path: Path, name: str
) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    written = tiny_bundle("int8") / name
    onnxruntime.InferenceSession(str(written), options, providers=["CPUExecutionProvider"])
    optimized = operators(onnx.load(tmp_path / "optimized.onnx", load_external_data=False))
    assert optimized["MatMulIntegerToFloat"] == operators(onnx.load(written))["MatMulInteger"]
    assert optimized["MatMulInteger"] == 0


@pytest.mark.slow
def test_int8_is_at_most_thirty_percent_of_float32(tmp_path: Path, tiny_run: Run) -> None:
    config = replace(
        tiny_run.recipe.model,
        d_model=256,
        feed_forward=1024,
        heads=8,
        encoder_layers=1,
        decoder_layers=1,
    )
    model = build_model(config, 4000, 4000, seed=3)
    sizes = []
    for precision in ("float32", "int8"):
        (tmp_path / precision).mkdir()
        write_graphs(step_graph_of(model), tmp_path / precision, precision)
        sizes.append((tmp_path / precision / WEIGHTS).stat().st_size)
    assert 0.25 * sizes[0] < sizes[1] <= 0.30 * sizes[0]
    parameters = 4 * sum(int(np.prod(weight.shape)) for weight in model.weights)
    assert sizes[0] == pytest.approx(parameters, rel=0.02)


class TestHalf:
    def test_states_are_float16_and_scores_are_float32(self, tiny_bundle: Bundle) -> None:
        manifest = read_manifest(tiny_bundle("float16"))
        encoder_output = {spec.name: spec.dtype for spec in manifest.encoder.outputs}
        assert set(encoder_output.values()) == {"float16"}
        inputs = {spec.name: spec.dtype for spec in manifest.decoder.inputs}
        outputs = {spec.name: spec.dtype for spec in manifest.decoder.outputs}
        assert {inputs[name] for name in encoder_output} == {"float16"}
        caches = [name for name in inputs if name.startswith("self_")]
        assert {inputs[name] for name in caches} == {"float16"}
        assert {outputs[f"new_{name}"] for name in caches} == {"float16"}
        assert (outputs["scores"], outputs["log_probs"]) == ("float", "float")
        assert outputs["ids"] == inputs["tokens"] == "int32"
        dtypes = {spec.name: spec.dtype for spec in (*manifest.append.inputs,)}
        assert dtypes == {"values": "float16", "columns": "float16", "rows": "int64"}

    def test_matrices_are_float16(self, tiny_bundle: Bundle) -> None:
        wide, half = (
            sum(map(len, blocks(tiny_bundle(precision)).values()))
            for precision in ("float32", "float16")
        )
        assert half == pytest.approx(wide / 2, rel=0.05)

    def test_output_names_are_unique(self, tiny_bundle: Bundle) -> None:
        for name in (ENCODER, DECODER):
            proto = graph(tiny_bundle("float16"), name)
            names = [value for node in proto.graph.node for value in node.output]
            assert len(names) == len(set(names))

    def test_its_probabilities_are_close_to_float32(self, tiny_bundle: Bundle) -> None:
        rng = np.random.default_rng(1)
        source = rng.integers(4, 290, (3, 8), np.int32)
        forced = rng.integers(4, 290, (12, 3, 1), np.int32)
        forced[0] = START_ID
        results = []
        for precision in ("float32", "float16"):
            folder = tiny_bundle(precision)
            model = OnnxStepModel(folder, read_manifest(folder))
            state = model.encode(source)
            steps = []
            for position, tokens in enumerate(forced):
                ancestry = np.ones((3, 1, position + 1), np.bool_)
                log_probs, state = model.log_probs(state, tokens, ancestry)
                assert log_probs.dtype == np.float32
                steps.append(log_probs)
            results.append(np.stack(steps))
        wide, half = results
        assert 0 < np.abs(half - wide).max() < 0.15
        divergence = (np.exp(wide) * (wide - half)).sum(-1)
        assert divergence.max() < 1e-3
        # The log-probabilities are float32: they have more bits than float16.
        assert (half != half.astype(np.float16)).any()

    def test_its_scores_are_close_to_float32(self, tiny_bundle: Bundle) -> None:
        lines = ["um dois três", "casa", "", "o gato, dez cafés!", "sol água pão " * 5]
        results = []
        for precision in ("float32", "float16"):
            # A line whose translation lacks something might be read again with one of them only.
            options = DecodingOptions(beam_size=4)
            translator = unedited(load_bundle(tiny_bundle(precision), options))
            results.append(list(translator.translate(lines)))
        wide, half = results
        assert [translation.score for translation in half] == pytest.approx(
            [translation.score for translation in wide], abs=0.2
        )
        assert all(
            bool(translation.ids) == bool(line)
            for translation, line in zip(half, lines, strict=True)
        )


def test_a_single_head_is_split_like_several(tmp_path: Path) -> None:
    """tf2onnx merges a reshape and a transposition that moves an axis of one entry, wrongly."""
    config = model_config({"d_model": 16, "feed_forward": 16, "heads": 1, "encoder_layers": 1}, "")
    graph = step_graph_of(build_model(replace(config, decoder_layers=1), 20, 20, 1))
    write_graphs(graph, tmp_path)
    source = np.array([[5, 6, 7, 3, 0], [8, 9, 3, 0, 0], [4, 5, 6, 7, 3]], np.int32)
    session = onnxruntime.InferenceSession(tmp_path / ENCODER)
    outputs = session.run([*graph.encoder_output], {"source": source})
    for ours, theirs in zip(outputs, graph.encode(source), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
