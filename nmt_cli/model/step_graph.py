"""The encoder and the decoder step that search needs, made of the training model's layers.

The Keras step model runs them, the ONNX export converts them, and the SavedModel contains them in
its search loop. Names and shapes of the tensors come from the architecture and are recorded in a
bundle's manifest.

Shapes: B sentences, S source positions, K beams, P columns cached so far, d width, V vocabulary.
"""

from abc import ABC, abstractmethod
from typing import Any

import keras
from keras import ops

from nmt_cli.recipe.model import ModelConfig, Shape

# Tensors of the Keras backend.
Tensors = list[Any]


def free_axes(shape: Shape) -> list[int | None]:
    """Return a shape in TensorFlow's notation."""
    return [size if isinstance(size, int) else None for size in shape]


class StepGraph(ABC):
    """Encoder and decoder step of one training model.

    Attributes:
        encoder_output: names and shapes of the results of :meth:`encode`, in order.
        caches: names and shapes of the decoder's caches, in order.
        vocab_size: V, of the target side.
    """

    def __init__(self, model: keras.Model, config: ModelConfig) -> None:
        self.model = model
        self.config = config
        self.encoder_output = config.encoder_output()
        self.caches = config.caches()
        self.target_embedding = model.get_layer("target_embedding")
        self.source_embedding = named_layer(model, "source_embedding") or self.target_embedding
        self.dense_logits = named_layer(model, "logits")
        self.encoder_layers = [
            model.get_layer(f"encoder_{index}") for index in range(config.encoder_layers)
        ]
        self.pad_ids = model.get_layer("source_mask").pad_ids
        self.vocab_size = int(self.target_embedding.vocab_size)

    @abstractmethod
    def encode(self, source: Any) -> Tensors:
        """Read source ids [B, S]; returns the tensors of :attr:`encoder_output`."""

    def step(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Any, Any, Tensors]:
        """One step of search.

        Args:
            tokens: int32 [B, K], last token of each beam.
            position: int32 [1], the step's number, from 0.
            ancestry: bool [B, K, P + K], the columns that each beam may see, the new ones last.
            encoder_output, caches: the tensors of these attributes.

        Returns:
            scores float32 [B, K, K] and ids int32 [B, K, K] of the best continuations;
            log_probs float32 [B, K, V]; the caches with the new columns, P + K of them.
        """
        x, grown, _ = self.decode(tokens, position, ancestry, encoder_output, caches)
        if self.dense_logits:
            logits = self.dense_logits(x)
        else:
            logits = self.target_embedding(x, reverse=True)
        beams = ops.shape(tokens)[1]
        # Before log_softmax, whose output a reshape would copy.
        logits = ops.reshape(logits, (-1, beams, self.vocab_size))
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        # JAX needs a plain number; in TensorFlow the shape may be unknown.
        count = min(beams, self.vocab_size) if isinstance(beams, int) else None
        scores, ids = ops.top_k(log_probs, count or ops.minimum(beams, self.vocab_size))
        return scores, ops.cast(ids, "int32"), log_probs, grown

    def step_attention(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors]:
        """Like :meth:`step`, but return the attention to the source, float32 [B, L, h, K, S] for L
        layers of h heads, and the caches."""
        _, grown, attention = self.decode(tokens, position, ancestry, encoder_output, caches)
        return ops.stack(attention, axis=1), grown

    @abstractmethod
    def decode(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors, Tensors]:
        """Return the softmax layer's input, rows [B * K, d]; the caches with the new columns; and
        each layer's attention to the source, [B, h, K, S]."""

    def self_attention(self, source: Any, target: Any) -> Tensors:
        """Return the training model's self-attention, float32 [B, L, h, S, S] and [B, L, h, T, T],
        for ids [B, S] and the decoder's input [B, T]; only of the sides that have any."""
        return []


def named_layer(model: keras.Model, name: str) -> Any:
    """Return the layer with a name, or None."""
    return next((layer for layer in model.layers if layer.name == name), None)


class Parents:
    """Finds the states of each beam's parent, the beam of the previous step that it continues.

    Step t writes the columns t * K to t * K + K - 1 of the caches, and reads the columns of the
    step before. See :meth:`StepGraph.step`; ``beams`` and ``columns`` are K and P.
    """

    def __init__(self, ancestry: Any, position: Any, beams: Any, columns: Any) -> None:
        self._is_first = ops.cast(ops.equal(position, 0), "float32")  # [1]
        end = ops.squeeze(position) * beams
        start = end - beams  # at the first step, columns -K to 0: an empty range
        if keras.backend.backend() == "jax":  # it cannot slice a range that it does not know
            numbers = ops.arange(columns)
            window = ops.logical_and(numbers >= start, numbers < end)
            self._window, parents = slice(None), ops.logical_and(ancestry[:, :, :columns], window)
        else:
            self._window = slice(start, end)
            parents = ancestry[:, :, self._window]
        self._parents = ops.expand_dims(ops.cast(parents, "float32"), 1)  # [B, 1, K, K]

    def rows(self, cache: Any, first: Any = None) -> Any:
        """Return the parents' columns of a cache [B, 1, P, d] as rows [B * K, d].

        At the first step they are ``first``, [B, 1, 1, d], or zeros.
        """
        states = ops.matmul(self._parents, cache[:, :, self._window])
        if first is not None:
            states = states + self._is_first * first
        return ops.reshape(states, (-1, cache.shape[-1]))
