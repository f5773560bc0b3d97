"""A small architecture that is not part of nmt: the decoder attends to the mean of its history
(Zhang et al. 2018, https://arxiv.org/abs/1805.00631, without gates)."""

from dataclasses import dataclass, field

from nmt_cli.recipe.model import CacheShape, ModelConfig, Shape, dense_parameters


@dataclass(frozen=True)
class AveragingConfig(ModelConfig):
    architecture: str = field(default="averaging", init=False)

    def summary(self) -> str:
        return f"An averaging model (width {self.d_model})"

    def _layer_parameters(self) -> int:
        width = self.d_model
        encoder = self.encoder_layers * dense_parameters(width, width)
        return encoder + dense_parameters(2 * width, width)

    def widest_product(self) -> int:
        return 2 * self.d_model**2

    def encoder_output(self) -> dict[str, Shape]:
        return {"source_mask": ("B", 1, 1, "S"), "vectors": ("B", 1, "S", self.d_model)}

    def caches(self) -> dict[str, CacheShape]:
        return {"history": ("B", 1, "P", self.d_model)}

    def cross_attention(self) -> tuple[int, int]:
        return 1, 1
