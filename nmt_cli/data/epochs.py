"""The training batches of a recipe."""

from nmt_cli.data.batches import Batches, Epochs
from nmt_cli.data.prepared import Prepared
from nmt_cli.data.sampling import SampledText
from nmt_cli.recipe.config import Recipe


def training_batches(recipe: Recipe, prepared: Prepared) -> Epochs:
    """Return the training batches of a recipe from its prepared data."""
    config, seed = recipe.training, recipe.seed
    if not config.sample_subwords:
        fixed = Batches(*prepared.arrays("train"), config.batch_tokens, seed, config.copies)
        return Epochs(lambda epoch: fixed, config.curriculum)
    text = SampledText(
        prepared.text("train"),
        prepared.tokenizers(),
        recipe.data.max_tokens,
        config.sample_subwords,
        seed,
    )
    return Epochs(
        # The longest pair differs between epochs, and each new width would be compiled.
        lambda epoch: Batches(
            *text.arrays(epoch),
            config.batch_tokens,
            seed,
            config.copies,
            longest=recipe.data.max_tokens,
        ),
        config.curriculum,
    )
