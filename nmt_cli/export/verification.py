"""The verification of all export formats: an export against the trained model.

A float32 export computes what the model computes: log-probabilities agree within LOGIT_TOLERANCE,
and all translations are the same but for ties.

A quantized export computes something close, which two gates check. The divergence of the
probabilities over given translations distinguishes a broken graph (a wrong mask, scale or
position: 0.1 nats and far more) from one that rounds (int8: below 0.005, measured). The cost of
rounding is measured on the run's held-out lines, up to 1,000, which both models translate:

- 200 lines or more: a loss of BLEU fails if it exceeds the limit and is significant by the
  paired bootstrap. On 500 lines, the loss of a harmless int8 model has a standard deviation of
  0.14 BLEU: a limit on its own would refuse 7 of 100.
- Fewer: BLEU is too noisy. The gate is chrF with the trained model's translations as references,
  which is free of the references' noise (95.3 to 97.4 for int8, measured).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli import __version__
from nmt_cli.bundle.report import PASSED, Check, Verification
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.systems import System, compare, count, evaluate
from nmt_cli.export.exporter import FLOAT32, Trained
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.forced import forced_steps
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import END_ID

FORCED_SENTENCES = 16
TRANSLATED_SENTENCES = 100
QUANTIZED_SENTENCES = 1000
ENOUGH_FOR_BLEU = 200
SIGNIFICANT = 0.05
# Of log-probabilities (nats). Float32 through 2 x 6 layers stays near 1e-5; a wrong mask, scale
# or position changes them by 0.1 and more.
LOGIT_TOLERANCE = 1e-3
# Share of lines that another search program may translate differently: CTranslate2 keeps the
# full beam where ours is narrowed by finished hypotheses.
OTHER_SEARCH_MAY_DIFFER = 0.03

LogProbs = NDArray[np.float32]


class Output(NamedTuple):
    """A translation: its text, score, and number of tokens without END."""

    text: str
    score: float
    length: int = 0


@dataclass(frozen=True)
class Gates:
    """By how much a quantized export may differ.

    Attributes:
        bleu: BLEU that it may lose.
        chrf: smallest chrF against the trained model's translations.
        divergence: of the probabilities (nats), if the format returns all of them.
    """

    bleu: float = 0.0
    chrf: float = 100.0
    divergence: float = float("inf")


class Exported(ABC):
    """An export as verification runs it.

    Attributes:
        title: for messages, e.g. "the SavedModel".
        precision: how weights are stored.
        gates: of a quantized export.
        searches: options that translations are compared with; of a quantized export the last.
        own_search: whether the format searches with another program.
    """

    title: str
    precision = FLOAT32
    gates = Gates()
    searches: Sequence[SearchOptions]
    own_search = False

    @abstractmethod
    def translate(self, lines: Sequence[str], options: SearchOptions) -> list[Output]:
        """Translate lines."""

    def log_probs(self, source: list[int], target: list[int]) -> LogProbs | None:
        """Log-probabilities of a given translation.

        Args:
            source, target: ids, unframed.

        Returns:
            Of every token of the vocabulary at each position, [T, V], or of the translation's own
            tokens, [T], END included; None if the format does not return any.
        """
        return None


@dataclass(frozen=True)
class Findings:
    """What the verification found.

    Attributes:
        checks: all of them passed.
        metrics: scores of the export on held-out lines, as a manifest records them.
    """

    checks: list[Check]
    metrics: list[dict[str, Any]]


def passed(trained: Trained, checks: Sequence[Check], onnxruntime: str = "") -> Verification:
    """The report of a verification that passed."""
    against = f"the Keras model of {trained.run.recipe.label} at step {trained.steps}"
    return Verification(PASSED, against, tuple(checks), __version__, onnxruntime)


def compare_with_model(trained: Trained, exported: Exported) -> Findings:
    """Compare an export with the model it was made from.

    Raises:
        NmtError: the verification failed.
    """
    exact = exported.precision == FLOAT32
    most = TRANSLATED_SENTENCES if exact else QUANTIZED_SENTENCES
    source, target = (side[:most] for side in trained.run.held_out())
    checks = _compare_log_probs(trained, exported, source, target)
    lines = [*source, *HARD_LINES] if exact else source or list(filter(str.strip, HARD_LINES))
    for options in exported.searches if exact else exported.searches[-1:]:
        translator = Translator(
            trained.step_model, trained.run.tokenizers(), options, trained.decoding.max_source
        )
        original = [
            Output(each.text, each.score, len(each.ids)) for each in translator.translate(lines)
        ]
        outputs = exported.translate(lines, options)
        if exact:
            checks += _compare_translations(exported, translator, lines, original, outputs)
    texts = [each.text for each in outputs]
    if not exact:
        before = [each.text for each in original]
        checks += compare_quality(before, texts, target, exported.gates, exported.precision)
    return Findings(checks, _metrics(texts[: len(target)], target))


def _compare_log_probs(
    trained: Trained, exported: Exported, source: Sequence[str], target: Sequence[str]
) -> list[Check]:
    """Compare the log-probabilities of FORCED_SENTENCES reference translations.

    If there are fewer, lines are also taken as their own translations.

    Raises:
        NmtError: one of a float32 export is not within LOGIT_TOLERANCE, or the probabilities of a
            quantized one diverge too much.
    """
    tokenizers, exact = trained.run.tokenizers(), exported.precision == FLOAT32
    more = list(filter(str.strip, HARD_LINES))
    sources = tokenizers.source.encode([*source, *more][:FORCED_SENTENCES])
    targets = tokenizers.target.encode([*target, *more][:FORCED_SENTENCES])
    largest, means, divergences = [], [], []
    for number, (source_ids, target_ids) in enumerate(zip(sources, targets, strict=True), 1):
        found = exported.log_probs(source_ids, target_ids)
        if found is None:
            continue
        framed = tokenizers.source.frame_source(source_ids)
        expected = given_log_probs(trained.step_model, framed, target_ids)
        tokens = np.array([*target_ids, END_ID])
        if found.ndim == 1:
            expected = expected[np.arange(len(tokens)), tokens]
        else:
            divergences += divergence(expected, found).tolist()
        difference = np.abs(expected - found)
        largest.append(float(difference.max()))
        means.append(float(difference.mean()))
        if exact and not largest[-1] <= LOGIT_TOLERANCE:
            position, *token = np.unravel_index(difference.argmax(), difference.shape)
            raise _failure(
                FLOAT32,
                f"the log-probability of token {token[0] if token else tokens[position]} at "
                f"position {position} of held-out sentence {number} is off by {largest[-1]:.2g} "
                f"(at most {LOGIT_TOLERANCE:g} allowed)",
            )
    if not largest:
        return []
    sentences, tolerance = f"({len(largest)} sentences)", LOGIT_TOLERANCE if exact else None
    checks = [
        Check.of("log-probabilities, mean difference", float(np.mean(means))),
        Check.of(f"log-probabilities, largest difference {sentences}", max(largest), tolerance),
    ]
    if divergences and not exact:
        mean, most = float(np.mean(divergences)), exported.gates.divergence
        if not mean <= most:
            raise _failure(
                exported.precision,
                f"its probabilities diverge too much from the trained model's ({mean:.4g} nats; at "
                f"most {most:g} allowed)",
            )
        checks.insert(0, Check.of(f"divergence of the probabilities {sentences}", mean, most))
    return checks


def given_log_probs(model: StepModel, source: list[int], target: list[int]) -> LogProbs:
    """Log-probabilities [T, V] at each position of a given translation and of END.

    Args:
        model: gives them.
        source: ids, framed.
        target: ids, without END.
    """
    pair = np.array([source], np.int32), np.array([[*target, END_ID]], np.int32)
    return np.concatenate([log_probs for log_probs, _ in forced_steps(model, *pair)])


def divergence(expected: LogProbs, found: LogProbs) -> NDArray[np.float32]:
    """Kullback-Leibler divergence (nats) of log-probabilities [T, V] from the expected ones, [T].

    Unlike the differences, it weighs tokens by their probability.
    """
    return (np.exp(expected) * (expected - found)).sum(axis=1)


def _compare_translations(
    exported: Exported,
    translator: Translator,
    lines: Sequence[str],
    original: Sequence[Output],
    outputs: Sequence[Output],
) -> list[Check]:
    """Compare translations line by line.

    Lines may differ if their scores are tied. With another search program they may also be cut at
    the length limit differently (ours prefers finished hypotheses there, CTranslate2 high scores),
    and OTHER_SEARCH_MAY_DIFFER of them in any other way.

    Raises:
        NmtError: more lines differ than allowed; shows the first of them.
    """
    ties, cut, wrong = 0, 0, []
    for number, (line, ours, theirs) in enumerate(zip(lines, original, outputs, strict=True), 1):
        if ours.text == theirs.text:
            continue
        if abs(ours.score - theirs.score) <= TIE:
            ties += 1
        elif exported.own_search and is_cut(translator, line, ours.length, theirs.length):
            cut += 1
        else:
            wrong.append(
                f"translates line {number} ({line[:80]!r}) as {theirs.text[:80]!r} (score "
                f"{theirs.score:.4f}), the trained model as {ours.text[:80]!r} ({ours.score:.4f})"
            )
    allowed = int(OTHER_SEARCH_MAY_DIFFER * len(lines)) if exported.own_search else 0
    if len(wrong) > allowed:
        raise _failure(
            FLOAT32,
            f"{len(wrong)} of {len(lines)} lines are translated differently at beam "
            f"{translator.options.beam_size} (at most {allowed} allowed); {exported.title} "
            f"{wrong[0]}",
        )
    beam = f", beam {translator.options.beam_size}" if len(exported.searches) > 1 else ""
    checks = [
        Check.of(f"lines translated differently, of {len(lines)}{beam}", len(wrong), allowed),
        Check.of(f"ties broken differently{beam}", ties),
    ]
    if exported.own_search:
        checks.append(Check.of(f"lines cut differently at the length limit{beam}", cut))
    return checks


def is_cut(translator: Translator, line: str, *lengths: int) -> bool:
    """Whether a translation of one of these lengths reaches the length limit of its line."""
    (ids,) = translator.tokenizers.source.encode([line])
    limit = translator.options.limit(len(translator.tokenizers.source.frame_source(ids)))
    return any(each >= limit for each in lengths)


def compare_quality(
    original: Sequence[str],
    quantized: Sequence[str],
    references: Sequence[str],
    gates: Gates,
    precision: str,
) -> list[Check]:
    """Compare the quality of translations by a quantized export with the trained model's.

    Args:
        original: the trained model's translations.
        quantized: the export's, line by line.
        references: reference translations, or none.
        gates: the limits.
        precision: for messages.

    Raises:
        NmtError: the loss of BLEU is significant and above its limit; or, for fewer lines than
            ENOUGH_FOR_BLEU, the translations differ too much.
    """
    lines, enough = f"{len(original):,} lines", len(references) >= ENOUGH_FOR_BLEU
    chrf = evaluate(quantized, original)[1].value
    most = None if enough else 100 - gates.chrf
    checks = [
        Check.of(f"100 - chrF against the trained model's translations, {lines}", 100 - chrf, most)
    ]
    if not checks[0].passed:
        raise _failure(
            precision,
            f"translations differ too much from the trained model's (chrF {chrf:.1f} on {lines}; "
            f"at least {gates.chrf:g} required)",
        )
    if not references:
        return checks
    before, after = compare(
        [
            System(name, texts, count(texts, [references], ["BLEU"]))
            for name, texts in (("trained", original), ("quantized", quantized))
        ]
    )
    loss, p = before.score - after.score, after.p or 0.0
    checks.append(Check.of(f"BLEU lost on {lines} (p = {p:.3f})", loss))
    if enough:
        beyond = loss if p < SIGNIFICANT else 0.0
        if not beyond <= gates.bleu:
            raise _failure(
                precision,
                f"BLEU falls by {loss:.2f} on {lines}, from {before.score:.2f} to "
                f"{after.score:.2f} (p = {p:.3f}; at most {gates.bleu:g} allowed)",
            )
        name = f"BLEU lost beyond chance (p < {SIGNIFICANT:g})"
        checks.append(Check.of(name, beyond, gates.bleu))
    return checks


def _failure(precision: str, problem: str) -> NmtError:
    hint = "try another --quantize, or export without it"
    if precision == FLOAT32:
        hint = "please report this with the recipe"
    return NmtError(f"{precision} verification failed: {problem}", hint)


def _metrics(texts: list[str], references: list[str]) -> list[dict[str, Any]]:
    """Rows for the manifest; none without references."""
    return [
        {
            "set": f"first {len(texts)} held-out pairs",
            "metric": score.name,
            "value": round(score.value, 2),
            "signature": score.signature,
        }
        for score in (evaluate(texts, references) if texts else [])
    ]
