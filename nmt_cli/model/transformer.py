"""The Transformer as a functional-API Keras model.

Layer names are fixed ("encoder_0", "decoder_3", "target_embedding", ...), so that a model
read back from a file can be taken apart again into the step graphs (model/step_graph.py).
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.blocks import DecoderLayer, EncoderLayer
from nmt_cli.model.layers import (
    LayerNorm,
    PaddingMask,
    PositionalEncoding,
    TokenEmbedding,
    causal_mask,
)
from nmt_cli.recipe.config import ModelConfig


@keras.saving.register_keras_serializable("nmt")
class CausalMask(keras.layers.Layer):
    """Additive mask [1, 1, T, T] for target ids [B, T]."""

    def call(self, ids: Any) -> Any:
        """Forbid each position to look at later ones."""
        return causal_mask(ops.shape(ids)[1], self.compute_dtype)


def build_transformer(
    config: ModelConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build the training model: (source [B, S], target [B, T]) to logits [B, T, V], float32.

    Args:
        config: the recipe's [model] table.
        source_vocab, target_vocab: sizes of the vocabularies.
        seed: of the initial weights and of dropout.
    """
    keras.utils.set_random_seed(seed)
    source_ids = keras.Input((None,), dtype="int32", name="source")
    target_ids = keras.Input((None,), dtype="int32", name="target")
    source_embedding, target_embedding = _embeddings(config, source_vocab, target_vocab)

    source_mask = PaddingMask(name="source_mask")(source_ids)
    x = _embed(source_ids, source_embedding, "source", config)
    for index in range(config.encoder_layers):
        x = _layer(EncoderLayer, config, f"encoder_{index}")(x, source_mask)
    memory = LayerNorm(config.epsilon, name="encoder_norm")(x) if config.norm == "pre" else x

    target_mask = CausalMask(name="target_mask")(target_ids)
    x = _embed(target_ids, target_embedding, "target", config)
    for index in range(config.decoder_layers):
        layer = _layer(DecoderLayer, config, f"decoder_{index}")
        x = layer(x, memory, target_mask, source_mask)
    if config.norm == "pre":
        x = LayerNorm(config.epsilon, name="decoder_norm")(x)
    logits = _softmax_layer(config, target_embedding, target_vocab)(x)
    # Half-precision logits would cost the loss its small differences.
    logits = keras.layers.Activation("linear", dtype="float32", name="float32_logits")(logits)
    return keras.Model([source_ids, target_ids], logits, name="transformer")


def _layer(kind: Any, config: ModelConfig, name: str) -> Any:
    return kind(
        heads=config.heads,
        feed_forward=config.feed_forward,
        dropout=config.dropout,
        norm=config.norm,
        epsilon=config.epsilon,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        layer_drop=config.layer_drop,
        name=name,
    )


def _embeddings(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    target = TokenEmbedding(target_vocab, config.d_model, name="target_embedding")
    if config.embeddings in ("all", "source-target"):
        assert source_vocab == target_vocab, "recipe rules refuse shared separate vocabularies"
        return target, target
    return TokenEmbedding(source_vocab, config.d_model, name="source_embedding"), target


def _embed(ids: Any, embedding: TokenEmbedding, side: str, config: ModelConfig) -> Any:
    x = embedding(ids)
    if config.word_dropout:
        # Whole tokens, as Sennrich et al. 2016 (https://arxiv.org/abs/1606.02891, section 3.2).
        tokens = (None, None, 1)
        words = keras.layers.Dropout(config.word_dropout, tokens, name=f"{side}_word_dropout")
        x = words(x)
    x = PositionalEncoding(name=f"{side}_positions")(x)
    return keras.layers.Dropout(config.dropout, name=f"{side}_dropout")(x)


def _softmax_layer(config: ModelConfig, embedding: TokenEmbedding, target_vocab: int) -> Any:
    if config.embeddings in ("all", "target-softmax"):
        return lambda x: embedding(x, reverse=True)
    return keras.layers.Dense(target_vocab, name="logits")
