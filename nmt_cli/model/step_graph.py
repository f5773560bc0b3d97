"""The two functions that search needs, made of the training model's own layers.

Written once in keras.ops; run as they are by the Keras step model, converted to ONNX, and
traced into the SavedModel's search loop. Names and meanings of the tensors are the tensor
contract that a bundle's manifest records.

Shapes: B sentences, S source positions, K beams, P columns cached so far, h heads,
k = d / h, V vocabulary.
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import MASKED, padding_mask, positions


class StepGraph:
    """Encoder and decoder step of one model.

    Args:
        model: what :func:`nmt_cli.model.transformer.build_transformer` gave, or that model
            read back from a file.
    """

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        names = {layer.name for layer in model.layers}
        self.encoder_layers = _numbered(model, "encoder_")
        self.decoder_layers = _numbered(model, "decoder_")
        self.target_embedding = model.get_layer("target_embedding")
        self.source_embedding = (
            model.get_layer("source_embedding")
            if "source_embedding" in names
            else self.target_embedding
        )
        self.encoder_norm = model.get_layer("encoder_norm") if "encoder_norm" in names else None
        self.decoder_norm = model.get_layer("decoder_norm") if "decoder_norm" in names else None
        self.dense_logits = model.get_layer("logits") if "logits" in names else None

    @property
    def heads(self) -> int:
        """h."""
        return self.decoder_layers[0].heads

    @property
    def key_size(self) -> int:
        """k."""
        return self.target_embedding.d_model // self.heads

    @property
    def vocab_size(self) -> int:
        """V, of the target side."""
        return self.target_embedding.vocab_size

    @property
    def depth(self) -> int:
        """Decoder layers."""
        return len(self.decoder_layers)

    def encoder_outputs(self) -> list[str]:
        """Names of what :meth:`encode` returns, in order."""
        sides = [
            f"cross_{part}_{layer}" for layer in range(self.depth) for part in ("key", "value")
        ]
        return ["source_mask", *sides]

    def cache_names(self) -> list[str]:
        """Names of the self-attention caches, in order."""
        return [f"self_{part}_{layer}" for layer in range(self.depth) for part in ("key", "value")]

    def encode(self, source: Any) -> list[Any]:
        """Read source ids [B, S].

        Returns:
            source_mask, additive [B, 1, 1, S]; then keys and values [B, h, S, k] of each
            decoder layer's cross-attention.
        """
        mask = padding_mask(source, "float32")  # [B, 1, 1, S]
        x = self.source_embedding(source)
        x = x + positions(ops.arange(ops.shape(source)[1]), x.shape[-1])
        every = _rows(mask, ops.shape(source)[1])
        for layer in self.encoder_layers:
            x = layer(x, every, training=False)
        memory = self.encoder_norm(x) if self.encoder_norm else x
        projected = [side for layer in self.decoder_layers for side in layer.cross.project(memory)]
        return [mask, *projected]

    def step(
        self, tokens: Any, position: Any, ancestry: Any, encoded: list[Any], caches: list[Any]
    ) -> tuple[Any, Any, Any, list[Any]]:
        """One step of search.

        Args:
            tokens: int32 [B, K], last token of each beam.
            position: int32 [1], the step's number, from 0.
            ancestry: bool [B, K, P + K], the columns that each beam may see, the new ones last.
            encoded: what :meth:`encode` returned.
            caches: keys and values [B, h, P, k] of each layer's self-attention.

        Returns:
            scores float32 [B, K, K] and ids int32 [B, K, K] of the best continuations;
            log_probs float32 [B, K, V]; the caches with the new columns, [B, h, P + K, k].
        """
        source_mask, *cross = encoded
        hidden = ops.cast(ops.logical_not(ancestry), "float32") * MASKED
        self_mask = ops.expand_dims(hidden, 1)  # [B, 1, K, P + K]
        beams = ops.shape(tokens)[1]
        source_mask = _rows(source_mask, beams)  # [B, 1, K, S]
        # Rows, not [B, K, d]: products of two axes are the ones that runtimes fuse best.
        x = self.target_embedding(ops.reshape(tokens, (-1,)))
        x = x + positions(position, x.shape[-1])  # [B * K, d]
        grown: list[Any] = []
        for index, layer in enumerate(self.decoder_layers):
            pair = slice(2 * index, 2 * index + 2)
            x, sides = layer.step(
                x, beams, tuple(cross[pair]), tuple(caches[pair]), self_mask, source_mask
            )
            grown.extend(sides)
        if self.decoder_norm:
            x = self.decoder_norm(x)
        if self.dense_logits:
            logits = self.dense_logits(x)
        else:
            logits = self.target_embedding(x, reverse=True)
        # Reshaped before and not after, where it would copy what it gives.
        logits = ops.reshape(logits, (-1, beams, self.vocab_size))
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        # A plain number where the shape is known: JAX compiles for no other.
        count = min(beams, self.vocab_size) if isinstance(beams, int) else None
        scores, ids = ops.top_k(log_probs, count or ops.minimum(beams, self.vocab_size))
        return scores, ops.cast(ids, "int32"), log_probs, grown


def _rows(mask: Any, queries: Any) -> Any:
    """A mask [B, 1, 1, S] with a row for each query: ONNX's Attention wants them spelt out."""
    return mask + ops.zeros((1, 1, queries, 1))


def _numbered(model: keras.Model, prefix: str) -> list[Any]:
    layers = [layer for layer in model.layers if layer.name.removeprefix(prefix).isdigit()]
    return sorted(layers, key=lambda layer: int(layer.name.removeprefix(prefix)))
