"""``nmt export --onnx``: a run to a verified bundle; ``nmt verify --run``: the same later."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle.card import model_card
from nmt_cli.bundle.hashes import file_record, file_records
from nmt_cli.bundle.manifest import (
    APPEND,
    ATTENTION,
    DECODER,
    ENCODER,
    MANIFEST,
    TOKENIZER,
    GraphSpec,
    Manifest,
)
from nmt_cli.bundle.reading import TOKEN_IDS, read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.errors import NmtError
from nmt_cli.export.against_keras import Findings, verify_against
from nmt_cli.export.onnx_graphs import write_graphs
from nmt_cli.files import replacing_folder
from nmt_cli.model.build import step_graph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

CARD = "MODEL_CARD.md"


def export_onnx(
    run: Run,
    checkpoint: Path,
    decoding: DecodingConfig,
    folder: Path,
    say: Callable[[str], None] = print,
    precision: str = "float32",
    verify: bool = True,
    attention: bool = False,
) -> Manifest:
    """Write, verify and put in place the bundle of a run.

    Args:
        run: what was trained.
        checkpoint: which of its weights.
        decoding: the bundle's own defaults for search.
        folder: where to; an older bundle there is replaced once all went well.
        say: receives lines for people.
        precision: one of nmt_cli.bundle.manifest.PRECISIONS.
        verify: compare it with the model; a bundle that was not says so at each use.
        attention: let the bundle tell what it looks at.

    Raises:
        NmtError: the run is damaged, a graph cannot be converted, the verification fails,
            or the folder cannot be written.
    """
    model, progress = trained_model(run, checkpoint)
    with replacing_folder(folder, MANIFEST) as work:
        say("converting the encoder and the decoder step")
        graphs = write_graphs(step_graph(model), work, precision, attention=attention)
        shutil.copytree(run.folder / "tokenizer", work / TOKENIZER)
        manifest = _manifest(run, graphs, decoding, progress.step, precision)
        manifest = _finished(work, manifest)
        if verify:
            say("verifying against the trained model")
            findings = verify_against(run, KerasStepModel(model), work, manifest)
            manifest = _finished(work, _with(manifest, findings))
    for line in manifest.verification.lines():
        say(f"  {line}")
    return manifest


def verify_bundle(
    run: Run,
    checkpoint: Path,
    folder: Path,
    say: Callable[[str], None] = print,
) -> Findings:
    """Compare a bundle with the run it was made of, as its export would have.

    A bundle that was exported without verification is given the report that it lacks.

    Raises:
        NmtError: it is not of this run and checkpoint, or the verification fails.
    """
    manifest = read_manifest(folder)
    model, progress = trained_model(run, checkpoint)
    _check_origin(run, checkpoint, progress.step, folder, manifest)
    say("verifying against the trained model")
    findings = verify_against(run, KerasStepModel(model), folder, manifest)
    if manifest.verification.outcome != PASSED:
        with replacing_folder(folder, MANIFEST) as work:
            shutil.copytree(folder, work, dirs_exist_ok=True)
            _finished(work, _with(manifest, findings))
    return findings


def _check_origin(run: Run, checkpoint: Path, steps: int, folder: Path, manifest: Manifest) -> None:
    made_at = manifest.provenance.get("steps")
    if made_at != steps:
        raise NmtError(
            f"{folder}: was made at step {made_at}, {checkpoint} is of step {steps}",
            "name the weights it was made of with --checkpoint",
        )
    same = manifest.architecture == run.recipe.model and manifest.vocabulary == {
        "source": run.source_vocab,
        "target": run.target_vocab,
    }
    tokenizers = {
        f"{TOKENIZER}/{path.name}": file_record(path)
        for path in (run.folder / "tokenizer").iterdir()
    }
    if not same or not tokenizers.items() <= manifest.files.items():
        raise NmtError(
            f"{folder}: was not made of {run.folder} (another architecture or tokenizer)",
            "name its own run with --run",
        )


def _with(manifest: Manifest, findings: Findings) -> Manifest:
    return replace(manifest, verification=findings.verification, metrics=findings.metrics)


def _finished(folder: Path, manifest: Manifest) -> Manifest:
    """Write card, hashes and manifest; returns it as it reads back, its values checked."""
    (folder / CARD).write_text(model_card(manifest), encoding="utf-8")
    replace(manifest, files=file_records(folder)).write(folder)
    return read_manifest(folder)


def _manifest(
    run: Run,
    graphs: dict[str, GraphSpec],
    decoding: DecodingConfig,
    steps: int,
    precision: str,
) -> Manifest:
    recipe = run.recipe
    return Manifest(
        name=recipe.label,
        source_language=recipe.data.source,
        target_language=recipe.data.target,
        architecture=recipe.model,
        decoding=decoding,
        vocabulary={"source": run.source_vocab, "target": run.target_vocab},
        token_ids=dict(TOKEN_IDS),
        encoder=graphs[ENCODER],
        decoder=graphs[DECODER],
        append=graphs[APPEND],
        attention=graphs.get(ATTENTION),
        files={},
        precision=precision,
        provenance={
            "nmt_version": __version__,
            "steps": steps,
            "corpora": [*recipe.data.train, *recipe.data.synthetic],
            "seed": recipe.seed,
        },
    )
