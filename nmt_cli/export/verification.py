"""The verification of all export formats: an export against the trained model.

A float32 export computes what the model computes: log-probabilities agree within LOGIT_TOLERANCE,
and all translations are the same but for ties.

A quantized export computes something close, which two gates check. The divergence of the
probabilities over given translations distinguishes a broken graph (a wrong mask, scale or
position: 0.1 nats and far more) from one that rounds (int8: below 0.005, measured). The cost of
rounding, and that of vocabulary shortlists, is measured on the run's held-out lines, up to 1,000,
which both models translate:

- 200 lines or more: a loss of BLEU fails if it exceeds the limit and is significant by the
  paired bootstrap. On 500 lines, the loss of a harmless int8 model has a standard deviation of
  0.14 BLEU: a limit on its own would refuse 7 of 100.
- Fewer: BLEU is too noisy. The gate is chrF with the trained model's translations as references,
  which is free of the references' noise (95.3 to 97.4 for int8, measured).

Fewer than 1,000 lines are too few if a loss of the limit would not be significant: a warning.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from nmt_cli.bundle.manifest import Check, Metric
from nmt_cli.errors import VerificationError
from nmt_cli.evaluate.scores import count, evaluate, p_value, sampled_scores
from nmt_cli.export.exporter import FLOAT32
from nmt_cli.export.trained import TrainedModel
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.hypotheses import forced_steps
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.step_model import Floats, StepModel
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import END_ID

logger = logging.getLogger(__name__)

FORCED_SENTENCES = 16
TRANSLATED_SENTENCES = 100
QUANTIZED_SENTENCES = 1000
ENOUGH_FOR_BLEU = 200
SIGNIFICANT = 0.05
# Largest difference of log-probabilities (nats). Float32 through 2 x 6 layers stays near 1e-5; a
# wrong mask, scale or position changes them by 0.1 and more.
LOGIT_TOLERANCE = 1e-3
# Share of lines that another search program may translate differently: CTranslate2 keeps the
# full beam where ours is narrowed by finished hypotheses.
MAX_OTHER_SEARCH_DIFFERS = 0.03


@dataclass(frozen=True)
class Gates:
    """By how much an approximate export may differ.

    Attributes:
        bleu: BLEU that it may lose.
        chrf: smallest chrF against the trained model's translations.
        divergence: of the probabilities (nats), if the format returns all of them.
    """

    bleu: float = 0.0
    chrf: float = 100.0
    divergence: float = float("inf")


@dataclass(frozen=True)
class ExportUnderTest:
    """An export as verification runs it.

    Attributes:
        searches: how to translate for the comparison; of an approximate export only the last.
        log_probs: takes ids of a source, with special tokens, and a translation, without. Returns
            the log-probabilities of all tokens, [T, V], or of the translation's and END, [T], or
            None for a pair that the format cannot read.
        gates: by how much translations may differ from the trained model's; None for not at all.
        own_search: whether the format searches with another program.
        edits_text: whether the export, or what it is used through, has the text path's steps. If
            not, lines that are too long for the model are not compared.
    """

    translate: Callable[[Sequence[str], SearchOptions], Iterable[Translation]]
    searches: Sequence[DecodingOptions] = (DecodingOptions(),)
    log_probs: Callable[[list[int], list[int]], Floats | None] | None = None
    precision: str = FLOAT32
    gates: Gates | None = None
    own_search: bool = False
    edits_text: bool = True

    @classmethod
    def of(cls, translator: Translator, **details: Any) -> "ExportUnderTest":
        """Make one of a translator; ``details`` are further attributes."""

        def translate(lines: Sequence[str], options: SearchOptions) -> Iterable[Translation]:
            return replace(translator, options=options).translate(lines)

        if isinstance(translator.search, BeamSearch):
            details["log_probs"] = partial(given_log_probs, translator.model)
        return cls(translate, **details)


def compare_with_model(
    trained: TrainedModel, exported: ExportUnderTest
) -> tuple[list[Check], list[Metric]]:
    """Raise VerificationError if an export differs too much from the model it was made from.

    Returns the checks and the scores of the export on held-out lines.
    """
    gates, translator = exported.gates, trained.translator(exported.edits_text)
    limit = QUANTIZED_SENTENCES if gates else TRANSLATED_SENTENCES
    source, target = (side[:limit] for side in trained.held_out)
    checks, language = _compare_log_probs(trained, exported), trained.run.recipe.data.target
    lines = source or list(filter(str.strip, HARD_LINES)) if gates else [*source, *HARD_LINES]
    if not exported.edits_text:
        passages = translator.path.read(lines, [False] * len(lines))
        fits = [len(passage.parts) < 2 for passage in passages]
        lines, target = list(compress(lines, fits)), list(compress(target, fits))
    for search in exported.searches[-1:] if gates else exported.searches:
        options = SearchOptions.of(trained.decoding, search)
        translator = replace(translator, options=options)
        ours, theirs = list(translator.translate(lines)), list(exported.translate(lines, options))
        if not gates:
            checks += _compare_translations(exported, translator, lines, ours, theirs)
    texts = [translation.text for translation in theirs]
    if gates:
        original = [translation.text for translation in ours]
        checks += compare_quality(original, texts, target, gates, exported.precision, language)
    metrics: list[Metric] = [
        {
            "set": f"first {len(target)} held-out pairs",
            "metric": score.name,
            "value": round(score.value, 2),
            "signature": score.signature,
        }
        for score in (evaluate(texts[: len(target)], target, language) if target else [])
    ]
    return checks, metrics


def forced_pairs(trained: TrainedModel) -> list[tuple[list[int], list[int]]]:
    """Return the ids of the first held-out pairs; HARD_LINES are their own if there are too few."""
    more = list(filter(str.strip, HARD_LINES))
    return trained.encoded(*([*side, *more][:FORCED_SENTENCES] for side in trained.held_out))


def _compare_log_probs(trained: TrainedModel, exported: ExportUnderTest) -> list[Check]:
    """Compare the log-probabilities of references."""
    if exported.log_probs is None:
        return []
    exact = exported.precision == FLOAT32
    maxima, means, divergences = [], [], []
    for source, target in forced_pairs(trained):
        actual = exported.log_probs(source, target)
        if actual is None:
            continue
        expected = given_log_probs(trained.step_model, source, target)
        if actual.ndim == 1:
            expected = expected[np.arange(len(actual)), [*target, END_ID]]
        else:  # unlike the differences, this weighs tokens by their probability
            divergences += (np.exp(expected) * (expected - actual)).sum(axis=1).tolist()
        difference = np.abs(expected - actual)
        maxima.append(float(difference.max()))
        means.append(float(difference.mean()))
    sentences, tolerance = f"({len(maxima)} sentences)", LOGIT_TOLERANCE if exact else None
    checks = [
        Check.of("log-probabilities, mean difference", float(np.mean(means))),
        Check.of(
            f"log-probabilities, largest difference {sentences}", float(np.max(maxima)), tolerance
        ),
    ]
    if divergences and exported.gates and not exact:
        name, mean = f"divergence of the probabilities {sentences}", float(np.mean(divergences))
        checks.insert(0, Check.of(name, mean, exported.gates.divergence))
    for check in checks:
        if not check.passed:
            raise _failure(exported.precision, str(check))
    return checks


def given_log_probs(model: StepModel, source: list[int], target: list[int]) -> Floats:
    """Return the log-probabilities [T, V] at each position of a translation and of its END.

    The source has its special tokens, the target has no END.
    """
    pair = np.array([source], np.int32), np.array([[*target, END_ID]], np.int32)
    return np.concatenate([log_probs for log_probs, _ in forced_steps(model, *pair)])


def _compare_translations(
    exported: ExportUnderTest,
    translator: Translator,
    lines: Sequence[str],
    ours: Sequence[Translation],
    theirs: Sequence[Translation],
) -> list[Check]:
    """Compare translations line by line; they may differ if their scores are tied.

    With another search program they may also be cut at the length limit differently (ours prefers
    finished hypotheses there, CTranslate2 high scores), and MAX_OTHER_SEARCH_DIFFERS in any way.
    """
    ties, cut, wrong = 0, 0, []
    for number, (line, one, other) in enumerate(zip(lines, ours, theirs, strict=True), 1):
        if one.text == other.text:
            continue
        if abs(one.score - other.score) <= TIE:
            ties += 1
        elif exported.own_search and is_cut(translator, line, len(one.ids), len(other.ids)):
            cut += 1
        else:
            wrong.append(
                f"line {number} ({line[:80]!r}) becomes {other.text[:80]!r} (score "
                f"{other.score:.4f}), with the trained model {one.text[:80]!r} ({one.score:.4f})"
            )
    beam = translator.options.beam_size
    allowed = int(MAX_OTHER_SEARCH_DIFFERS * len(lines)) if exported.own_search else 0
    if len(wrong) > allowed:
        raise _failure(
            FLOAT32,
            f"{len(wrong)} of {len(lines)} lines are translated differently at beam {beam} (at "
            f"most {allowed} allowed); {wrong[0]}",
        )
    suffix = f", beam {beam}" if len(exported.searches) > 1 else ""
    checks = [
        Check.of(f"lines translated differently, of {len(lines)}{suffix}", len(wrong), allowed),
        Check.of(f"ties broken differently{suffix}", ties),
    ]
    if exported.own_search:
        checks.append(Check.of(f"lines cut differently at the length limit{suffix}", cut))
    return checks


def is_cut(translator: Translator, line: str, *lengths: int) -> bool:
    """Return whether a translation of one of these lengths reaches its line's length limit."""
    (ids,) = translator.tokenizers.source.encode([line])
    limit = translator.options.limit(len(translator.tokenizers.source.with_special_tokens(ids)))
    return max(lengths) >= limit


def compare_quality(
    original: Sequence[str],
    exported: Sequence[str],
    references: Sequence[str],
    gates: Gates,
    precision: str,
    language: str = "",
) -> list[Check]:
    """Compare translations by an approximate export with the trained model's and references."""
    lines, enough = f"{len(original):,} lines", len(references) >= ENOUGH_FOR_BLEU
    chrf = evaluate(exported, original)[1].value
    limit = None if enough else 100 - gates.chrf
    checks = [
        Check.of(f"100 - chrF against the trained model's translations, {lines}", 100 - chrf, limit)
    ]
    if not checks[0].passed:
        raise _failure(
            precision,
            f"translations differ too much from the trained model's (chrF {chrf:.1f} on {lines}; "
            f"at least {gates.chrf:g} required)",
        )
    if not enough:
        _warn(len(references), "they are too few to measure a loss of BLEU")
    if not references:
        return checks
    before, after = (
        count(texts, [references], ["BLEU"], language=language)[0] for texts in (original, exported)
    )
    loss = before.score_of() - after.score_of()
    trained, drawn = sampled_scores([before, after])
    p, losses = p_value(drawn, trained, abs(loss)), trained - drawn
    checks.append(Check.of(f"BLEU lost on {lines} (p = {p:.3f})", loss))
    if enough:
        beyond = loss if p < SIGNIFICANT else 0.0
        if not beyond <= gates.bleu:
            raise _failure(
                precision,
                f"BLEU falls by {loss:.2f} on {lines}, from {before.score_of():.2f} to "
                f"{after.score_of():.2f} (p = {p:.3f}; at most {gates.bleu:g} allowed)",
            )
        name = f"BLEU lost beyond chance (p < {SIGNIFICANT:g})"
        checks.append(Check.of(name, beyond, gates.bleu))
        smallest = float(np.quantile(losses - losses.mean(), 1 - SIGNIFICANT))
        checks.append(Check.of("smallest loss of BLEU that would be significant", smallest))
        if smallest > gates.bleu and len(references) < QUANTIZED_SENTENCES:
            problem = f"a loss of about {smallest:.2f} BLEU can pass (the limit is {gates.bleu:g})"
            _warn(len(references), problem)
    return checks


def _warn(lines: int, problem: str) -> None:
    hint = f"give {QUANTIZED_SENTENCES:,} lines that the training did not see with `dev=PREFIX`"
    logger.warning(f"the verification is weak with {lines} held-out lines: {problem}; {hint}")


def _failure(precision: str, problem: str) -> VerificationError:
    hint = "try another `quantize`, or export without it and `shortlist`"
    if precision == FLOAT32:
        hint = "please report this with the recipe"
    return VerificationError(f"{precision} verification failed: {problem}", hint)
