"""The recurrent encoder-decoder with attention as a Keras functional model."""

from typing import Any

import keras

from nmt_cli.model.embedding import embeddings, float32_logits, word_dropout
from nmt_cli.model.layers import PaddingMask
from nmt_cli.model.rnn.config import RecurrentConfig
from nmt_cli.model.rnn.layers import RecurrentDecoder, encoder_layer, seen_tokens, summary_of


def build_model(
    config: RecurrentConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build the training model; see nmt_cli.recipe.architecture.Architecture.build."""
    keras.utils.set_random_seed(seed)
    source_ids = keras.Input((None,), dtype="int32", name="source")
    target_ids = keras.Input((None,), dtype="int32", name="target")
    source_embedding, target_embedding = embeddings(config, source_vocab, target_vocab)

    source_mask = PaddingMask(name="source_mask")(source_ids)
    tokens = seen_tokens(source_mask)
    x = word_dropout(source_embedding(source_ids), "source", config)
    states: list[Any] = []
    for index in range(config.encoder_layers):
        x = keras.layers.Dropout(config.dropout, name=f"encoder_dropout_{index}")(x)
        x, *states = encoder_layer(config, f"encoder_{index}")(x, mask=tokens)

    y = word_dropout(target_embedding(target_ids), "target", config)
    y = keras.layers.Dropout(config.dropout, name="target_dropout")(y)
    y = RecurrentDecoder(config, name="decoder")(y, x, summary_of(states), source_mask)
    y = keras.layers.Dropout(config.dropout, name="output_dropout")(y)
    logits = float32_logits(y, config, target_embedding, target_vocab)
    return keras.Model([source_ids, target_ids], logits, name="rnn")
