"""The [model] table of a Transformer."""

from dataclasses import dataclass, field

from nmt_cli.recipe.architecture import ModelConfig, bounded, one_of
from nmt_cli.text.tokenizer import PAD_ID


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """The [model] table of a Transformer."""

    architecture: str = field(default="transformer", init=False)
    pad_ids: tuple[int, ...] = (PAD_ID,)  # tokens that attention does not see
    feed_forward: int = bounded(1024, 1)
    heads: int = bounded(8, 1)
    key_dim: int = bounded(0, 0)  # of a head's queries and keys; 0: d_model / heads
    value_dim: int = bounded(0, 0)  # of a head's values; 0: d_model / heads
    attention_bias: bool = True  # of the projections around attention
    activation: str = one_of("relu", "gelu", "swiglu")  # of the feed-forward layers
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
