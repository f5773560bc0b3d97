"""From a model's folder and a sentence to what the model looks at."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.search.attention import AttentionMaps
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import TokenizerPair


def attention_of(
    folder: Path,
    source: str,
    target: str | None,
    warn: Callable[[str], None] = lambda message: None,
) -> tuple[AttentionMaps, TokenizerPair]:
    """Attention weights of a sentence and its translation.

    Args:
        folder: of a run, or of a bundle that tells what it looks at.
        source: a line.
        target: its translation; None: the model's own, as it is decoded.
        warn: receives a line when a bundle was never verified.

    Raises:
        NmtError: no text, or more than the model reads at a time; the model is damaged, or does
            not tell.
    """
    if (folder / MANIFEST).exists():
        return _of_bundle(folder, source, target, warn)
    from nmt_cli.model.attention_maps import model_attention
    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import trained_model

    run = Run.open(folder)
    model, _ = trained_model(run, run.preferred)
    decoding, tokenizers = run.recipe.decoding, run.tokenizers()
    translator = Translator(
        KerasStepModel(model), tokenizers, SearchOptions.of(decoding), decoding.max_source
    )
    ids = _target_ids(translator, decoding, source, target)
    return model_attention(model, tokenizers, source, ids), tokenizers


def _of_bundle(
    folder: Path, source: str, target: str | None, warn: Callable[[str], None]
) -> tuple[AttentionMaps, TokenizerPair]:
    from nmt_cli.runtime.load import open_bundle
    from nmt_cli.runtime.step_model import attention_graph
    from nmt_cli.search.forced import forced_attention
    from nmt_cli.search.options import SearchOptions

    bundle = open_bundle(folder, warn)
    attention_graph(folder, bundle.manifest)
    decoding, tokenizers = bundle.manifest.decoding, bundle.tokenizers
    translator = Translator(
        bundle.model, tokenizers, SearchOptions.of(decoding), decoding.max_source
    )
    ids = _target_ids(translator, decoding, source, target)
    return forced_attention(bundle.model, tokenizers, source, ids), tokenizers


def _target_ids(
    translator: Translator, decoding: DecodingConfig, source: str, target: str | None
) -> list[int]:
    """The translation, given or decoded, without END."""
    tokenizers = translator.tokenizers
    _check_length("source", len(tokenizers.source.encode([source])[0]), decoding.max_source)
    if target is None:
        return next(translator.translate([source])).ids
    (ids,) = tokenizers.target.encode([target])
    _check_length("target", len(ids), decoding.max_length - 1)
    return ids


def _check_length(side: str, tokens: int, longest: int) -> None:
    if not tokens:
        raise NmtError(f"the {side} is blank", "give a sentence")
    if tokens > longest:
        raise NmtError(
            f"the {side} has {tokens} tokens, and the model reads at most {longest} at a time",
            "give a shorter sentence",
        )
