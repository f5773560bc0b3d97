"""The tables that bundles have, too: [decoding], and [model] with a class for each architecture.

A [model] table knows what follows from its settings without building a model: number of weights,
tensors of the encoder and the caches. The module nmt_cli/model/ARCHITECTURE has the layers.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from nmt_cli.options import NO_HINTS, NonNegativeInt, PositiveInt, checked, option, settings_from

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

# Ids of the special tokens, the same in every vocabulary.
PAD_ID, UNK_ID, START_ID, END_ID = range(4)
# Logit of tokens that no translation contains. Its float32 neighbours are 6e-5 away, so that
# exports can be compared, and any probability becomes 0.
SUPPRESSED = -1000.0

# The sizes of a tensor. Letters are axes whose size is known only at run time: B sentences,
# S source positions, K beams, P columns of the caches.
Shape = tuple[int | str, ...]
CacheShape = tuple[str, int, str, int]  # ("B", heads, "P", size)

# What is wrong, as "key ...", and how to fix it.
Problem = tuple[str, str]

DropoutRate = Annotated[float, Meta(ge=0, le=0.95)]
Cell = Literal["lstm", "gru"]
# Far above any real model, far below what would exhaust a machine that reads a bundle.
Layers = Annotated[int, Meta(ge=1, le=1000)]
BeamSize = Annotated[int, Meta(ge=1, le=256)]
Penalty = Annotated[float, Meta(ge=0, le=10)]
Length = Annotated[int, Meta(ge=1, le=1 << 16)]


def _architecture(name: str) -> Any:
    """Declare the key that selects a table's class."""
    return field(default=name, init=False, metadata={"help": "Kind of model: transformer or rnn."})


@dataclass(frozen=True)
class ModelConfig(ABC):
    """The keys of [model] that all architectures have; each adds its own in a subclass."""

    architecture: str = _architecture("")
    d_model: Annotated[int, Meta(ge=2, le=1 << 20)] = option(256, "Width of the hidden vectors.")
    encoder_layers: Layers = option(4, "Number of encoder layers.")
    decoder_layers: Layers = option(4, "Number of decoder layers.")
    dropout: DropoutRate = option(0.1, "Dropout of layer outputs and embeddings.")
    word_dropout: DropoutRate = option(0.0, "Dropout of whole tokens, on both sides.")
    embeddings: Literal["all", "source-target", "target-softmax", "none"] = option(
        "all", "Which matrices are tied: source and target embeddings, target embedding, softmax."
    )
    output_bias: bool = option(False, "Add a bias to a softmax that is tied to an embedding.")
    scale_embeddings: bool = option(True, "Multiply embeddings by the square root of d_model.")
    start: Literal["embedding", "zero"] = option(
        "embedding", "What the decoder reads first; zero: zeros, as in Marian."
    )

    @property
    def ties_softmax(self) -> bool:
        """Whether the softmax layer has the matrix of the target embedding."""
        return self.embeddings in ("all", "target-softmax")

    def problem(self) -> Problem | None:
        """Return what is wrong with this table by itself."""
        if self.d_model % 2:
            return f"d_model = {self.d_model} must be even", f"try model.d_model={self.d_model + 1}"
        if self.start == "zero" and self.ties_softmax and not self.output_bias:
            reason = "start = 'zero' needs a bias of the softmax, which excludes the start token"
            return reason, "set model.output_bias=true"
        return None

    def conflict(self, recipe: "Recipe") -> Problem | None:
        """Return what in a recipe's other tables contradicts this one."""
        return None

    @property
    def position_limit(self) -> int | None:
        """Maximum number of tokens of a source or translation; None for no limit."""
        return None

    @property
    def attends(self) -> bool:
        """Whether the decoder attends to the source."""
        return self.cross_attention()[0] > 0

    @abstractmethod
    def summary(self) -> str:
        """Describe the model in half a sentence, e.g. "A Transformer (...)"."""

    def count_parameters(self, source_vocab: int, target_vocab: int) -> int:
        """Count the weights, without moving averages and optimizer states."""
        count = target_vocab * self.d_model
        if self.embeddings in ("target-softmax", "none"):
            count += source_vocab * self.d_model
        if not self.ties_softmax:
            count += dense_parameters(self.d_model, target_vocab)
        elif self.output_bias:
            count += target_vocab
        return count + self._layer_parameters()

    @abstractmethod
    def _layer_parameters(self) -> int:
        """Count the weights between embeddings and softmax."""

    @abstractmethod
    def widest_product(self) -> int:
        """Count the entries of the largest matrix that each decoder layer multiplies with."""

    @abstractmethod
    def encoder_output(self) -> dict[str, Shape]:
        """Return names and shapes of the encoder's outputs, in order, all floats.

        The first is ``source_mask`` ("B", 1, 1, "S"), additive.
        """

    @abstractmethod
    def caches(self) -> dict[str, CacheShape]:
        """Return names and shapes of the decoder's caches, in order, all floats."""

    @abstractmethod
    def cross_attention(self) -> tuple[int, int]:
        """Return how many layers attend to the source, and the heads of each."""

    def self_attention(self) -> dict[str, Shape]:
        """Return the shapes of "encoder" and "decoder" self-attention, if the model has them.

        T is the number of tokens that the decoder reads, an axis of these weights only.
        """
        return {}


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """The [model] table of a Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)."""

    architecture: str = _architecture("transformer")
    decoder: Literal["attention", "ssru"] = option(
        "attention", "How a decoder layer reads the translation so far."
    )
    pad_ids: tuple[int, ...] = option((PAD_ID,), "Tokens that attention ignores; 0 among them.")
    feed_forward: PositiveInt = option(1024, "Width of the feed-forward layers.")
    heads: PositiveInt = option(8, "Number of attention heads.")
    key_dim: NonNegativeInt = option(0, "Width of a head's queries and keys; 0: d_model / heads.")
    value_dim: NonNegativeInt = option(0, "Width of a head's values; 0: d_model / heads.")
    attention_bias: bool = option(True, "Biases in the projections around attention.")
    activation: Literal["relu", "gelu", "swish", "swiglu"] = option(
        "relu", "Activation of the feed-forward layers."
    )
    attention_dropout: DropoutRate = option(0.0, "Dropout of attention weights.")
    activation_dropout: DropoutRate = option(0.0, "Dropout after the feed-forward's activation.")
    layer_drop: DropoutRate = option(0.0, "Dropout of whole layers.")
    norm: Literal["pre", "post"] = option("pre", "Layer norm before or after each sub-layer.")
    final_norm: bool = option(
        True, "With norm = 'pre': also normalize the outputs of encoder and decoder."
    )
    positions: Literal["sinusoidal", "concatenated", "marian", "learned", "none"] = option(
        "sinusoidal",
        "Alternating sines and cosines, sines before cosines, these with Marian's frequencies, one "
        "learned vector each, or none.",
    )
    shared_positions: bool = option(False, "Learned: one table for source and target.")
    max_positions: PositiveInt = option(256, "Learned: number of positions.")
    epsilon: Annotated[float, Meta(ge=1e-12, le=1e-2)] = option(1e-6, "Epsilon of layer norms.")

    @property
    def has_final_norms(self) -> bool:
        """Whether the outputs of encoder and decoder are normalized."""
        return self.norm == "pre" and self.final_norm

    @property
    def key_size(self) -> int:
        """Width of a head's queries and keys."""
        return self.key_dim or self.d_model // self.heads

    @property
    def value_size(self) -> int:
        """Width of a head's values."""
        return self.value_dim or self.d_model // self.heads

    def problem(self) -> Problem | None:
        """Refuse heads that do not divide the width, and impossible pad symbols."""
        if problem := super().problem():
            return problem
        width, heads, pads = self.d_model, self.heads, set(self.pad_ids)
        if width % heads and not (self.key_dim and self.value_dim):
            divisors = (number for number in range(1, width + 1) if width % number == 0)
            nearest = min(divisors, key=lambda number: abs(number - heads))
            return (
                f"d_model = {width} is not divisible by heads = {heads}",
                f"try model.heads={nearest}, or set model.key_dim and model.value_dim",
            )
        if PAD_ID not in pads or min(pads) < 0 or pads & {START_ID, END_ID}:
            return (
                f"pad_ids = {list(self.pad_ids)} must be ids of tokens, {PAD_ID} among them, "
                f"{START_ID} and {END_ID} (start and end) not",
                f"e.g. model.pad_ids=[{PAD_ID}]",
            )
        return None

    def conflict(self, recipe: "Recipe") -> Problem | None:
        """Refuse pad symbols outside the vocabulary, and texts longer than the positions."""
        vocab_size, last = recipe.tokenizer.vocab_size, max(self.pad_ids)
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
        key = max(lengths, key=lengths.__getitem__)
        if self.position_limit is not None and lengths[key] > self.position_limit:
            return (
                f"max_positions = {self.position_limit} is less than the {lengths[key]} tokens "
                f"that {key} allows",
                f"lower {key}, or set model.max_positions={lengths[key]}",
            )
        return None

    @property
    def position_limit(self) -> int | None:
        """Size of the table of learned positions."""
        return self.max_positions if self.positions == "learned" else None

    def summary(self) -> str:
        """Describe layers, width, heads and feed-forward width."""
        decoder = "SSRU decoder" if self.decoder == "ssru" else "decoder"
        return (
            f"A Transformer ({self.encoder_layers} encoder and {self.decoder_layers} {decoder} "
            f"layers, width {self.d_model}, {self.heads} heads, feed-forward {self.feed_forward})"
        )

    def _layer_parameters(self) -> int:
        width, bias = self.d_model, self.attention_bias
        keys, values = self.heads * self.key_size, self.heads * self.value_size
        attention = dense_parameters(width, 2 * keys + values, bias)
        attention += dense_parameters(values, width, bias)
        gates = 2 if self.activation == "swiglu" else 1
        feed_forward = dense_parameters(width, gates * self.feed_forward)
        feed_forward += dense_parameters(self.feed_forward, width)
        norm = 2 * width
        count = self.encoder_layers * (attention + feed_forward + 2 * norm)
        ssru = dense_parameters(width, 2 * width, bias=False) + width
        history = ssru if self.decoder == "ssru" else attention
        count += self.decoder_layers * (history + attention + feed_forward + 3 * norm)
        if self.has_final_norms:
            count += 2 * norm
        if self.positions == "learned":
            tables = 1 if self.shared_positions else 2
            count += tables * self.max_positions * width
        return count

    def widest_product(self) -> int:
        """Count the entries of a feed-forward matrix."""
        return self.d_model * self.feed_forward

    def encoder_output(self) -> dict[str, Shape]:
        """Return the mask, and keys and values of each decoder layer's cross-attention."""
        return {"source_mask": ("B", 1, 1, "S"), **self._keys_and_values("cross", "S")}

    def caches(self) -> dict[str, CacheShape]:
        """Return keys and values of each layer's self-attention, or the states of its SSRU."""
        if self.decoder == "ssru":
            layers = range(self.decoder_layers)
            return {f"self_state_{layer}": ("B", 1, "P", self.d_model) for layer in layers}
        caches = self._keys_and_values("self", "P")
        if self.pad_ids != (PAD_ID,):  # no translation contains PAD
            caches["self_hidden"] = ("B", 1, "P", 1)
        return caches

    def cross_attention(self) -> tuple[int, int]:
        """Return the decoder's layers and heads."""
        return self.decoder_layers, self.heads

    def self_attention(self) -> dict[str, Shape]:
        """Return the shapes of both sides' weights; an SSRU has none."""
        shapes: dict[str, Shape] = {"encoder": ("B", self.encoder_layers, self.heads, "S", "S")}
        if self.decoder == "attention":
            shapes["decoder"] = ("B", self.decoder_layers, self.heads, "T", "T")
        return shapes

    def _keys_and_values(self, name: str, axis: str) -> dict[str, CacheShape]:
        return {
            f"{name}_{part}_{layer}": ("B", self.heads, axis, size)
            for layer in range(self.decoder_layers)
            for part, size in (("key", self.key_size), ("value", self.value_size))
        }


@dataclass(frozen=True)
class RecurrentConfig(ModelConfig):
    """The [model] table of a recurrent encoder-decoder (Sutskever et al. 2014,
    https://arxiv.org/abs/1409.3215), with attention (Bahdanau et al. 2015,
    https://arxiv.org/abs/1409.0473; Luong et al. 2015, https://arxiv.org/abs/1508.04025)."""

    architecture: str = _architecture("rnn")
    encoder_cell: Cell = option("lstm", "Cells of the bidirectional encoder.")
    decoder_cell: Cell = option("lstm", "Cells of the decoder.")
    attention: Literal["luong-general", "luong-dot", "luong-concat", "bahdanau", "none"] = option(
        "luong-general",
        "luong: the decoder's output attends; bahdanau: its state before the step attends; none: "
        "the decoder has only the encoder's last state.",
    )
    attention_scale: bool = option(
        False, "With luong-general and luong-dot: multiply the scores by a learned number."
    )
    attentional_vector: bool = option(
        True, "A tanh layer joins the context and the decoder's output; false: their sum."
    )
    input_feeding: bool = option(True, "With attention: that vector or sum enters the next step.")

    def problem(self) -> Problem | None:
        """Refuse settings of an attention that the model does not have."""
        if self.attention_scale and self.attention not in ("luong-general", "luong-dot"):
            reason = "attention_scale = true needs attention = 'luong-general' or 'luong-dot', not "
            return f"{reason}'{self.attention}'", "set model.attention_scale=false"
        if not (self.attentional_vector or self.attends):
            reason = "attentional_vector = false adds a context, but attention = 'none' has none"
            return reason, "set model.attentional_vector=true"
        return super().problem()

    @property
    def feeds(self) -> bool:
        """Whether what attention returned enters the next step."""
        return self.input_feeding and self.attends

    def cell_states(self) -> list[str]:
        """Return the names of the states of the decoder's cells, layer by layer."""
        states = ("hidden", "cell") if self.decoder_cell == "lstm" else ("hidden",)
        return [f"{state}_{layer}" for layer in range(self.decoder_layers) for state in states]

    def summary(self) -> str:
        """Describe cells, layers, width and attention."""
        return (
            f"A recurrent model ({self.encoder_cell.upper()} and {self.decoder_cell.upper()}, "
            f"{self.encoder_layers} encoder and {self.decoder_layers} decoder layers, width "
            f"{self.d_model}, attention {self.attention})"
        )

    def _layer_parameters(self) -> int:
        width, half = self.d_model, self.d_model // 2
        count = self.encoder_layers * 2 * _cell_parameters(self.encoder_cell, width, half)
        inputs = width * (1 + self.feeds + (self.attention == "bahdanau"))
        count += _cell_parameters(self.decoder_cell, inputs, width)
        count += (self.decoder_layers - 1) * _cell_parameters(self.decoder_cell, width, width)
        count += len(self.cell_states()) * dense_parameters(width, width)
        if not self.attends:
            return count
        if self.attention != "luong-dot":
            count += width * width  # keys
        if self.attention in ("luong-concat", "bahdanau"):
            count += width * width + width  # query and energy
        return count + self.attention_scale + 2 * width * width * self.attentional_vector

    def widest_product(self) -> int:
        """Count the entries of a square cell's matrix, of four gates."""
        return 4 * self.d_model**2

    def encoder_output(self) -> dict[str, Shape]:
        """Return mask, keys and values of attention, and the states before the first step."""
        cross = ("cross_key", "cross_value") if self.attends else ()
        return {
            "source_mask": ("B", 1, 1, "S"),
            **dict.fromkeys(cross, ("B", 1, "S", self.d_model)),
            **{f"first_{state}": ("B", 1, 1, self.d_model) for state in self.cell_states()},
        }

    def caches(self) -> dict[str, CacheShape]:
        """Return the states that the decoder carries from step to step."""
        states = self.cell_states() + ["attended"] * self.feeds
        return dict.fromkeys(states, ("B", 1, "P", self.d_model))

    def cross_attention(self) -> tuple[int, int]:
        """Return one layer and one head, or none."""
        return (0, 0) if self.attention == "none" else (1, 1)


@dataclass(frozen=True)
class DecodingConfig:
    """The [decoding] table: defaults of the search."""

    beam_size: BeamSize = option(4, "Number of hypotheses kept at each step; 1 is greedy search.")
    # Wu et al. 2016, equation 14
    length_penalty: Penalty = option(0.6, "GNMT's alpha; larger values favour longer translations.")
    max_length: Length = option(256, "Maximum tokens of a translation, its end included.")
    length_ratio: Annotated[float, Meta(ge=0.1, le=1000)] = option(
        1.5, "A translation has at most length_ratio * source tokens + length_extra tokens."
    )
    length_extra: Length = option(10, "See length_ratio.")
    max_source: Annotated[int, Meta(ge=2, le=1 << 16)] = option(
        128, "Longer sentences are cut between clauses."
    )
    split_sentences: bool = option(True, "Translate the sentences of a line one by one.")
    fold_capitals: bool = option(False, "Translate words in capitals in lower case.")
    set_off_signs: bool = option(
        False, "Translate words after brackets, quotation marks and slashes as other words."
    )
    convert_numbers: bool = option(
        True, "Write numbers with the separators of the target language."
    )
    repair_code: bool = option(False, "Keep code, addresses and placeholders.")


# By the value of model.architecture, which is also the name of its module in nmt_cli/model/.
ARCHITECTURES: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    "rnn": RecurrentConfig,
}
DEFAULT_ARCHITECTURE = "transformer"


def model_config(
    table: Mapping[str, Any], where: str, prefix: str = "", hints: Mapping[str, str] = NO_HINTS
) -> ModelConfig:
    """Make a [model] table as :func:`settings_from` does.

    Keys of other architectures are checked and left out.
    """
    name = table.get("architecture", DEFAULT_ARCHITECTURE)
    checked(name, Literal[*ARCHITECTURES], f"{where}: {prefix}architecture")
    keys = {key: value for key, value in table.items() if key != "architecture"}
    own = {item.name for item in fields(ARCHITECTURES[name])}
    for config in ARCHITECTURES.values():
        others = {item.name for item in fields(config)} - own
        settings_from(config, {key: keys.pop(key) for key in others & keys.keys()}, where, prefix)
    return settings_from(ARCHITECTURES[name], keys, where, prefix, hints)


def dense_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """Count the weights of a dense layer."""
    return outputs * (inputs + bias)


def _cell_parameters(cell: str, inputs: int, units: int) -> int:
    """Count the weights of a Keras cell; a GRU has two biases per gate, like cuDNN's."""
    gates, biases = (4, 1) if cell == "lstm" else (3, 2)
    return gates * units * (inputs + units + biases)
