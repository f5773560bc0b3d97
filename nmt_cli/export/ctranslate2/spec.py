"""Writing a model's weights in CTranslate2's format, with ``ctranslate2.specs``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.export.ctranslate2.translator import import_ctranslate2
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.transformer import TransformerConfig
from nmt_cli.model.transformer.steps import Steps
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID

_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swiglu": "SWISH"}
# CTranslate2's default limit for sources; for translations it is 256.
LONGEST = 1024


def write_weights(
    graph: StepGraph,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    folder: Path,
    quantization: str | None = None,
    frame_start: bool = False,
    longest: int = LONGEST,
) -> None:
    """Write a model's weights and vocabularies as CTranslate2 reads them.

    Args:
        graph: the step graphs of the model.
        source_tokens, target_tokens: a unique string for every id; the same strings for UNK,
            START and END on both sides.
        folder: exists.
        quantization: how weights are stored; None for float32.
        frame_start: whether sources begin with START; all end with END.
        longest: maximum number of tokens of a source or translation.

    Raises:
        NmtError: ctranslate2 is not installed, cannot represent the model, or two ids have the
            same string.
    """
    if not isinstance(graph, Steps):
        raise NmtError(
            f"CTranslate2 has no models of architecture '{graph.config.architecture}'",
            "export it with --onnx, which supports every architecture",
        )
    config = graph.config
    _check_config(config)
    _check_tokens(source_tokens, target_tokens)
    specs = import_ctranslate2().specs
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
    sides = ((spec.encoder, graph.source_positions), (spec.decoder, graph.target_positions))
    for side, positions in sides:
        side.position_encodings.encodings = _positions(positions, longest, config.d_model)
        side.scale_embeddings = config.scale_embeddings
    spec.register_source_vocabulary(list(source_tokens))
    spec.register_target_vocabulary(list(target_tokens))
    spec.config.unk_token = target_tokens[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = target_tokens[START_ID]
    spec.config.eos_token = target_tokens[END_ID]
    spec.config.add_source_bos, spec.config.add_source_eos = frame_start, True
    spec.config.layer_norm_epsilon = config.epsilon
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def _check_config(config: TransformerConfig) -> None:
    """Refuse what CTranslate2 has no settings for and would ignore."""
    size = config.d_model / config.heads
    if (config.key_size, config.value_size) != (size, size):
        raise NmtError(
            f"CTranslate2 needs heads of d_model / heads columns, not model.key_dim = "
            f"{config.key_size} and model.value_dim = {config.value_size}",
            "export it with --onnx, which supports every model",
        )
    if config.pad_ids != (PAD_ID,):
        raise NmtError(
            f"CTranslate2 masks only PAD, not model.pad_ids = {list(config.pad_ids)}",
            "export it with --onnx, which supports every model",
        )


def _check_tokens(*sides: Sequence[str]) -> None:
    """CTranslate2 identifies tokens by their strings."""
    for tokens in sides:
        if len(set(tokens)) != len(tokens):
            twice = next(each for each in tokens if tokens.count(each) > 1)
            raise NmtError(
                f"CTranslate2 cannot distinguish tokens: {twice!r} is the string of two ids"
            )
    for at in (UNK_ID, START_ID, END_ID):
        if len({tokens[at] for tokens in sides}) > 1:
            raise NmtError(f"CTranslate2 needs one string for token {at} on both sides")


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
        _linear(layer.attention.linear[0], of.cross.query)
        _linear(layer.attention.linear[1], of.cross.key_value)
        _linear(layer.attention.linear[2], of.cross.output_projection)
        _norm(layer.attention.layer_norm, of.cross_norm)
        _feed_forward(layer.ffn, of)
    if graph.decoder_norm:
        _norm(spec.layer_norm, graph.decoder_norm)
    if graph.dense_logits:
        _linear(spec.projection, graph.dense_logits)
    else:
        spec.projection.weight = _array(graph.target_embedding.matrix)


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
    gate, *values = _parts(layer.feed)
    spec.linear_0.weight, spec.linear_0.bias = gate
    if values:  # SwiGLU
        spec.linear_0_noact.weight, spec.linear_0_noact.bias = values[0]
    _linear(spec.linear_1, layer.feed.outer)
    _norm(spec.layer_norm, layer.feed_norm)


def _parts(feed: Any) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Weight [out, in] and bias of the inner projection, split in two for SwiGLU."""
    count = 2 if feed.activation == "swiglu" else 1
    kernels = np.split(_array(feed.inner.kernel), count, axis=1)
    biases = np.split(_array(feed.inner.bias), count)
    return [
        (np.ascontiguousarray(kernel.T), bias) for kernel, bias in zip(kernels, biases, strict=True)
    ]


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
