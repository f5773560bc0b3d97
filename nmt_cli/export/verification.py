"""The verification of all export formats: an export against the trained model.

A float32 export computes what the model computes: the log-probabilities agree within
LOGIT_TOLERANCE, and so do all translations except ties.

A quantized export computes something close, which two gates check. The divergence of the
probabilities over given translations distinguishes a broken graph (a wrong mask, scale or
position: 0.1 nats and far more) from one that rounds (int8: below 0.005, measured). The cost of
rounding is measured on the run's held-out lines, up to 1,000, which both models translate:

- 200 lines or more: a loss of BLEU fails if it exceeds the limit and is significant by the
  paired bootstrap. On 500 lines, the difference between a model and a harmless int8 copy has a
  standard deviation of 0.14 BLEU: a limit only would refuse 7 of 100.
- Fewer: BLEU is too noisy. The gate is chrF with the trained model's translations as references,
  which is free of the references' noise (measured: 95.3 to 97.4 for int8).
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
from nmt_cli.evaluate.counts import count
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.evaluate.systems import System, compare
from nmt_cli.export.exporter import Trained
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
REPORT = "please report this with the recipe"


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

    bleu: float
    chrf: float
    divergence: float = float("inf")


class Exported(ABC):
    """An export as verification runs it.

    Attributes:
        title: for messages, e.g. "the SavedModel".
        precision: how weights are stored.
        gates: of a quantized export.
        searches: options that the translations are compared with, for quantized exports the last.
        own_search: whether the format searches with another program.
    """

    title: str
    precision = "float32"
    gates = Gates(bleu=0, chrf=100)
    searches: Sequence[SearchOptions]
    own_search = False

    @abstractmethod
    def translate(self, lines: Sequence[str], options: SearchOptions) -> list[Output]:
        """Translate lines."""

    def log_probs(self, source: list[int], target: list[int]) -> NDArray[np.float32] | None:
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
    source, target = trained.run.held_out()
    exact = exported.precision == "float32"
    most = TRANSLATED_SENTENCES if exact else QUANTIZED_SENTENCES
    source, target = source[:most], target[:most]
    checks = _compare_log_probs(trained, exported, _forced_pairs(source, target))
    if exact:
        lines = [*source, *HARD_LINES]
        for options in exported.searches:
            outputs = exported.translate(lines, options)
            checks += _compare_translations(trained, exported, options, lines, outputs)
        texts = [each.text for each in outputs[: len(source)]]
    else:
        lines = source or [line for line in HARD_LINES if line.strip()]
        options = exported.searches[-1]
        original = [each.text for each in _translator(trained, options).translate(lines)]
        texts = [each.text for each in exported.translate(lines, options)]
        checks += compare_quality(original, texts, target, exported.gates, exported.precision)
    return Findings(checks, _metrics(texts[: len(target)], target))


def _translator(trained: Trained, options: SearchOptions) -> Translator:
    return Translator(
        trained.step_model, trained.run.tokenizers(), options, trained.decoding.max_source
    )


def _forced_pairs(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    """FORCED_SENTENCES pairs; if there are fewer, also lines as their own translations."""
    lines = [line for line in HARD_LINES if line.strip()]
    return list(zip([*source, *lines], [*target, *lines], strict=True))[:FORCED_SENTENCES]


def _compare_log_probs(
    trained: Trained, exported: Exported, pairs: Sequence[tuple[str, str]]
) -> list[Check]:
    """Compare the log-probabilities of reference translations.

    Raises:
        NmtError: one of a float32 export is not within LOGIT_TOLERANCE, or the probabilities of a
            quantized one diverge too much.
    """
    tokenizers = trained.run.tokenizers()
    largest, means, divergences = [], [], []
    for number, (source, target) in enumerate(pairs, start=1):
        (source_ids,) = tokenizers.source.encode([source])
        (target_ids,) = tokenizers.target.encode([target])
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
        if exported.precision == "float32" and not difference.max() <= LOGIT_TOLERANCE:
            position, *token = np.unravel_index(difference.argmax(), difference.shape)
            raise _failure(
                exported,
                f"the log-probability of token {token[0] if token else tokens[position]} at "
                f"position {position} of held-out sentence {number} is off by "
                f"{difference.max():.2g} (at most {LOGIT_TOLERANCE:g} allowed)",
            )
    if not largest:
        return []
    exact, what = exported.precision == "float32", f"({len(largest)} sentences)"
    checks = [
        Check.of("log-probabilities, mean difference", float(np.mean(means))),
        Check.of(
            f"log-probabilities, largest difference {what}",
            max(largest),
            LOGIT_TOLERANCE if exact else None,
        ),
    ]
    if divergences and not exact:
        check = Check.of(
            f"divergence of the probabilities {what}",
            float(np.mean(divergences)),
            exported.gates.divergence,
        )
        if not check.passed:
            raise _failure(
                exported,
                f"its probabilities diverge too much from the trained model's ({check.value:g} "
                f"nats; at most {check.limit:g} allowed)",
            )
        checks.insert(0, check)
    return checks


def given_log_probs(model: StepModel, source: list[int], target: list[int]) -> NDArray[np.float32]:
    """Log-probabilities [T, V] at each position of a given translation and of END.

    Args:
        model: gives them.
        source: ids, framed.
        target: ids, without END.
    """
    steps = forced_steps(
        model, np.array([source], np.int32), np.array([[*target, END_ID]], np.int32)
    )
    return np.concatenate([log_probs for log_probs, _ in steps])


def divergence(expected: NDArray[np.float32], found: NDArray[np.float32]) -> NDArray[np.float32]:
    """Kullback-Leibler divergence (nats) of log-probabilities [T, V] from the expected ones, [T].

    Unlike the differences, it weighs tokens by their probability.
    """
    return (np.exp(expected) * (expected - found)).sum(axis=1)


def _compare_translations(
    trained: Trained,
    exported: Exported,
    options: SearchOptions,
    lines: Sequence[str],
    outputs: Sequence[Output],
) -> list[Check]:
    """Compare translations line by line.

    Lines may differ if their scores are tied. With another search program they may also be cut at
    the length limit differently (ours prefers finished hypotheses there, CTranslate2 high scores),
    and OTHER_SEARCH_MAY_DIFFER of them in any other way.

    Raises:
        NmtError: more lines differ than allowed; shows the first of them.
    """
    translator = _translator(trained, options)
    ties, cut, wrong = 0, 0, []
    for number, (line, ours, theirs) in enumerate(
        zip(lines, translator.translate(lines), outputs, strict=True), start=1
    ):
        if ours.text == theirs.text:
            continue
        if abs(ours.score - theirs.score) <= TIE:
            ties += 1
        elif exported.own_search and is_cut(translator, line, len(ours.ids), theirs.length):
            cut += 1
        else:
            wrong.append(
                f"translates line {number} ({line[:80]!r}) as {theirs.text[:80]!r} (score "
                f"{theirs.score:.4f}), the trained model as {ours.text[:80]!r} ({ours.score:.4f})"
            )
    allowed = int(OTHER_SEARCH_MAY_DIFFER * len(lines)) if exported.own_search else 0
    if len(wrong) > allowed:
        raise _failure(
            exported,
            f"{len(wrong)} of {len(lines)} lines are translated differently at beam "
            f"{options.beam_size} (at most {allowed} allowed); {exported.title} {wrong[0]}",
        )
    beam = f", beam {options.beam_size}" if len(exported.searches) > 1 else ""
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
    lines = f"{len(original):,} lines"
    enough = len(references) >= ENOUGH_FOR_BLEU
    similarity = evaluate(quantized, original)[1].value
    checks = [
        Check.of(
            f"100 - chrF against the trained model's translations, {lines}",
            100 - similarity,
            None if enough else 100 - gates.chrf,
        )
    ]
    if not checks[0].passed:
        raise _refusal(
            precision,
            "translations differ too much from the trained model's (chrF "
            f"{similarity:.1f} on {lines}; at least {gates.chrf:g} required)",
        )
    if not references:
        return checks
    systems = [
        System(name, texts, count(texts, [references], ["BLEU"]))
        for name, texts in (("trained", original), ("quantized", quantized))
    ]
    before, after = compare(systems)
    loss, p = before.score - after.score, after.p or 0.0
    checks.append(Check.of(f"BLEU lost on {lines} (p = {p:.3f})", loss))
    if enough:
        check = Check.of(
            f"BLEU lost beyond chance (p < {SIGNIFICANT:g})",
            loss if p < SIGNIFICANT else 0.0,
            gates.bleu,
        )
        if not check.passed:
            raise _refusal(
                precision,
                f"BLEU falls by {loss:.2f} on {lines}, from {before.score:.2f} to "
                f"{after.score:.2f} (p = {p:.3f}; at most {gates.bleu:g} allowed)",
            )
        checks.append(check)
    return checks


def _failure(exported: Exported, problem: str) -> NmtError:
    if exported.precision != "float32":
        return _refusal(exported.precision, problem)
    return NmtError(f"float32 verification failed: {problem}", REPORT)


def _refusal(precision: str, problem: str) -> NmtError:
    return NmtError(
        f"{precision} verification failed: {problem}",
        "try another --quantize, or export in float32",
    )


def _metrics(texts: list[str], references: list[str]) -> list[dict[str, Any]]:
    """Rows for the manifest; none without references."""
    if not texts:
        return []
    return [
        {
            "set": f"first {len(texts)} held-out pairs",
            "metric": score.name,
            "value": round(score.value, 2),
            "signature": score.signature,
        }
        for score in evaluate(texts, references)
    ]
