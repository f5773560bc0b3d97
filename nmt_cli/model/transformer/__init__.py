"""The Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nmt_cli.recipe.architecture import (
    Architecture,
    CacheShape,
    Fault,
    ModelConfig,
    Shape,
    bounded,
    dense_parameters,
    one_of,
)
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """The [model] table of a Transformer."""

    architecture: str = field(default="transformer", init=False)
    decoder: str = one_of("attention", "ssru")  # over the translation so far
    pad_ids: tuple[int, ...] = (PAD_ID,)  # tokens that attention does not see
    feed_forward: int = bounded(1024, 1)
    heads: int = bounded(8, 1)
    key_dim: int = bounded(0, 0)  # of a head's queries and keys; 0: d_model / heads
    value_dim: int = bounded(0, 0)  # of a head's values; 0: d_model / heads
    attention_bias: bool = True  # of the projections around attention
    activation: str = one_of("relu", "gelu", "swish", "swiglu")  # of the feed-forward layers
    attention_dropout: float = bounded(0.0, 0.0, 0.95)  # of attention weights
    activation_dropout: float = bounded(0.0, 0.0, 0.95)  # after the feed-forward's activation
    layer_drop: float = bounded(0.0, 0.0, 0.95)  # of whole layers
    norm: str = one_of("pre", "post")
    # Sines and cosines in turn, sines before cosines, or a learned vector for each position.
    positions: str = one_of("sinusoidal", "concatenated", "learned", "none")
    shared_positions: bool = False  # learned: one table for source and target
    max_positions: int = bounded(256, 1)  # learned: rows of the table
    epsilon: float = bounded(1e-6, 1e-12, 1e-2)  # of the layer norms

    @property
    def key_size(self) -> int:
        """Width of a head's queries and keys."""
        return self.key_dim or self.d_model // self.heads

    @property
    def value_size(self) -> int:
        """Width of a head's values."""
        return self.value_dim or self.d_model // self.heads


class Transformer(Architecture[TransformerConfig]):
    """Encoder and decoder of self-attention, cross-attention and feed-forward layers."""

    config = TransformerConfig

    def fault(self, config: TransformerConfig) -> Fault | None:
        """Refuse heads that do not divide the width, and pad symbols that cannot be."""
        if fault := super().fault(config):
            return fault
        width, heads, pads = config.d_model, config.heads, set(config.pad_ids)
        if width % heads and not (config.key_dim and config.value_dim):
            divisors = [each for each in range(1, width + 1) if width % each == 0]
            nearest = min(divisors, key=lambda each: abs(each - heads))
            return (
                f"d_model = {width} is not divisible by heads = {heads}",
                f"try model.heads={nearest}, or set model.key_dim and model.value_dim",
            )
        if PAD_ID not in pads or min(pads) < 0 or pads & {START_ID, END_ID}:
            return (
                f"pad_ids = {list(config.pad_ids)} must be ids of tokens, {PAD_ID} among them, "
                f"{START_ID} and {END_ID} (start and end) not",
                f"e.g. model.pad_ids=[{PAD_ID}]",
            )
        return None

    def conflict(self, config: TransformerConfig, recipe: "Recipe") -> Fault | None:
        """Refuse pad symbols outside the vocabulary, and texts longer than the positions."""
        vocab_size, last = recipe.tokenizer.vocab_size, max(config.pad_ids)
        if last >= vocab_size:
            return (
                f"pad_ids has {last}, but the ids end before tokenizer.vocab_size = {vocab_size}",
                "use smaller ids",
            )
        lengths = {
            "data.max_tokens": recipe.data.max_tokens,
            "decoding.max_length": recipe.decoding.max_length,
            # A tokenizer may add START and END.
            "decoding.max_source": recipe.decoding.max_source + 2,
        }
        key, tokens = max(lengths.items(), key=lambda each: each[1])
        positions = self.max_positions(config)
        if positions is not None and tokens > positions:
            return (
                f"max_positions = {positions} is less than the {tokens} tokens that {key} allows",
                f"lower {key}, or set model.max_positions={tokens}",
            )
        return None

    def max_positions(self, config: TransformerConfig) -> int | None:
        """Return the size of the table of learned positions."""
        return config.max_positions if config.positions == "learned" else None

    def summary(self, config: TransformerConfig) -> str:
        """Describe layers, width, heads and feed-forward width."""
        kind = "SSRU decoder" if config.decoder == "ssru" else "decoder"
        return (
            f"A Transformer ({config.encoder_layers} encoder and {config.decoder_layers} {kind} "
            f"layers, width {config.d_model}, {config.heads} heads, feed-forward "
            f"{config.feed_forward})"
        )

    def layer_parameters(self, config: TransformerConfig) -> int:
        """Count the weights of layers, norms and learned positions."""
        width, bias = config.d_model, config.attention_bias
        keys, values = config.heads * config.key_size, config.heads * config.value_size
        attention = dense_parameters(width, 2 * keys + values, bias)
        attention += dense_parameters(values, width, bias)
        gates = 2 if config.activation == "swiglu" else 1
        feed_forward = dense_parameters(width, gates * config.feed_forward)
        feed_forward += dense_parameters(config.feed_forward, width)
        norm = 2 * width
        count = config.encoder_layers * (attention + feed_forward + 2 * norm)
        ssru = dense_parameters(width, 2 * width, bias=False) + width
        own = ssru if config.decoder == "ssru" else attention
        count += config.decoder_layers * (own + attention + feed_forward + 3 * norm)
        if config.norm == "pre":
            count += 2 * norm
        if config.positions == "learned":
            tables = 1 if config.shared_positions else 2
            count += tables * config.max_positions * width
        return count

    def widest_product(self, config: TransformerConfig) -> int:
        """Count the entries of a feed-forward matrix."""
        return config.d_model * config.feed_forward

    def encoder_output(self, config: TransformerConfig) -> dict[str, Shape]:
        """Return the mask, and keys and values of each decoder layer's cross-attention."""
        return {"source_mask": ("B", 1, 1, "S"), **_sides(config, "cross", "S")}

    def caches(self, config: TransformerConfig) -> dict[str, CacheShape]:
        """Return keys and values of each layer's self-attention, or the states of its SSRU.

        If there are more pad symbols than PAD, which no translation contains, self-attention also
        has the mask of the tokens.
        """
        if config.decoder == "ssru":
            layers = range(config.decoder_layers)
            return {f"self_state_{layer}": ("B", 1, "P", config.d_model) for layer in layers}
        caches = _sides(config, "self", "P")
        if config.pad_ids != (PAD_ID,):
            caches["self_hidden"] = ("B", 1, "P", 1)
        return caches

    def cross_attention(self, config: TransformerConfig) -> tuple[int, int]:
        """Return the decoder's layers and heads."""
        return config.decoder_layers, config.heads

    def self_attention(self, config: TransformerConfig) -> dict[str, Shape]:
        """Return the shapes of both sides' weights; an SSRU has none."""
        shapes: dict[str, Shape] = {"encoder": ("B", config.encoder_layers, config.heads, "S", "S")}
        if config.decoder == "attention":
            shapes["decoder"] = ("B", config.decoder_layers, config.heads, "T", "T")
        return shapes


def _sides(config: TransformerConfig, kind: str, axis: str) -> dict[str, CacheShape]:
    return {
        f"{kind}_{part}_{layer}": ("B", config.heads, axis, size)
        for layer in range(config.decoder_layers)
        for part, size in (("key", config.key_size), ("value", config.value_size))
    }


ARCHITECTURE = Transformer()
