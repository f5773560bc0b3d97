"""Keys of a recipe that contradict each other, refused when it is read: nothing later has to."""

import re
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import ModelConfig, Recipe

PAD_ID, START_ID, END_ID = 0, 2, 3  # as in nmt_cli.text.tokenizer
FRAME_TOKENS = 2  # START and END around a source, where its tokenizer frames it with both


def check_together(recipe: Recipe, where: str) -> None:
    """Refuse what no single key is to blame for; ``where`` names the recipe in errors.

    Raises:
        NmtError: keys contradict each other.
    """
    model, data = recipe.model, recipe.data
    fault, mend = shape_fault(model)
    if fault:
        raise NmtError(f"{where}: model.{fault}", mend)
    _check_positions(recipe, where)
    if max(model.pad_ids) >= recipe.tokenizer.vocab_size:
        raise NmtError(
            f"{where}: model.pad_ids has {max(model.pad_ids)}, and the vocabulary ends before "
            f"tokenizer.vocab_size = {recipe.tokenizer.vocab_size}",
            "take ids below it",
        )
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


def shape_fault(model: ModelConfig) -> tuple[str, str]:
    """What is wrong with a [model] table by itself, and how to mend it; empty if nothing is."""
    width, heads = model.d_model, model.heads
    if width % 2:
        return f"d_model = {width} must be even", f"try model.d_model={width + 1}"
    if model.architecture == "rnn":
        return "", ""
    if width % heads and not (model.key_dim and model.value_dim):
        return (
            f"d_model = {width} is not divisible by heads = {heads}",
            f"try model.heads={_divisor_near(width, heads)}, or set model.key_dim and "
            "model.value_dim",
        )
    pads = set(model.pad_ids)
    if PAD_ID not in pads or min(pads) < 0 or pads & {START_ID, END_ID}:
        return (
            f"pad_ids = {list(model.pad_ids)} must be ids of tokens, {PAD_ID} among them, "
            f"{START_ID} and {END_ID} (start and end) not",
            f"e.g. model.pad_ids=[{PAD_ID}]",
        )
    return "", ""


def _check_positions(recipe: Recipe, where: str) -> None:
    """There must be a learned position for every token that is ever read."""
    if recipe.model.positions != "learned" or recipe.model.architecture == "rnn":
        return
    longest = recipe.model.max_positions
    read = {
        "data.max_tokens": recipe.data.max_tokens,
        "decoding.max_length": recipe.decoding.max_length,
        "decoding.max_source": recipe.decoding.max_source + FRAME_TOKENS,
    }
    key, tokens = max(read.items(), key=lambda each: each[1])
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
