"""Write a folder for CTranslate2, and compare it with the trained model."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ctranslate2 import specs
from keras import ops
from numpy.typing import NDArray

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.export.ctranslate2.translator import FORMAT, SETTINGS, load_ctranslate2
from nmt_cli.export.exporter import FLOAT32, ExportOptions
from nmt_cli.export.trained import TrainedModel, refuse
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model
from nmt_cli.files import write_json
from nmt_cli.model.transformer import DecoderLayer, Steps
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.step_model import Floats
from nmt_cli.text.tokenizer import END_ID, START_ID, UNK_ID

# For all quantizations: CTranslate2 also quantizes what an ONNX bundle keeps in float32.
GATES = Gates(bleu=1.0, chrf=80)
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH", "swiglu": "SWISH"}
# CTranslate2's default limit for sources; for translations it is 256.
_MAX_SOURCE = 1024


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write a model's weights, tokenizers and settings, unverified, if CTranslate2 can have it."""
    spec = _specification(trained)
    spec.optimize(None if options.precision == FLOAT32 else options.precision)
    spec.save(str(folder))
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)
    write_json(folder / SETTINGS, {"format": FORMAT, "decoding": asdict(trained.decoding)})


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a folder with its model, and write its card with the report.

    Quantized weights are first written in float32 elsewhere, to check the conversion exactly.
    """
    checks: list[Check] = []
    if options.precision != FLOAT32:
        with TemporaryDirectory(prefix="nmt-ctranslate2-") as exact:
            write(trained, replace(options, precision=FLOAT32), Path(exact))
            exact_checks, _ = compare_with_model(trained, _under_test(trained, Path(exact)))
            checks += [replace(check, name=f"in float32: {check.name}") for check in exact_checks]
    own_checks, _ = compare_with_model(trained, _under_test(trained, folder, options.precision))
    report, usage = trained.passed([*checks, *own_checks]), f"ctranslate2-{trained.spec.kind}"
    return trained.write_card(folder, options.precision, "for CTranslate2", usage, report)


def _under_test(trained: TrainedModel, folder: Path, precision: str = FLOAT32) -> ExportUnderTest:
    """Load a folder for verification.

    It searches without a length penalty, as CTranslate2's formula differs from ours, and without a
    second search of translations that repeat themselves, which CTranslate2 does not have.
    """
    # One thread: several wait for each other at each product where other work takes a core.
    translator = load_ctranslate2(folder, intra_threads=1)

    def log_probs(source: list[int], target: list[int]) -> Floats | None:
        if source == trained.tokenizers.source.with_special_tokens([]):  # which CTranslate2 lacks
            return None
        (forced,) = translator.force([(source, target)])
        return np.array(forced.token_scores, np.float32)

    once = DecodingOptions(length_penalty=0.0, no_repeat_ngram=0)
    return ExportUnderTest.of(
        translator,
        searches=[replace(once, beam_size=beam) for beam in (1, 4)],
        log_probs=log_probs,
        precision=precision,
        gates=GATES if precision != FLOAT32 else None,
        own_search=True,
    )


def _specification(trained: TrainedModel) -> Any:
    """Return a model's weights and vocabularies as CTranslate2 has them, if it can."""
    graph, tokenizers, decoding = trained.step_model.graph, trained.tokenizers, trained.decoding
    assert isinstance(graph, Steps)  # as the table of exporters says
    config, special = graph.config, tokenizers.source.with_special_tokens([])
    refused = {
        "model.decoder = 'ssru'": config.decoder == "ssru",
        "model.final_norm = false": config.norm == "pre" and not config.final_norm,
    }
    refuse("CTranslate2", config, refused)
    spec = specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.common_spec.Activation, _ACTIVATIONS[config.activation]),
        ffn_glu=config.activation == "swiglu",
    )
    spec.encoder.embeddings[0].weight = _array(graph.source_embedding.matrix)
    spec.decoder.embeddings.weight = _array(graph.target_embedding.matrix)
    _layers(spec.encoder, graph.encoder_layers, graph.encoder_norm)
    _layers(spec.decoder, graph.decoder_layers, graph.decoder_norm)
    if graph.dense_logits:
        _linear(spec.decoder.projection, graph.dense_logits)
    else:
        spec.decoder.projection.weight = _array(graph.target_embedding.matrix)
        if graph.target_embedding.bias is not None:
            spec.decoder.projection.bias = _array(graph.target_embedding.bias)
    # CTranslate2's own formula for positions is another (tensor2tensor's).
    longest = max(_MAX_SOURCE, decoding.max_length, decoding.max_source + len(special))
    sides = ((spec.encoder, graph.source_positions), (spec.decoder, graph.target_positions))
    for side, positions in sides:
        vectors = np.zeros((longest, config.d_model), np.float32)
        if positions is not None:
            vectors = _array(positions.at(ops.arange(longest), config.d_model))
        side.position_encodings.encodings = vectors
        side.scale_embeddings = config.scale_embeddings
    source, target = (
        tokenizer.tokens(range(tokenizer.vocab_size))
        for tokenizer in (tokenizers.source, tokenizers.target)
    )
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.unk_token = target[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = target[START_ID]
    spec.config.eos_token = target[END_ID]
    spec.config.add_source_bos, spec.config.add_source_eos = special[0] == START_ID, True
    spec.config.layer_norm_epsilon = config.epsilon
    spec.validate()
    return spec


def _layers(spec: Any, layers: Sequence[Any], final_norm: Any) -> None:
    """Copy a side's layers; CTranslate2 fuses the projections of attention, too."""
    for theirs, ours in zip(spec.layer, layers, strict=True):
        _linear(theirs.self_attention.linear[0], ours.attention.query_key_value)
        _linear(theirs.self_attention.linear[1], ours.attention.output_projection)
        _norm(theirs.self_attention.layer_norm, ours.attention_norm)
        if isinstance(ours, DecoderLayer):
            cross = (ours.cross.query, ours.cross.key_value, ours.cross.output_projection)
            for linear, dense in zip(theirs.attention.linear, cross, strict=True):
                _linear(linear, dense)
            _norm(theirs.attention.layer_norm, ours.cross_norm)
        _feed_forward(theirs.ffn, ours)
    if final_norm:
        _norm(spec.layer_norm, final_norm)


def _feed_forward(spec: Any, layer: Any) -> None:
    """Copy a feed-forward layer, whose inner projection has two parts for SwiGLU."""
    feed, inner = layer.feed, [spec.linear_0]
    if feed.activation == "swiglu":
        inner.append(spec.linear_0_noact)
    kernels = np.split(_array(feed.inner.kernel), len(inner), axis=1)
    biases = np.split(_array(feed.inner.bias), len(inner))
    for part, kernel, bias in zip(inner, kernels, biases, strict=True):
        part.weight, part.bias = np.ascontiguousarray(kernel.T), bias
    _linear(spec.linear_1, feed.outer)
    _norm(spec.layer_norm, layer.feed_norm)


def _linear(spec: Any, dense: Any) -> None:
    """A Dense kernel [in, out] as a weight [out, in]."""
    spec.weight = np.ascontiguousarray(_array(dense.kernel).T)
    if dense.bias is not None:
        spec.bias = _array(dense.bias)


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.scale), _array(norm.offset)


def _array(weight: Any) -> NDArray[np.float32]:
    # A copy: quantizing scales arrays in place.
    return np.array(ops.convert_to_numpy(weight), np.float32)
