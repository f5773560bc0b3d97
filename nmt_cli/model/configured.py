"""Bases of the layers: how they are saved in a Keras file."""

import inspect
from dataclasses import asdict
from typing import Any, Self

import keras

from nmt_cli.recipe.architecture import ModelConfig
from nmt_cli.recipe.reading import section_from


class SavedLayer(keras.layers.Layer):
    """A layer that is saved by the arguments of its __init__, each an attribute of that name."""

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of __init__."""
        names = inspect.signature(type(self).__init__).parameters.keys() - {"self", "options"}
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


class ConfiguredLayer(keras.layers.Layer):
    """A layer with a [model] table and a dropout.

    Args:
        config: the recipe's [model] table.
    """

    def __init__(self, config: ModelConfig, **options: Any) -> None:
        super().__init__(**options)
        self.config = config
        self.drop = keras.layers.Dropout(config.dropout, dtype=self.dtype_policy)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of __init__ as plain values."""
        return {**super().get_config(), "config": asdict(self.config)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make a layer from :meth:`get_config`'s result."""
        own = section_from(ModelConfig, config["config"], cls.__name__)
        return super().from_config({**config, "config": own})
