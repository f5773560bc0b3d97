"""The first and last layers of every architecture: embeddings, and logits over the vocabulary."""

from typing import Any

import keras

from nmt_cli.model.layers import TokenEmbedding
from nmt_cli.recipe.architecture import ModelConfig


def embeddings(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Return the layers of source and target; the same one if the recipe shares them."""
    width, scaled = config.d_model, config.scale_embeddings
    target = TokenEmbedding(target_vocab, width, scaled, name="target_embedding")
    if config.embeddings in ("all", "source-target"):
        assert source_vocab == target_vocab, "recipe rules refuse shared separate vocabularies"
        return target, target
    return TokenEmbedding(source_vocab, width, scaled, name="source_embedding"), target


def word_dropout(x: Any, side: str, config: ModelConfig) -> Any:
    """Drop whole tokens of [B, T, d] in training, at the rate of the recipe (Sennrich et al. 2016,
    section 3.2, https://arxiv.org/abs/1606.02891)."""
    if not config.word_dropout:
        return x
    tokens = (None, None, 1)
    return keras.layers.Dropout(config.word_dropout, tokens, name=f"{side}_word_dropout")(x)


def float32_logits(
    x: Any, config: ModelConfig, embedding: TokenEmbedding, target_vocab: int
) -> Any:
    """Map [B, T, d] to logits [B, T, V], with the target embedding's matrix or a separate one."""
    if config.embeddings in ("all", "target-softmax"):
        logits = embedding(x, reverse=True)
    else:
        logits = keras.layers.Dense(target_vocab, name="logits")(x)
    # In half precision the loss would lose small differences.
    return keras.layers.Activation("linear", dtype="float32", name="float32_logits")(logits)
