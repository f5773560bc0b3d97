"""Writing a model's weights in CTranslate2's format, with ``ctranslate2.specs``."""

from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2 import specs
from keras import ops
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.transformer.steps import Steps
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID, TokenizerPair

_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH", "swiglu": "SWISH"}
# CTranslate2's default limit for sources; for translations it is 256.
_LONGEST = 1024


def write_weights(
    graph: StepGraph,
    tokenizers: TokenizerPair,
    decoding: DecodingConfig,
    quantization: str | None,
    folder: Path,
) -> None:
    """Write a model's weights and vocabularies as CTranslate2 reads them.

    Raises:
        NmtError: CTranslate2 cannot represent the model.
    """
    if not isinstance(graph, Steps):
        raise _failure(f"has no models of architecture '{graph.config.architecture}'")
    config, marks = graph.config, tokenizers.source.with_special_tokens([])
    if config.decoder == "ssru":
        raise _failure("has no SSRUs, which model.decoder = 'ssru' needs")
    size = config.d_model / config.heads
    # CTranslate2 has no settings for these and would ignore them.
    if (config.key_size, config.value_size) != (size, size):
        raise _failure(
            f"needs heads of d_model / heads columns, not model.key_dim = {config.key_size} and "
            f"model.value_dim = {config.value_size}"
        )
    if config.pad_ids != (PAD_ID,):
        raise _failure(f"masks only PAD, not model.pad_ids = {list(config.pad_ids)}")
    spec = specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.common_spec.Activation, _ACTIVATIONS[config.activation]),
        ffn_glu=config.activation == "swiglu",
    )
    _encoder(spec.encoder, graph)
    _decoder(spec.decoder, graph)
    # CTranslate2's own formula for positions is another (tensor2tensor's).
    longest = max(_LONGEST, decoding.max_length, decoding.max_source + len(marks))
    sides = ((spec.encoder, graph.source_positions), (spec.decoder, graph.target_positions))
    for side, positions in sides:
        side.position_encodings.encodings = _positions(positions, longest, config.d_model)
        side.scale_embeddings = config.scale_embeddings
    source, target = (
        each.tokens(range(each.vocab_size)) for each in (tokenizers.source, tokenizers.target)
    )
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.unk_token = target[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = target[START_ID]
    spec.config.eos_token = target[END_ID]
    spec.config.add_source_bos, spec.config.add_source_eos = marks[0] == START_ID, True
    spec.config.layer_norm_epsilon = config.epsilon
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def _failure(problem: str) -> NmtError:
    return NmtError(f"CTranslate2 {problem}", "export it with `onnx`, which supports every model")


def _encoder(spec: Any, graph: Steps) -> None:
    spec.embeddings[0].weight = _array(graph.source_embedding.matrix)
    for layer, of in zip(spec.layer, graph.encoder_layers, strict=True):
        _self_attention(layer.self_attention, of)
        _feed_forward(layer.ffn, of)
    if graph.encoder_norm:
        _norm(spec.layer_norm, graph.encoder_norm)


def _decoder(spec: Any, graph: Steps) -> None:
    spec.embeddings.weight = _array(graph.target_embedding.matrix)
    for layer, of in zip(spec.layer, graph.decoder_layers, strict=True):
        _self_attention(layer.self_attention, of)
        cross = (of.cross.query, of.cross.key_value, of.cross.output_projection)
        for linear, dense in zip(layer.attention.linear, cross, strict=True):
            _linear(linear, dense)
        _norm(layer.attention.layer_norm, of.cross_norm)
        _feed_forward(layer.ffn, of)
    if graph.decoder_norm:
        _norm(spec.layer_norm, graph.decoder_norm)
    if graph.dense_logits:
        _linear(spec.projection, graph.dense_logits)
    else:
        spec.projection.weight = _array(graph.target_embedding.matrix)
        if graph.target_embedding.bias is not None:
            spec.projection.bias = _array(graph.target_embedding.bias)


def _self_attention(spec: Any, layer: Any) -> None:
    """Copy attention; CTranslate2 fuses the projections, too."""
    _linear(spec.linear[0], layer.attention.query_key_value)
    _linear(spec.linear[1], layer.attention.output_projection)
    _norm(spec.layer_norm, layer.attention_norm)


def _positions(positions: Any, longest: int, d_model: int) -> NDArray[np.float32]:
    """The vectors of the first positions; zeros for a model without positions."""
    if positions is None:
        return np.zeros((longest, d_model), np.float32)
    return _array(positions.at(ops.arange(longest), d_model))


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
