"""From prepared data to the batches of a training, as its recipe wants them."""

from nmt_cli.data.batches import Batches, Epochs
from nmt_cli.data.prepared import Prepared
from nmt_cli.data.sampling import SampledText
from nmt_cli.recipe.config import Recipe


def training_batches(recipe: Recipe, prepared: Prepared) -> Epochs:
    """The batches of a training, epoch after epoch."""
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
        # The longest pair is another in each epoch, and a new width would be compiled anew.
        lambda epoch: Batches(
            *text.arrays(epoch),
            config.batch_tokens,
            seed,
            config.copies,
            longest=recipe.data.max_tokens,
        ),
        config.curriculum,
    )
