"""``nmt export --onnx``: a run to a verified bundle."""

import shutil
from collections.abc import Callable
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle.card import model_card
from nmt_cli.bundle.manifest import (
    MANIFEST,
    TOKENIZER,
    GraphSpec,
    Manifest,
    file_records,
)
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.export.onnx_graphs import write_graphs
from nmt_cli.export.verify import (
    FORCED_SENTENCES,
    HARD_LINES,
    TRANSLATED_SENTENCES,
    compare_logits,
    compare_translators,
)
from nmt_cli.files import replacing_folder
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe import DecodingConfig
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.beam import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from nmt_cli.training.run import Run
from nmt_cli.training.train import trained_model


def export_onnx(
    run: Run,
    checkpoint: Path,
    decoding: DecodingConfig,
    folder: Path,
    say: Callable[[str], None] = print,
) -> Manifest:
    """Write, verify and put in place the bundle of a run.

    Args:
        run: what was trained.
        checkpoint: which of its weights.
        decoding: the bundle's own defaults for search.
        folder: where to; an older bundle there is replaced once all went well.
        say: receives lines for people.

    Raises:
        NmtError: the run is damaged, a graph cannot be converted, the verification fails,
            or the folder cannot be written.
    """
    model, progress = trained_model(run, checkpoint)
    with replacing_folder(folder, MANIFEST) as work:
        say("converting the encoder and the decoder step")
        encoder, decoder = write_graphs(StepGraph(model), work)
        shutil.copytree(run.folder / "tokenizer", work / TOKENIZER)
        manifest = _manifest(run, encoder, decoder, decoding, progress.step)
        say("verifying against the trained model")
        _verify(run, KerasStepModel(model), OnnxStepModel(work, manifest), manifest)
        (work / "MODEL_CARD.md").write_text(model_card(manifest), encoding="utf-8")
        manifest.files.update(file_records(work))
        manifest.write(work)
    for key, value in manifest.verification.items():
        say(f"  {key}: {value}")
    return manifest


def _manifest(
    run: Run, encoder: GraphSpec, decoder: GraphSpec, decoding: DecodingConfig, steps: int
) -> Manifest:
    recipe = run.recipe
    return Manifest(
        name=recipe.label,
        source_language=recipe.data.source,
        target_language=recipe.data.target,
        architecture=recipe.model,
        decoding=decoding,
        vocabulary={"source": run.source_vocab, "target": run.target_vocab},
        token_ids={"pad": PAD_ID, "unk": UNK_ID, "start": START_ID, "end": END_ID},
        encoder=encoder,
        decoder=decoder,
        files={},
        provenance={
            "nmt_version": __version__,
            "steps": steps,
            "corpora": list(recipe.data.train),
            "seed": recipe.seed,
        },
    )


def _verify(
    run: Run, original: KerasStepModel, exported: OnnxStepModel, manifest: Manifest
) -> None:
    """Run all comparisons; writes their outcome and the scores into the manifest."""
    tokenizers = run.tokenizers()
    source, target = run.held_out()
    source, target = source[:TRANSLATED_SENTENCES], target[:TRANSLATED_SENTENCES]
    pairs = list(zip(source, target, strict=True))[:FORCED_SENTENCES]
    largest = compare_logits(original, exported, tokenizers, pairs)
    options = SearchOptions.of(manifest.decoding)
    ours, theirs = (
        Translator(model, tokenizers, options, manifest.decoding.max_source)
        for model in (original, exported)
    )
    comparison, translations = compare_translators(
        [*source, *HARD_LINES], ours, theirs, what="the ONNX bundle"
    )
    manifest.verification.update(
        {
            "log-probabilities, largest difference": float(f"{largest:.3g}"),
            "sentences with forced translations": len(pairs),
            "sentences translated alike": comparison.sentences - comparison.ties,
            "ties broken otherwise": comparison.ties,
        }
    )
    if not source:
        return
    texts = [each.text for each in translations[: len(source)]]
    manifest.metrics.extend(
        {
            "set": f"first {len(source)} held-out pairs",
            "metric": score.name,
            "value": round(score.value, 2),
            "signature": score.signature,
        }
        for score in evaluate(texts, target)
    )
