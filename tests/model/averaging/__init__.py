"""A small architecture that is not part of nmt: the decoder attends to the mean of its history
(Zhang et al. 2018, https://arxiv.org/abs/1805.00631, without gates)."""

from dataclasses import dataclass, field

from nmt_cli.recipe.architecture import (
    Architecture,
    CacheShape,
    ModelConfig,
    Shape,
    dense_parameters,
)


@dataclass(frozen=True)
class AveragingConfig(ModelConfig):
    architecture: str = field(default="averaging", init=False)


class Averaging(Architecture[AveragingConfig]):
    config = AveragingConfig

    def summary(self, config: AveragingConfig) -> str:
        return f"An averaging model (width {config.d_model})"

    def layer_parameters(self, config: AveragingConfig) -> int:
        width = config.d_model
        return config.encoder_layers * dense_parameters(width, width) + dense_parameters(
            2 * width, width
        )

    def widest_product(self, config: AveragingConfig) -> int:
        return 2 * config.d_model**2

    def encoder_output(self, config: AveragingConfig) -> dict[str, Shape]:
        return {"source_mask": ("B", 1, 1, "S"), "vectors": ("B", 1, "S", config.d_model)}

    def caches(self, config: AveragingConfig) -> dict[str, CacheShape]:
        return {"history": ("B", 1, "P", config.d_model)}

    def cross_attention(self, config: AveragingConfig) -> tuple[int, int]:
        return 1, 1


ARCHITECTURE = Averaging()
