"""Refuse recipes whose keys contradict each other."""

import re
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.recipe.architecture import architecture_of
from nmt_cli.recipe.config import Recipe


def check_together(recipe: Recipe, where: str) -> None:
    """Check keys against each other; ``where`` names the recipe in errors.

    Raises:
        NmtError: keys contradict each other.
    """
    model, data = recipe.model, recipe.data
    kind = architecture_of(model)
    fault = kind.fault(model) or kind.conflict(model, recipe)
    if fault:
        raise NmtError(f"{where}: model.{fault[0]}", fault[1])
    if model.embeddings in ("all", "source-target") and not recipe.tokenizer.joint:
        raise NmtError(
            f"{where}: model.embeddings = '{model.embeddings}' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        )
    if data.source == data.target:
        raise NmtError(f"{where}: data.source and data.target are both '{data.source}'")
    _check_tag(recipe, where)
    if not recipe.name or Path(recipe.label).name != recipe.label:
        raise NmtError(
            f"{where}: name, data.source and data.target must be usable as the name of a folder"
        )
    _check_training(recipe, where)


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
            f"{where}: training.warmup_steps = {training.warmup_steps} leaves none of "
            f"training.max_steps = {training.max_steps} for the {training.schedule} schedule",
            "lower the first or raise the second",
        )
    if training.average > training.keep:
        raise NmtError(
            f"{where}: training.average = {training.average} needs as many checkpoints, but "
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
    """A tag must be one vocabulary entry that no text and no normalization produces."""
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
