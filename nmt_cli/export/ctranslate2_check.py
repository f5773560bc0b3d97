"""A CTranslate2 model held to the trained one: scores, translations, BLEU of quantized weights."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.export.verify import FORCED_SENTENCES, LOGIT_TOLERANCE, TRANSLATED_SENTENCES
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.runtime.ctranslate2_translator import CTranslate2Translator, load_ctranslate2
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text.tokenizer import END_ID, START_ID
from nmt_cli.training.run import Run

# Share of sentences that must be translated like the trained model, or tied, or cut at their
# limit. The searches are two programs: where finished hypotheses leave ours a narrower beam,
# theirs stays wide; and at the limit ours prefers what is finished, theirs what scores best.
LEAST_ALIKE = 0.97
# BLEU and chrF that quantized weights may cost on the held-out lines.
MOST_LOST = 1.0
# Of one search: several wait for each other at every product where other work takes a core.
VERIFIED_THREADS = 1


def verify_exact(
    run: Run, original: KerasStepModel, decoding: DecodingConfig, folder: Path
) -> dict[str, int | float]:
    """Hold the float32 model to the trained one's log-probabilities and translations.

    Args:
        run: where the model comes from, and its held-out lines.
        original: the trained model.
        decoding: of the export.
        folder: of the CTranslate2 model.

    Returns:
        What was compared, and how it came out.

    Raises:
        NmtError: they differ by more than rounding explains.
    """
    source, target = run.held_out()
    source, target = source[:TRANSLATED_SENTENCES], target[:TRANSLATED_SENTENCES]
    pairs = list(zip(source, target, strict=True))[:FORCED_SENTENCES]
    report: dict[str, int | float] = {
        "log-probabilities, largest difference": compare_scores(
            original, _load(folder, decoding.beam_size), pairs
        ),
        "sentences with forced translations": len(pairs),
    }
    lines = [*source, *HARD_LINES]
    for beam_size in (1, 4):
        options = SearchOptions.of(
            decoding, DecodingOptions(beam_size=beam_size, length_penalty=0.0)
        )
        ours = Translator(original, run.tokenizers(), options, decoding.max_source)
        counts = _compare(lines, ours, _load(folder, beam_size))
        report.update({f"{key}, beam {beam_size}": count for key, count in counts.items()})
    return report


def _load(folder: Path, beam_size: int) -> CTranslate2Translator:
    """Without a length penalty, as CTranslate2's is another formula than ours."""
    return load_ctranslate2(
        folder,
        DecodingOptions(beam_size=beam_size, length_penalty=0.0),
        intra_threads=VERIFIED_THREADS,
    )


def compare_scores(
    original: KerasStepModel, exported: CTranslate2Translator, pairs: Sequence[tuple[str, str]]
) -> float:
    """Force reference translations through both models.

    Returns:
        The largest difference of two log-probabilities of the translations' own tokens.

    Raises:
        NmtError: it is beyond the tolerance; names sentence and position.
    """
    tokenizers = exported.tokenizers
    largest = 0.0
    for number, (source, target) in enumerate(pairs, start=1):
        (source_ids,), (target_ids,) = (
            tokenizers.source.encode([source]),
            tokenizers.target.encode([target]),
        )
        if not source_ids:  # CTranslate2 does not read what has no token
            continue
        (result,) = exported.model.score_batch(
            [tokenizers.source.tokens(source_ids)],
            [tokenizers.target.tokens(target_ids)],
            max_input_length=0,
        )
        expected = _forced(original, tokenizers.source.frame_source(source_ids), target_ids)
        differences = np.abs(expected - np.array(result.log_probs))
        largest = max(largest, float(differences.max()))
        if not differences.max() <= LOGIT_TOLERANCE:
            raise NmtError(
                f"verification failed: held-out sentence {number}, position "
                f"{int(differences.argmax())}: the log-probability of the reference's token is "
                f"off by {differences.max():.2g} (at most {LOGIT_TOLERANCE:g} allowed)",
                "please report this with the recipe; nothing was exported",
            )
    return float(f"{largest:.3g}")


def _forced(model: KerasStepModel, source: list[int], target: list[int]) -> NDArray[np.float64]:
    """Log-probabilities of a translation's tokens and of END behind them."""
    state = model.encode(np.array([source], np.int32))
    found = []
    for position, (last, token) in enumerate(
        zip([START_ID, *target], [*target, END_ID], strict=True)
    ):
        ancestry = np.ones((1, 1, position + 1), np.bool_)
        log_probs, state = model.log_probs(state, np.array([[last]], np.int32), ancestry)
        found.append(float(log_probs[0, 0, token]))
    return np.array(found)


def _compare(lines: Sequence[str], ours: Translator, theirs: Translator) -> dict[str, int]:
    """How many lines are translated alike, and how many of the others why not.

    Raises:
        NmtError: too few are; shows the first that differs.
    """
    pairs = list(zip(lines, ours.translate(lines), theirs.translate(lines), strict=True))
    differing = [each for each in pairs if each[1].text != each[2].text]
    untied = [each for each in differing if abs(each[1].score - each[2].score) > TIE]
    wrong = [each for each in untied if not is_cut(ours, *each)]
    if len(wrong) > (1 - LEAST_ALIKE) * len(lines):
        line, expected, found = wrong[0]
        raise NmtError(
            f"verification failed: at beam {ours.options.beam_size} CTranslate2 translates "
            f"{len(wrong)} of {len(lines)} held-out lines otherwise, such as {line[:80]!r} as "
            f"{found.text[:80]!r} (score {found.score:.4f}), the trained model as "
            f"{expected.text[:80]!r} ({expected.score:.4f})",
            "please report this with the recipe; nothing was exported",
        )
    return {
        "sentences translated alike": len(lines) - len(differing),
        "ties broken otherwise": len(differing) - len(untied),
        "cut at their limit otherwise": len(untied) - len(wrong),
        "translated otherwise": len(wrong),
    }


def is_cut(translator: Translator, line: str, *translations: Translation) -> bool:
    """Whether one of a line's translations is as long as may be; such have no END."""
    (ids,) = translator.tokenizers.source.encode([line])
    limit = translator.options.limit(len(translator.tokenizers.source.frame_source(ids)))
    return any(len(each.ids) >= limit for each in translations)


def translate_held_out(run: Run, folder: Path) -> list[str]:
    """The run's held-out lines as the CTranslate2 model translates them."""
    return [each.text for each in _load(folder, 4).translate(run.held_out()[0])]


def compare_quantized(
    run: Run, exact: Sequence[str], quantized: Sequence[str]
) -> dict[str, int | float]:
    """Hold the scores of translations with quantized weights to those with float32.

    Raises:
        NmtError: they lose too much.
    """
    same = sum(left == right for left, right in zip(exact, quantized, strict=True))
    report: dict[str, int | float] = {
        "sentences translated with quantized weights": len(exact),
        "of them as in float32": same,
    }
    if not exact:
        return report
    references = run.held_out()[1]
    for before, after in zip(
        evaluate(exact, references), evaluate(quantized, references), strict=True
    ):
        if before.value - after.value > MOST_LOST:
            raise NmtError(
                f"verification failed: quantized weights score {after.value:.1f} {before.name} "
                f"on the held-out lines, float32 {before.value:.1f}",
                "export without --quantize, or with another kind",
            )
        report[f"{before.name} in float32"] = round(before.value, 2)
        report[f"{after.name} with quantized weights"] = round(after.value, 2)
    return report
