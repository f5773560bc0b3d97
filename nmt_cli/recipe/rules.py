"""Keys of a recipe that contradict each other, refused when it is read: nothing later has to."""

import re
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import ModelConfig, Recipe

PAD_ID = 0  # nmt_cli.text.tokenizer.PAD_ID
FRAME_TOKENS = 2  # START and END around a source, where its tokenizer frames it with both


def check_together(recipe: Recipe, where: str) -> None:
    """Refuse what no single key is to blame for; ``where`` names the recipe in errors.

    Raises:
        NmtError: keys contradict each other.
    """
    model, data = recipe.model, recipe.data
    check_shape(model, f"{where}: model.")
    _check_positions(recipe, where)
    if model.embeddings in ("all", "source-target") and not recipe.tokenizer.joint:
        raise NmtError(
            f"{where}: model.embeddings = '{model.embeddings}' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        )
    if data.source == data.target:
        raise NmtError(f"{where}: data.source and data.target are both '{data.source}'")
    _check_tag(recipe, where)
    if not recipe.name or Path(recipe.label).name != recipe.label:
        raise NmtError(f"{where}: name, data.source and data.target must make a folder name")
    _check_training(recipe, where)


def check_shape(model: ModelConfig, where: str) -> None:
    """Refuse sizes that do not go together; ``where`` stands before the key in errors.

    Raises:
        NmtError: they do not.
    """
    if model.d_model % model.heads and not (model.key_dim and model.value_dim):
        raise NmtError(
            f"{where}d_model = {model.d_model} is not divisible by heads = {model.heads}",
            f"try model.heads={_divisor_near(model.d_model, model.heads)}, or set model.key_dim "
            "and model.value_dim",
        )
    if model.d_model % 2:
        raise NmtError(f"{where}d_model = {model.d_model} must be even")
    if PAD_ID not in model.pad_ids or min(model.pad_ids) < PAD_ID:
        raise NmtError(
            f"{where}pad_ids = {list(model.pad_ids)} must be token ids, {PAD_ID} among them"
        )


def _check_positions(recipe: Recipe, where: str) -> None:
    """There must be a learned position for every token that is ever read."""
    if recipe.model.positions != "learned":
        return
    longest = recipe.model.max_positions
    read = {
        "data.max_tokens": recipe.data.max_tokens,
        "decoding.max_length": recipe.decoding.max_length,
        "decoding.max_source": recipe.decoding.max_source + FRAME_TOKENS,
    }
    for key, tokens in read.items():
        if tokens > longest:
            raise NmtError(
                f"{where}: {key} lets {tokens} tokens be read, and model.max_positions = "
                f"{longest} has no position for so many",
                f"lower {key}, or set model.max_positions={tokens}",
            )


def _check_training(recipe: Recipe, where: str) -> None:
    training, longest = recipe.training, recipe.data.max_tokens
    if 0 < training.batch_tokens < training.copies * longest:
        raise NmtError(
            f"{where}: training.batch_tokens = {training.batch_tokens} is smaller than "
            f"{'two copies (training.r_drop) of ' if training.r_drop else ''}"
            f"one sentence of data.max_tokens = {longest}",
            "raise the first or lower the second",
        )
    if training.schedule != "inverse-sqrt" and training.warmup_steps >= training.max_steps:
        raise NmtError(
            f"{where}: training.warmup_steps = {training.warmup_steps} leaves nothing of "
            f"training.max_steps = {training.max_steps} for the {training.schedule} schedule",
            "lower the first or raise the second",
        )
    if training.average > training.keep:
        raise NmtError(
            f"{where}: training.average = {training.average} needs as many checkpoints, and "
            f"training.keep = {training.keep}",
            f"set training.keep={training.average}",
        )
    if training.sample_subwords and recipe.tokenizer.kind != "sentencepiece":
        raise NmtError(
            f"{where}: training.sample_subwords needs tokenizer.kind = 'sentencepiece', not "
            f"'{recipe.tokenizer.kind}'",
            "set training.sample_subwords=0 or change the tokenizer",
        )


def _check_tag(recipe: Recipe, where: str) -> None:
    """A tag is one vocabulary entry that neither normalization nor ordinary text ever makes."""
    tag, kind = recipe.data.synthetic_tag, recipe.tokenizer.kind
    if tag and not re.fullmatch("<[!-~]+>", tag):
        raise NmtError(
            f"{where}: data.synthetic_tag must be ASCII between < and >, without white space, "
            f"not {tag!r}",
            "e.g. data.synthetic_tag='<BT>'",
        )
    if tag and kind != "sentencepiece":
        raise NmtError(
            f"{where}: data.synthetic_tag needs tokenizer.kind = 'sentencepiece', not '{kind}'",
            "change tokenizer.kind, or leave data.synthetic_tag empty",
        )


def _divisor_near(number: int, wanted: int) -> int:
    divisors = [each for each in range(1, number + 1) if number % each == 0]
    return min(divisors, key=lambda each: abs(each - wanted))
