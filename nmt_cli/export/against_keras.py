"""A bundle against the trained model it came from: the verification report.

What is asked depends on the precision.

float32 computes what Keras computes: every log-probability within LOGIT_TOLERANCE, and every
translation the same, but for ties.

int8 and float16 compute something near it, which two gates hold. The divergence of the
probabilities, over forced translations, tells a graph that is broken (a wrong mask, scale or
position: 0.1 nats and far more) from one that rounds (int8: below 0.005, measured). What
rounding costs is then measured where it matters, on the run's held-out lines, up to 500,
which the Keras model itself and the bundle translate:

- 200 lines or more: the bundle may lose 0.2 BLEU as int8, 0.1 as float16. What it gains is
  not held against it.
- Fewer: BLEU's own noise is then wider than that, and the loss is told for information. The
  gate is chrF of the bundle's translations with those of Keras as the reference, whose noise
  does not contain that of the references: at most 20 below 100 as int8 (2.6 to 4.7,
  measured), and 5 as float16.

Keras is the reference rather than a float32 bundle: it takes no longer on two cores (22 s
against 20 s for 500 lines), and is what the claim is about.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

from nmt_cli import __version__
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.report import PASSED, Check, Verification, require_passed
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.export.verify import (
    LOGIT_TOLERANCE,
    TRANSLATED_SENTENCES,
    compare_logits,
    compare_translators,
    forced_pairs,
)
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.runtime.check import HARD_LINES, check_bundle
from nmt_cli.runtime.load import open_bundle
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training.run import Run

MOST_SENTENCES = 500
ENOUGH_FOR_BLEU = 200
REPORT_IT = "please report this with the recipe"
CHOOSE = "try another --quantize, or --no-verify to have it all the same"


@dataclass(frozen=True)
class Gates:
    """What a rounded graph may differ by."""

    divergence: float
    bleu: float
    chrf: float


GATES = {"int8": Gates(0.05, 0.2, 20.0), "float16": Gates(0.005, 0.1, 5.0)}


@dataclass(frozen=True)
class Findings:
    """What a comparison gives: the report, and the bundle's own scores for its manifest."""

    verification: Verification
    metrics: list[dict[str, Any]]


@dataclass(frozen=True)
class _Sides:
    """Both models as they are compared, and the run's held-out lines."""

    keras: KerasStepModel
    onnx: OnnxStepModel
    original: Translator
    exported: Translator
    source: list[str]
    target: list[str]


def verify_against(
    run: Run, original: KerasStepModel, folder: Path, manifest: Manifest
) -> Findings:
    """Check a bundle by itself, then against the model that it was made of.

    Args:
        run: that model's run.
        original: the model.
        folder: of the bundle, its manifest written.
        manifest: what stands in it.

    Raises:
        NmtError: a check failed; names it.
    """
    bundle = open_bundle(folder)
    checks = check_bundle(bundle)
    what = f"{manifest.name} in {manifest.precision}"
    require_passed(checks, what, REPORT_IT)
    tokenizers, options = run.tokenizers(), SearchOptions.of(manifest.decoding)
    exported = bundle.model
    ours, theirs = (
        Translator(model, tokenizers, options, manifest.decoding.max_source)
        for model in (original, exported)
    )
    sides = _Sides(original, exported, ours, theirs, *run.held_out())
    compare = _compare_same if manifest.precision == "float32" else _compare_near
    found, metrics = compare(sides, manifest.precision)
    require_passed(found, what, CHOOSE)
    report = Verification(
        PASSED,
        f"the Keras model of {manifest.name} at step {manifest.provenance.get('steps', '?')}",
        (*checks, *found),
        __version__,
        onnxruntime.__version__,
    )
    return Findings(report, metrics)


def _compare_same(sides: _Sides, precision: str) -> tuple[list[Check], list[dict[str, Any]]]:
    """A bundle that computes what the model computes."""
    source, target = sides.source[:TRANSLATED_SENTENCES], sides.target[:TRANSLATED_SENTENCES]
    pairs = forced_pairs(list(zip(source, target, strict=True)))
    distance = compare_logits(sides.keras, sides.onnx, sides.original.tokenizers, pairs)
    comparison, translations = compare_translators(
        [*source, *HARD_LINES], sides.original, sides.exported, what="the ONNX bundle"
    )
    checks = [
        Check.of(
            f"log-probabilities, largest difference ({len(pairs)} sentences)",
            distance.largest,
            LOGIT_TOLERANCE,
        ),
        Check.of(f"lines translated otherwise, of {comparison.sentences}", 0, 0),
        Check.of("ties broken otherwise", comparison.ties),
    ]
    return checks, _metrics([each.text for each in translations][: len(source)], target)


def _compare_near(sides: _Sides, precision: str) -> tuple[list[Check], list[dict[str, Any]]]:
    """A bundle that rounds; see above for its gates."""
    source, target = sides.source[:MOST_SENTENCES], sides.target[:MOST_SENTENCES]
    gates = GATES[precision]
    pairs = forced_pairs(list(zip(source, target, strict=True)))
    distance = compare_logits(
        sides.keras,
        sides.onnx,
        sides.original.tokenizers,
        pairs,
        tolerance=float("inf"),
    )
    checks = [
        Check.of(
            f"divergence of the probabilities ({len(pairs)} sentences)",
            distance.divergence,
            gates.divergence,
        ),
        Check.of("log-probabilities, mean difference", distance.mean),
        Check.of("log-probabilities, largest difference", distance.largest),
    ]
    lines = source or [line for line in HARD_LINES if line.strip()]
    ours, theirs = (
        [each.text for each in side.translate(lines)] for side in (sides.original, sides.exported)
    )
    enough = len(source) >= ENOUGH_FOR_BLEU
    if source:
        loss = evaluate(ours, target)[0].value - evaluate(theirs, target)[0].value
        checks.append(
            Check.of(f"BLEU lost on {len(lines)} lines", loss, gates.bleu if enough else None)
        )
    unlike = 100 - evaluate(theirs, ours)[1].value
    checks.append(
        Check.of(
            f"chrF of the translations with Keras', distance to 100, on {len(lines)} lines",
            unlike,
            None if enough else gates.chrf,
        )
    )
    return checks, _metrics(theirs[: len(source)], target)


def _metrics(texts: list[str], references: list[str]) -> list[dict[str, Any]]:
    """Rows of the manifest; none without references."""
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
