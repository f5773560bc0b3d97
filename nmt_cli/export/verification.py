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
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli import __version__
from nmt_cli.bundle.manifest import PASSED, Check, Verification
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.systems import System, compare, count, evaluate
from nmt_cli.export.exporter import FLOAT32, Trained
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.forced import forced_steps
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.translation import Translation
from nmt_cli.search.translator import Translator, translator_for
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


class Exported:
    """An export as verification runs it: through a translator, or through methods of its own.

    Attributes:
        translator: runs the export, with any options.
        precision: how weights are stored.
        gates: of an approximate export.
        searches: options that translations are compared with; of an approximate one the last.
        own_search: whether the format searches with another program.
    """

    translator: Translator
    precision = FLOAT32
    gates = Gates()
    searches: Sequence[SearchOptions]
    own_search = False

    @property
    def approximate(self) -> bool:
        """Whether translations may differ from the trained model's."""
        return self.precision != FLOAT32

    def translate(self, lines: Sequence[str], options: SearchOptions) -> Iterable[Translation]:
        """Translate lines."""
        return replace(self.translator, options=options).translate(lines)

    def log_probs(self, source: list[int], target: list[int]) -> LogProbs | None:
        """Log-probabilities of a given translation; source and target are unframed ids.

        Returns:
            Of every token of the vocabulary at each position, [T, V], or of the translation's own
            tokens, [T], END included; None if the format does not return any.
        """
        framed = self.translator.tokenizers.source.frame_source(source)
        return given_log_probs(self.translator.model, framed, target)


def passed(trained: Trained, checks: Sequence[Check], onnxruntime: str = "") -> Verification:
    """The report of a verification that passed."""
    against = f"the Keras model of {trained.run.recipe.label} at step {trained.steps}"
    return Verification(PASSED, against, tuple(checks), __version__, onnxruntime)


def compare_with_model(
    trained: Trained, exported: Exported
) -> tuple[list[Check], list[dict[str, Any]]]:
    """Compare an export with the model it was made from.

    Returns:
        The checks, all of them passed, and the scores of the export on held-out lines, as a
        manifest records them.

    Raises:
        NmtError: the verification failed.
    """
    exact = not exported.approximate
    most = TRANSLATED_SENTENCES if exact else QUANTIZED_SENTENCES
    source, target = (side[:most] for side in trained.run.held_out())
    checks = _compare_log_probs(trained, exported, source, target)
    lines = [*source, *HARD_LINES] if exact else source or list(filter(str.strip, HARD_LINES))
    for options in exported.searches if exact else exported.searches[-1:]:
        translator = translator_for(trained.step_model, trained.run.tokenizers(), trained.decoding)
        translator = replace(translator, options=options)
        ours, theirs = list(translator.translate(lines)), list(exported.translate(lines, options))
        if exact:
            checks += _compare_translations(exported, translator, lines, ours, theirs)
    texts = [each.text for each in theirs]
    if not exact:
        before = [each.text for each in ours]
        checks += compare_quality(before, texts, target, exported.gates, exported.precision)
    metrics = [
        {
            "set": f"first {len(target)} held-out pairs",
            "metric": score.name,
            "value": round(score.value, 2),
            "signature": score.signature,
        }
        for score in (evaluate(texts[: len(target)], target) if target else [])
    ]
    return checks, metrics


def _compare_log_probs(
    trained: Trained, exported: Exported, source: Sequence[str], target: Sequence[str]
) -> list[Check]:
    """Compare the log-probabilities of FORCED_SENTENCES reference translations.

    If there are fewer, lines are also taken as their own translations.
    """
    tokenizers, exact = trained.run.tokenizers(), exported.precision == FLOAT32
    more = list(filter(str.strip, HARD_LINES))
    sources = tokenizers.source.encode([*source, *more][:FORCED_SENTENCES])
    targets = tokenizers.target.encode([*target, *more][:FORCED_SENTENCES])
    largest, means, divergences = [], [], []
    for source_ids, target_ids in zip(sources, targets, strict=True):
        found = exported.log_probs(source_ids, target_ids)
        if found is None:
            continue
        framed = tokenizers.source.frame_source(source_ids)
        expected = given_log_probs(trained.step_model, framed, target_ids)
        if found.ndim == 1:
            expected = expected[np.arange(len(found)), [*target_ids, END_ID]]
        else:  # unlike the differences, this weighs tokens by their probability
            divergences += (np.exp(expected) * (expected - found)).sum(axis=1).tolist()
        difference = np.abs(expected - found)
        largest.append(float(difference.max()))
        means.append(float(difference.mean()))
    if not largest:
        return []
    sentences, tolerance = f"({len(largest)} sentences)", LOGIT_TOLERANCE if exact else None
    checks = [
        Check.of("log-probabilities, mean difference", float(np.mean(means))),
        Check.of(
            f"log-probabilities, largest difference {sentences}", float(np.max(largest)), tolerance
        ),
    ]
    if divergences and not exact:
        name, mean = f"divergence of the probabilities {sentences}", float(np.mean(divergences))
        checks.insert(0, Check.of(name, mean, exported.gates.divergence))
    for each in checks:
        if not each.passed:
            raise _failure(exported.precision, str(each))
    return checks


def given_log_probs(model: StepModel, source: list[int], target: list[int]) -> LogProbs:
    """Log-probabilities [T, V] at each position of a given translation and of END.

    The source is framed, the target without END.
    """
    pair = np.array([source], np.int32), np.array([[*target, END_ID]], np.int32)
    return np.concatenate([log_probs for log_probs, _ in forced_steps(model, *pair)])


def _compare_translations(
    exported: Exported,
    translator: Translator,
    lines: Sequence[str],
    ours: Sequence[Translation],
    theirs: Sequence[Translation],
) -> list[Check]:
    """Compare translations line by line.

    Lines may differ if their scores are tied. With another search program they may also be cut at
    the length limit differently (ours prefers finished hypotheses there, CTranslate2 high scores),
    and OTHER_SEARCH_MAY_DIFFER of them in any other way.
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
    allowed = int(OTHER_SEARCH_MAY_DIFFER * len(lines)) if exported.own_search else 0
    if len(wrong) > allowed:
        raise _failure(
            FLOAT32,
            f"{len(wrong)} of {len(lines)} lines are translated differently at beam {beam} (at "
            f"most {allowed} allowed); {wrong[0]}",
        )
    at = f", beam {beam}" if len(exported.searches) > 1 else ""
    checks = [
        Check.of(f"lines translated differently, of {len(lines)}{at}", len(wrong), allowed),
        Check.of(f"ties broken differently{at}", ties),
    ]
    if exported.own_search:
        checks.append(Check.of(f"lines cut differently at the length limit{at}", cut))
    return checks


def is_cut(translator: Translator, line: str, *lengths: int) -> bool:
    """Whether a translation of one of these lengths reaches the length limit of its line."""
    (ids,) = translator.tokenizers.source.encode([line])
    limit = translator.options.limit(len(translator.tokenizers.source.frame_source(ids)))
    return max(lengths) >= limit


def compare_quality(
    original: Sequence[str],
    exported: Sequence[str],
    references: Sequence[str],
    gates: Gates,
    precision: str,
) -> list[Check]:
    """Compare the quality of translations by an approximate export with the trained model's.

    Both are compared with reference translations, if there are any.

    Raises:
        NmtError: the loss of BLEU is significant and above its limit; or, for fewer lines than
            ENOUGH_FOR_BLEU, the translations differ too much.
    """
    lines, enough = f"{len(original):,} lines", len(references) >= ENOUGH_FOR_BLEU
    chrf = evaluate(exported, original)[1].value
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
            for name, texts in (("trained", original), ("exported", exported))
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
    hint = "try another --quantize, or export without it and --shortlist"
    if precision == FLOAT32:
        hint = "please report this with the recipe"
    return NmtError(f"{precision} verification failed: {problem}", hint)
