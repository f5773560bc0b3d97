"""Layers that are made of the recipe's [model] table."""

from dataclasses import asdict
from typing import Any, Self

import keras

from nmt_cli.recipe.config import ModelConfig
from nmt_cli.recipe.reading import section_from


class ShapedLayer(keras.layers.Layer):
    """A layer with a shape and a dropout of its own.

    Args:
        shape: the recipe's [model] table.
    """

    def __init__(self, shape: ModelConfig, **options: Any) -> None:
        super().__init__(**options)
        self.shape = shape
        self.drop = keras.layers.Dropout(shape.dropout, dtype=self.dtype_policy)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes, in plain values."""
        return {**super().get_config(), "shape": asdict(self.shape)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The inverse of :meth:`get_config`."""
        shape = section_from(ModelConfig, config["shape"], cls.__name__)
        return super().from_config({**config, "shape": shape})
