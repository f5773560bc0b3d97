"""Write a bundle, and compare one with the run it was made from."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from nmt_cli.bundle import COLUMNS, MANIFEST, SHORTLIST, TOKENIZER
from nmt_cli.bundle.card import bundle_card
from nmt_cli.bundle.manifest import Check, Manifest, Shortlist, Verification, require_passed
from nmt_cli.bundle.reading import TOKEN_IDS, file_records, read_manifest
from nmt_cli.data.lexicon import sample, shortlist_tables
from nmt_cli.data.prepared import Prepared, TokenArray
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.export.alignment import alignment_heads
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.onnx.graphs import write_graphs
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model
from nmt_cli.files import locked, replacing_folder
from nmt_cli.host import without_warnings
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import Bundle
from nmt_cli.runtime.step_model import Shortlists
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.training.run import Run

logger = logging.getLogger(__name__)

CALIBRATION_PAIRS = 64
# Ids of a sentence's shortlist, and translations of each source token to choose them from.
SHORTLIST_SIZE, TRANSLATIONS = 384, 100
GATES = {
    "int8": Gates(bleu=0.2, chrf=80, divergence=0.05),
    "float16": Gates(bleu=0.1, chrf=95, divergence=0.005),
}
# BLEU that shortlists may lose in addition, and their chrF.
SHORTLIST_BLEU, SHORTLIST_CHRF = 0.3, 80


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write a bundle, unverified; a shortlist needs the data that the run was trained on."""
    run, recipe = trained.run, trained.run.recipe
    shortlists = _shortlists(trained, options.prepared) if options.shortlist else None
    graphs, stored = write_graphs(
        trained.step_model.graph,
        folder,
        options.precision,
        attention=options.attention,
        pairs=calibration_pairs(trained),
        shortlist=shortlists.size if shortlists else 0,
        given=run.quantization,
    )
    pairs = trained.encoded(*trained.held_out) if options.attention else []
    short = None
    if shortlists:
        shortlists.write(folder)
        columns, step = graphs.pop(COLUMNS), graphs.pop(SHORTLIST)
        short = Shortlist(shortlists.size, TRANSLATIONS, columns, step)
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)
    # The fields of the graphs have the names of their files.
    by_role: dict[str, Any] = {Path(file).stem: spec for file, spec in graphs.items()}
    manifest = Manifest(
        name=recipe.label,
        source_language=recipe.data.source,
        target_language=recipe.data.target,
        architecture=recipe.model,
        decoding=trained.decoding,
        vocabulary={"source": run.source_vocab, "target": run.target_vocab},
        token_ids=dict(TOKEN_IDS),
        alignment_heads=alignment_heads(trained.step_model, pairs),
        shortlist=short,
        stored_weights=stored,
        files={},
        precision=options.precision,
        provenance=trained.provenance,
        **by_role,
    )
    _write_manifest(folder, manifest)


def training_sample(trained: TrainedModel, folder: Path | None) -> tuple[TokenArray, TokenArray]:
    """Return a sample of the data that a run was trained on; None: from prepared/NAME."""
    run = trained.run
    folder = folder or Path("prepared", run.recipe.label)
    hint = "name its folder with `prepared`, or run nmt prepare"
    try:
        prepared = Prepared.open(folder)
    except NmtError as error:
        raise ModelError(f"`shortlist`: {error.message}", hint) from None
    if prepared.key != run.prepared_key:
        raise ModelError(
            f"`shortlist`: {folder} is not the data that {run.folder} was trained on", hint
        )
    return sample(*prepared.arrays("train"))


def _shortlists(trained: TrainedModel, folder: Path | None) -> Shortlists:
    run, (source, target) = trained.run, training_sample(trained, folder)
    size = min(SHORTLIST_SIZE, run.target_vocab)
    tables = shortlist_tables(source, target, trained.tokenizers, size, TRANSLATIONS)
    return Shortlists(*tables, run.target_vocab)


def calibration_pairs(trained: TrainedModel) -> list[tuple[list[int], list[int]]]:
    """Return the ids of the last held-out pairs: verification compares the first ones."""
    return trained.encoded(*(side[-CALIBRATION_PAIRS:] for side in trained.held_out))


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a new bundle with its model, and write the report into it."""
    manifest = _verified(trained, folder)
    _write_manifest(folder, manifest)
    return manifest.verification


def verify_against_run(run: Run, options: ExportOptions, folder: Path) -> Verification:
    """Compare a bundle with the run it was made from, as its export would.

    A bundle that was exported without verification gets its report.
    """
    before, trained = read_manifest(folder), TrainedModel.open(run, options)
    trained = replace(trained, decoding=before.decoding)
    steps = before.provenance.get("steps")
    if steps != trained.steps:
        raise ModelError(
            f"{folder}: was made at step {steps}, but the weights are from step {trained.steps}",
            "name the weights that it was made from with `checkpoint`",
        )
    tokenizers = {
        f"{TOKENIZER}/{name}": record
        for name, record in file_records(trained.tokenizer_folder).items()
    }
    if before.architecture != run.recipe.model or not tokenizers.items() <= before.files.items():
        raise ModelError(
            f"{folder}: was not made from {run.folder} (different architecture or tokenizer)",
            "name the run that it was made from with `run`",
        )
    logger.info("verifying against the trained model")
    unverified = before.verification.outcome != "passed"
    with locked(folder, shared=not unverified):
        manifest = _verified(trained, folder)
        if unverified:
            with replacing_folder(folder, MANIFEST) as work:
                shutil.copytree(folder, work, dirs_exist_ok=True)
                _write_manifest(work, manifest)
    return manifest.verification


@without_warnings()
def _verified(trained: TrainedModel, folder: Path) -> Manifest:
    bundle = Bundle(folder)
    manifest, checks = bundle.manifest, check_bundle(bundle)
    require_passed(checks, f"{manifest.name} in {manifest.precision}", "please report this")
    gates = GATES.get(manifest.precision)
    if manifest.shortlist:
        gates = gates or Gates()
        chrf = min(gates.chrf, SHORTLIST_CHRF)
        gates = replace(gates, bleu=gates.bleu + SHORTLIST_BLEU, chrf=chrf)
    exported = ExportUnderTest.of(
        translator_for(bundle.model, bundle.tokenizers, manifest.decoding),
        # The models are compared: a second search makes more of small differences.
        searches=[DecodingOptions(no_repeat_ngram=0)],
        precision=manifest.precision,
        gates=gates,
    )
    comparison, metrics = compare_with_model(trained, exported)
    checks += comparison
    if manifest.shortlist:
        checks.append(_missing(trained, Shortlists.read(folder, manifest)))
    report = trained.passed(checks, onnxruntime.__version__)
    return replace(manifest, verification=report, metrics=metrics)


def _missing(trained: TrainedModel, shortlists: Shortlists) -> Check:
    """Count the tokens of the held-out translations that their shortlists lack."""
    missing, tokens = 0, 0
    for source, target in trained.encoded(*trained.held_out):
        missing += int((~np.isin(target, shortlists.of(np.array([source], np.int32)))).sum())
        tokens += len(target)
    name = f"percentage of {tokens:,} tokens in references that their shortlists lack"
    return Check.of(name, 100 * missing / max(1, tokens))


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the card and the manifest, with the hashes of all files."""
    (folder / "MODEL_CARD.md").write_text(bundle_card(manifest), encoding="utf-8")
    replace(manifest, files=file_records(folder)).write(folder)
