"""The Transformer as a Keras functional model.

The step graph finds layers by their names: "encoder_0", "decoder_3", "target_embedding" and so on.
"""

from typing import Any

import keras

from nmt_cli.model.embedding import embeddings, float32_logits, word_dropout
from nmt_cli.model.layers import LayerNorm, PaddingMask, TargetMask, TokenEmbedding
from nmt_cli.model.positions import LearnedPositions, PositionalEncoding
from nmt_cli.model.transformer.config import TransformerConfig
from nmt_cli.model.transformer.layers import DecoderLayer, EncoderLayer


def build_model(
    config: TransformerConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build the training model; see nmt_cli.recipe.architecture.Architecture.build."""
    keras.utils.set_random_seed(seed)
    source_ids = keras.Input((None,), dtype="int32", name="source")
    target_ids = keras.Input((None,), dtype="int32", name="target")
    source_embedding, target_embedding = embeddings(config, source_vocab, target_vocab)
    source_positions, target_positions = _positions(config)

    source_mask = PaddingMask(config.pad_ids, name="source_mask")(source_ids)
    x = _embed(source_ids, source_embedding, source_positions, "source", config)
    for index in range(config.encoder_layers):
        x = EncoderLayer(config, name=f"encoder_{index}")(x, source_mask)
    encoder_output = (
        LayerNorm(config.epsilon, name="encoder_norm")(x) if config.norm == "pre" else x
    )

    target_mask = TargetMask(config.pad_ids, name="target_mask")(target_ids)
    x = _embed(target_ids, target_embedding, target_positions, "target", config)
    for index in range(config.decoder_layers):
        x = DecoderLayer(config, name=f"decoder_{index}")(
            x, encoder_output, target_mask, source_mask
        )
    if config.norm == "pre":
        x = LayerNorm(config.epsilon, name="decoder_norm")(x)
    logits = float32_logits(x, config, target_embedding, target_vocab)
    return keras.Model([source_ids, target_ids], logits, name="transformer")


def _positions(config: TransformerConfig) -> tuple[Any, Any]:
    """Return the layers that add positions to source and target, or None."""
    if config.positions == "none":
        return None, None
    if config.positions == "learned" and config.shared_positions:
        shared = LearnedPositions(config.max_positions, name="positions")
        return shared, shared
    names = ("source_positions", "target_positions")
    if config.positions == "learned":
        source, target = (LearnedPositions(config.max_positions, name=each) for each in names)
    else:
        interleaved = config.positions == "sinusoidal"
        source, target = (PositionalEncoding(interleaved, name=each) for each in names)
    return source, target


def _embed(
    ids: Any, embedding: TokenEmbedding, positions: Any, side: str, config: TransformerConfig
) -> Any:
    x = word_dropout(embedding(ids), side, config)
    if positions is not None:
        x = positions(x)
    return keras.layers.Dropout(config.dropout, name=f"{side}_dropout")(x)
