"""Where every architecture begins and ends: embeddings of ids, and logits over the vocabulary."""

from typing import Any

import keras

from nmt_cli.model.layers import TokenEmbedding
from nmt_cli.recipe.architecture import ModelConfig


def embeddings(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """The layers of source and target, one and the same where the recipe says so."""
    width, scaled = config.d_model, config.scale_embeddings
    target = TokenEmbedding(target_vocab, width, scaled, name="target_embedding")
    if config.embeddings in ("all", "source-target"):
        assert source_vocab == target_vocab, "recipe rules refuse shared separate vocabularies"
        return target, target
    return TokenEmbedding(source_vocab, width, scaled, name="source_embedding"), target


def word_dropout(x: Any, side: str, config: ModelConfig) -> Any:
    """Drop whole tokens of [B, T, d] in training (Sennrich et al. 2016, section 3.2,
    https://arxiv.org/abs/1606.02891), if the recipe says so."""
    if not config.word_dropout:
        return x
    tokens = (None, None, 1)
    return keras.layers.Dropout(config.word_dropout, tokens, name=f"{side}_word_dropout")(x)


def float32_logits(
    x: Any, config: ModelConfig, embedding: TokenEmbedding, target_vocab: int
) -> Any:
    """[B, T, d] to logits [B, T, V], by the target embedding's matrix or one of their own."""
    if config.embeddings in ("all", "target-softmax"):
        logits = embedding(x, reverse=True)
    else:
        logits = keras.layers.Dense(target_vocab, name="logits")(x)
    # Half-precision logits would cost the loss its small differences.
    return keras.layers.Activation("linear", dtype="float32", name="float32_logits")(logits)
