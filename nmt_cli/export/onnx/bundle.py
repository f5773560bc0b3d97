"""Writing a bundle, and comparing one with the run it was made from."""

import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime

from nmt_cli.bundle import (
    APPEND,
    ATTENTION,
    COLUMNS,
    DECODER,
    ENCODER,
    MANIFEST,
    SELF_ATTENTION,
    SHORTLIST,
    TOKENIZER,
)
from nmt_cli.bundle.card import bundle_card
from nmt_cli.bundle.manifest import PASSED, Check, Manifest, Shortlist, Verification, require_passed
from nmt_cli.bundle.reading import TOKEN_IDS, file_records, read_manifest
from nmt_cli.data.lexicon import sample, shortlist_tables
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import FLOAT32, ExportOptions
from nmt_cli.export.onnx.graphs import write_graphs
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model, passed
from nmt_cli.files import locked, replacing_folder
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import Bundle
from nmt_cli.runtime.shortlist import Shortlists
from nmt_cli.search.options import DecodingOptions, SearchOptions
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
    """Write a bundle, unverified.

    Raises:
        NmtError: a shortlist needs the data that the run was trained on, and it is missing.
    """
    run, recipe = trained.run, trained.run.recipe
    shortlists = _shortlists(run, options.prepared) if options.shortlist else None
    graphs, stored = write_graphs(
        trained.step_model.graph,
        folder,
        options.precision,
        attention=options.attention,
        pairs=calibration_pairs(run),
        shortlist=shortlists.size if shortlists else 0,
    )
    short = None
    if shortlists:
        shortlists.write(folder)
        short = Shortlist(shortlists.size, TRANSLATIONS, graphs[COLUMNS], graphs[SHORTLIST])
    shutil.copytree(run.folder / "tokenizer", folder / TOKENIZER)
    manifest = Manifest(
        name=recipe.label,
        source_language=recipe.data.source,
        target_language=recipe.data.target,
        architecture=recipe.model,
        decoding=trained.decoding,
        vocabulary={"source": run.source_vocab, "target": run.target_vocab},
        token_ids=dict(TOKEN_IDS),
        encoder=graphs[ENCODER],
        decoder=graphs[DECODER],
        append=graphs[APPEND],
        attention=graphs.get(ATTENTION),
        self_attention=graphs.get(SELF_ATTENTION),
        shortlist=short,
        stored_weights=stored,
        files={},
        precision=options.precision,
        provenance=trained.provenance,
    )
    _write_manifest(folder, manifest)


def _shortlists(run: Run, folder: Path | None) -> Shortlists:
    """Learn the vocabulary shortlists of a run from the data that it was trained on."""
    folder = folder or Path("prepared", run.recipe.label)
    hint = "name its folder with `prepared`, or run nmt prepare"
    try:
        prepared = Prepared.open(folder)
    except NmtError as error:
        raise NmtError(f"`shortlist`: {error.message}", hint) from None
    if prepared.key != run.prepared_key:
        raise NmtError(
            f"`shortlist`: {folder} is not the data that {run.folder} was trained on", hint
        )
    source, target = sample(*prepared.arrays("train"))
    size = min(SHORTLIST_SIZE, run.target_vocab)
    tables = shortlist_tables(source, target, run.tokenizers(), size, TRANSLATIONS)
    return Shortlists(*tables, run.target_vocab)


def calibration_pairs(run: Run) -> Iterator[tuple[list[int], list[int]]]:
    """Ids of held-out pairs, the last ones: verification compares the first ones."""
    tokenizers = run.tokenizers()
    source, target = (side[-CALIBRATION_PAIRS:] for side in run.held_out())
    for one, other in zip(
        tokenizers.source.encode(source), tokenizers.target.encode(target), strict=True
    ):
        yield tokenizers.source.with_special_tokens(one), other


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a new bundle with its model, and write the report into it."""
    manifest = _verified(trained, folder)
    _write_manifest(folder, manifest)
    return manifest.verification


def verify_against_run(run: Run, options: ExportOptions, folder: Path) -> Verification:
    """Compare a bundle with the run it was made from, as its export would.

    A bundle that was exported without verification gets its report.

    Raises:
        NmtError: the bundle is damaged, was made from another model, or fails the verification.
    """
    before, trained = read_manifest(folder), TrainedModel.open(run, options)
    steps = before.provenance.get("steps")
    if steps != trained.steps:
        raise NmtError(
            f"{folder}: was made at step {steps}, but the weights are from step {trained.steps}",
            "give the weights it was made from with `checkpoint`",
        )
    tokenizers = {
        f"{TOKENIZER}/{name}": record
        for name, record in file_records(run.folder / "tokenizer").items()
    }
    if before.architecture != run.recipe.model or not tokenizers.items() <= before.files.items():
        raise NmtError(
            f"{folder}: was not made from {run.folder} (different architecture or tokenizer)",
            "give its own run with `run`",
        )
    logger.info("verifying against the trained model")
    unverified = before.verification.outcome != PASSED
    with locked(folder, shared=not unverified):
        manifest = _verified(trained, folder)
        if unverified:
            with replacing_folder(folder, MANIFEST) as work:
                shutil.copytree(folder, work, dirs_exist_ok=True)
                _write_manifest(work, manifest)
    return manifest.verification


def _verified(trained: TrainedModel, folder: Path) -> Manifest:
    """The bundle's manifest with the report of a new verification."""
    bundle = Bundle(folder)
    manifest, checks = bundle.manifest, check_bundle(bundle)
    require_passed(checks, f"{manifest.name} in {manifest.precision}", "please report this")
    found, metrics = compare_with_model(trained, _under_test(bundle))
    if manifest.shortlist:
        found.append(_missing(trained.run, Shortlists.read(folder, manifest)))
    report = passed(trained, [*checks, *found], onnxruntime.__version__)
    return replace(manifest, verification=report, metrics=metrics)


def _missing(run: Run, shortlists: Shortlists) -> Check:
    """How many tokens of the held-out translations their shortlists lack, for information."""
    tokenizers, (source, target) = run.tokenizers(), run.held_out()
    missing, tokens = 0, 0
    for one, other in zip(
        tokenizers.source.encode(source), tokenizers.target.encode(target), strict=True
    ):
        framed = np.array([tokenizers.source.with_special_tokens(one)], np.int32)
        missing += int((~np.isin(other, shortlists.of(framed))).sum())
        tokens += len(other)
    name = f"percentage of {tokens:,} tokens in references that their shortlists lack"
    return Check.of(name, 100 * missing / max(1, tokens))


def _under_test(bundle: Bundle) -> ExportUnderTest:
    manifest = bundle.manifest
    gates = GATES.get(manifest.precision, Gates())
    if manifest.shortlist:
        chrf = min(gates.chrf, SHORTLIST_CHRF)
        gates = replace(gates, bleu=gates.bleu + SHORTLIST_BLEU, chrf=chrf)
    # The models are compared: a second search makes more of small differences.
    once = DecodingOptions(no_repeat_ngram=0)
    return ExportUnderTest.of_model(
        translator_for(bundle.model, bundle.tokenizers, manifest.decoding),
        [SearchOptions.of(manifest.decoding, once)],
        precision=manifest.precision,
        gates=gates,
        approximate=manifest.precision != FLOAT32 or manifest.shortlist is not None,
    )


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the card and the manifest, with the hashes of all files."""
    (folder / "MODEL_CARD.md").write_text(bundle_card(manifest), encoding="utf-8")
    replace(manifest, files=file_records(folder)).write(folder)
