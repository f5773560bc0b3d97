"""Describe bundles, and what bundles and runs have in common: MODEL_CARD.md and plain values."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.recipe.model import ModelConfig

LICENCE = "The licence of the model depends on that of its training text."
_CARD = """\
# {manifest.name}: {manifest.source_language} to {manifest.target_language}

{summary} in {manifest.precision}{shortlist}, exported by nmt {version}.

## Use

    nmt translate -m THIS_FOLDER file.txt

It needs onnxruntime, sentencepiece and numpy, not TensorFlow. Without nmt: nmt's page
docs/reference/bundle-format.md specifies the files and has a short client.

## Training

Steps: {steps}{initial}. {licence}

{text}

## Scores

{scores}

## Verification

{report}
"""


def model_card(manifest: Manifest) -> str:
    """Return a Markdown page: what the bundle is, how it was trained and how good it is."""
    provenance, config = manifest.provenance, manifest.architecture
    scores = ["Not evaluated at export."]
    if manifest.metrics:
        scores = ["| set | metric | score | signature |", "|---|---|---|---|"]
    for row in manifest.metrics:
        score = f"{row['metric']} | {row['value']:.2f} | `{row['signature']}`"
        scores.append(f"| {row['set']} | {score} |")
    shortlist = ""
    if manifest.shortlist:
        shortlist = f" with vocabulary shortlists of {manifest.shortlist.size} tokens"
    initial = provenance.get("initial")
    return _CARD.format(
        manifest=manifest,
        initial=f", after {initial['steps']} of {initial['name']}" if initial else "",
        shortlist=shortlist,
        summary=config.summary(),
        version=provenance.get("nmt_version", "?"),
        steps=provenance.get("steps", "?"),
        text=training_text(provenance),
        licence=LICENCE,
        scores="\n".join(scores),
        report="\n".join(f"- {line}" for line in manifest.verification.lines()),
    )


def training_text(provenance: dict[str, Any]) -> str:
    """Return the paragraph or table of a card that names corpora, their sizes and licences."""
    rows = provenance.get("sources")
    if not rows:
        return f"Training text: {', '.join(provenance.get('corpora', [])) or 'not recorded'}."
    table = ["| training text | pairs | licence and source |", "|---|---|---|"]
    for row in rows:
        pairs = "" if row["pairs"] is None else f"{row['pairs']:,}"
        table.append(f"| {row['corpus']} | {pairs} | {row['source'] or 'not recorded'} |")
    return "\n".join(table)


def describe_bundle(folder: Path) -> dict[str, Any]:
    """Return everything that a bundle's manifest records, for JSON.

    "damaged" names files that are missing or have another size than in the manifest; nmt verify
    compares their contents, too.

    Raises:
        NmtError: the folder is not a bundle, or the manifest is damaged or of a newer format.
    """
    manifest = read_manifest(folder)
    files = {name: record.bytes for name, record in manifest.files.items()}
    found = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    graphs = {each.file: asdict(each) for each in manifest.graphs}
    for each in graphs.values():
        del each["file"]
    return {
        "path": str(folder),
        "kind": "bundle",
        "format": manifest.format,
        "name": manifest.name,
        **describe_system(
            manifest.architecture,
            manifest.decoding,
            (manifest.source_language, manifest.target_language),
            manifest.vocabulary,
        ),
        "precision": manifest.precision,
        "shortlist": manifest.shortlist.size if manifest.shortlist else None,
        "bytes": (folder / MANIFEST).stat().st_size + sum(files.values()),
        "files": files,
        "damaged": [name for name, size in files.items() if found.get(folder / name) != size],
        "scores": manifest.metrics,
        "verification": asdict(manifest.verification),
        "provenance": manifest.provenance,
        "licence": LICENCE,
        "graphs": graphs,
    }


def describe_system(
    config: ModelConfig,
    decoding: DecodingConfig,
    languages: tuple[str, str],
    vocabulary: dict[str, int],
) -> dict[str, Any]:
    """Return what a model is and how it decodes, for JSON; ``vocabulary`` has the sizes."""
    sizes = vocabulary["source"], vocabulary["target"]
    return {
        "source": languages[0],
        "target": languages[1],
        "summary": config.summary(),
        "parameters": config.count_parameters(*sizes),
        "vocabulary": vocabulary,
        "architecture": asdict(config),
        "decoding": asdict(decoding),
    }
