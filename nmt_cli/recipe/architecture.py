"""What the rest of nmt asks of an architecture, and the registry of architectures.

An architecture is a folder under ``nmt_cli/model/``. Its ``__init__.py``, which must not import
Keras, defines ``ARCHITECTURE``; ``network.py`` defines ``build_model`` and ``steps.py`` the class
``Steps``. They are imported when needed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import keras

    from nmt_cli.model.step_graph import StepGraph
    from nmt_cli.recipe.config import Recipe

# Folders by the value of model.architecture.
ARCHITECTURES = {"transformer": "nmt_cli.model.transformer", "rnn": "nmt_cli.model.rnn"}
DEFAULT = "transformer"

# The sizes of a tensor. Letters are axes whose size is known only at run time: B sentences,
# S source positions, K beams, P columns of the caches.
Shape = tuple[int | str, ...]
CacheShape = tuple[str, int, str, int]  # ("B", heads, "P", size)

# What is wrong, as "key ...", and how to fix it.
Fault = tuple[str, str]


def bounded(default: Any, minimum: float, maximum: float = float("inf")) -> Any:
    """A dataclass field for a number in [minimum, maximum]."""
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


def one_of(default: str, *others: str) -> Any:
    """A dataclass field for one of a few words."""
    return field(default=default, metadata={"options": (default, *others)})


@dataclass(frozen=True)
class ModelConfig:
    """The keys of [model] that all architectures have; each adds its own in a subclass."""

    architecture: str = field(default="", init=False)
    d_model: int = bounded(256, 2)
    encoder_layers: int = bounded(4, 1)
    decoder_layers: int = bounded(4, 1)
    dropout: float = bounded(0.1, 0.0, 0.95)  # of layers' outputs and of embeddings
    word_dropout: float = bounded(0.0, 0.0, 0.95)  # of whole tokens, both sides
    # Which matrices are one: source and target embeddings, target embedding and softmax.
    embeddings: str = one_of("all", "source-target", "target-softmax", "none")
    output_bias: bool = False  # of a softmax with an embedding's matrix; any other has a bias
    scale_embeddings: bool = True  # by the square root of d_model

    @property
    def ties_softmax(self) -> bool:
        """Whether the softmax layer has the matrix of the target embedding."""
        return self.embeddings in ("all", "target-softmax")


Config = TypeVar("Config", bound=ModelConfig)


class Architecture(ABC, Generic[Config]):
    """One kind of model. A ``config`` is a recipe's [model] table, of the class ``self.config``."""

    config: type[Config]

    def fault(self, config: Config) -> Fault | None:
        """Return what is wrong with a [model] table by itself."""
        if config.d_model % 2:
            fix = f"try model.d_model={config.d_model + 1}"
            return f"d_model = {config.d_model} must be even", fix
        return None

    def conflict(self, config: Config, recipe: "Recipe") -> Fault | None:
        """Return what in a recipe's other tables contradicts its [model] table."""
        return None

    def max_positions(self, config: Config) -> int | None:
        """Return how many tokens a source or translation may have; None: no limit."""
        return None

    @abstractmethod
    def summary(self, config: Config) -> str:
        """Describe a model in half a sentence, e.g. "A Transformer (...)"."""

    def count_parameters(self, config: Config, source_vocab: int, target_vocab: int) -> int:
        """Count a model's weights, without moving averages and optimizer states."""
        count = target_vocab * config.d_model
        if config.embeddings in ("target-softmax", "none"):
            count += source_vocab * config.d_model
        if not config.ties_softmax:
            count += dense_parameters(config.d_model, target_vocab)
        elif config.output_bias:
            count += target_vocab
        return count + self.layer_parameters(config)

    @abstractmethod
    def layer_parameters(self, config: Config) -> int:
        """Count the weights between embeddings and softmax."""

    @abstractmethod
    def widest_product(self, config: Config) -> int:
        """Count the entries of the largest matrix that each decoder layer multiplies with."""

    @abstractmethod
    def encoder_output(self, config: Config) -> dict[str, Shape]:
        """Return names and shapes of what the encoder returns, in order, all floats.

        The first is ``source_mask`` ("B", 1, 1, "S"), additive.
        """

    @abstractmethod
    def caches(self, config: Config) -> dict[str, CacheShape]:
        """Return names and shapes of the decoder's caches, in order, all floats."""

    @abstractmethod
    def cross_attention(self, config: Config) -> tuple[int, int]:
        """Return how many layers attend to the source, and the heads of each."""

    def self_attention(self, config: Config) -> dict[str, Shape]:
        """Return the shapes of "encoder" and "decoder" self-attention, of those that there are.

        T is the number of tokens that the decoder reads, an axis of these weights only.
        """
        return {}

    def build(
        self, config: Config, source_vocab: int, target_vocab: int, seed: int
    ) -> "keras.Model":
        """Build the training model, named like the architecture.

        It maps source [B, S] and target [B, T] to logits [B, T, V], float32. The seed is that of
        the initial weights and of dropout.
        """
        network = import_module(".network", type(self).__module__)
        return network.build_model(config, source_vocab, target_vocab, seed)

    def step_graph(self, model: "keras.Model") -> "StepGraph":
        """Return the encoder and the decoder step of a training model."""
        return import_module(".steps", type(self).__module__).Steps(model)


def architecture(name: str) -> Architecture[Any]:
    """Return the architecture that a value of model.architecture names."""
    return import_module(ARCHITECTURES[name]).ARCHITECTURE


def architecture_of(config: ModelConfig) -> Architecture[Any]:
    """Return the architecture of a [model] table."""
    return architecture(config.architecture)


def dense_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """Count the weights of a dense layer."""
    return outputs * (inputs + bias)
