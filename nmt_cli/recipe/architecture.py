"""What the rest of nmt asks of an architecture, and the registry of architectures.

An architecture is a folder under ``nmt_cli/model/`` whose ``__init__.py``, which must not import
Keras, defines ``ARCHITECTURE``. It is imported when a recipe or a bundle names it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nmt_cli.recipe.fields import bounded, one_of

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

# The first is the default. The last part of a module's name is the value of model.architecture.
ARCHITECTURES = ("nmt_cli.model.transformer", "nmt_cli.model.rnn")

# The sizes of a tensor. Letters are axes whose size is known only at run time: B sentences,
# S source positions, K beams, P columns of the caches.
Shape = tuple[int | str, ...]
CacheShape = tuple[str, int, str, int]  # ("B", heads, "P", size)

# What is wrong, as "key ...", and how to fix it.
Fault = tuple[str, str]


def architecture_names() -> tuple[str, ...]:
    """The values of model.architecture, the default first."""
    return tuple(each.rpartition(".")[2] for each in ARCHITECTURES)


@dataclass(frozen=True)
class ModelConfig:
    """The [model] table: the keys that all architectures have.

    Each architecture adds its own in a subclass, and defines ``architecture``.
    """

    architecture: str = field(default="", init=False)
    d_model: int = bounded(256, 2)
    encoder_layers: int = bounded(4, 1)
    decoder_layers: int = bounded(4, 1)
    dropout: float = bounded(0.1, 0.0, 0.95)  # of layers' outputs and of embeddings
    word_dropout: float = bounded(0.0, 0.0, 0.95)  # of whole tokens, both sides
    # Which matrices are one: source and target embeddings, target embedding and softmax.
    embeddings: str = one_of("all", "source-target", "target-softmax", "none")
    scale_embeddings: bool = True  # by the square root of d_model


Config = TypeVar("Config", bound=ModelConfig)


class Architecture(ABC, Generic[Config]):
    """One kind of model.

    Attributes:
        config: the dataclass of its [model] table.
    """

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
        """Count a model's weights, without moving averages and optimizer states.

        Args:
            config: the recipe's [model] table.
            source_vocab, target_vocab: sizes of the vocabularies.
        """
        count = target_vocab * config.d_model
        if config.embeddings in ("target-softmax", "none"):
            count += source_vocab * config.d_model
        if config.embeddings in ("source-target", "none"):
            count += dense_parameters(config.d_model, target_vocab)
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

    @abstractmethod
    def build(self, config: Config, source_vocab: int, target_vocab: int, seed: int) -> Any:
        """Build the Keras training model, named like the architecture.

        Args:
            config: the recipe's [model] table.
            source_vocab, target_vocab: sizes of the vocabularies.
            seed: of the initial weights and of dropout.

        Returns:
            A keras.Model: (source [B, S], target [B, T]) to logits [B, T, V], float32.
        """

    @abstractmethod
    def step_graph(self, model: Any) -> Any:
        """Return the nmt_cli.model.step_graph.StepGraph of a Keras model of this kind."""


@cache
def architecture(name: str) -> Architecture[Any]:
    """Return the architecture that a value of model.architecture names."""
    module = ARCHITECTURES[architecture_names().index(name)]
    found: Architecture[Any] = import_module(module).ARCHITECTURE
    return found


def architecture_of(config: ModelConfig) -> Architecture[Any]:
    """Return the architecture of a [model] table."""
    return architecture(config.architecture)


def default_config() -> ModelConfig:
    """Return the [model] table of a recipe that has none."""
    config: ModelConfig = architecture(architecture_names()[0]).config()
    return config


def dense_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """Count the weights of a dense layer."""
    return outputs * (inputs + bias)
