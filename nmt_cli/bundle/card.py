"""Describe bundles, and what exports and runs have in common: model cards and plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.manifest import Manifest, Metric, Verification
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.recipe.model import DecodingConfig, ModelConfig

CARD = "MODEL_CARD.md"
_FOLDER = Path(__file__).parent
LICENCE = "The licence of the model depends on the licences of its training text."


def card(
    title: str,
    summary: str,
    usage: str,
    provenance: dict[str, Any],
    report: Verification,
    scores: Sequence[Metric] | None = None,
) -> str:
    """Return the model card of an export, in Markdown.

    Args:
        summary: half a sentence, e.g. "A Transformer (...) in int8".
        usage: a section in Markdown.
        provenance, scores: as a manifest records them; None leaves out the section of scores.
    """
    initial = provenance.get("initial")
    template = (_FOLDER / "card.md").read_text(encoding="utf-8")
    return template.format(
        title=title,
        summary=summary,
        version=provenance.get("nmt_version", "?"),
        usage=usage.rstrip(),
        steps=provenance.get("steps", "?"),
        initial=f", after {initial['steps']} of {initial['name']}" if initial else "",
        licence=LICENCE,
        text=_training_text(provenance),
        scores="" if scores is None else _scores(scores),
        report="\n".join(f"- {line}" for line in report.lines()),
    )


def bundle_card(manifest: Manifest) -> str:
    """Return the model card of a bundle."""
    shortlist = ""
    if manifest.shortlist:
        shortlist = f" with vocabulary shortlists of {manifest.shortlist.size} tokens"
    config = manifest.architecture
    return card(
        f"{manifest.name}: {manifest.source_language} to {manifest.target_language}",
        f"{config.summary()} in {manifest.precision}{shortlist}",
        (_FOLDER / "usage.md").read_text(encoding="utf-8"),
        manifest.provenance,
        manifest.verification,
        manifest.metrics,
    )


def _training_text(provenance: dict[str, Any]) -> str:
    """Name the corpora, their sizes and licences, in a paragraph or a table."""
    rows = provenance.get("sources")
    if not rows:
        return f"Training text: {', '.join(provenance.get('corpora', [])) or 'not recorded'}."
    table = ["| training text | pairs | licence and source |", "|---|---|---|"]
    for row in rows:
        pairs = "" if row["pairs"] is None else f"{row['pairs']:,}"
        table.append(f"| {row['corpus']} | {pairs} | {row['source'] or 'not recorded'} |")
    return "\n".join(table)


def _scores(metrics: Sequence[Metric]) -> str:
    rows = ["Not evaluated at export."]
    if metrics:
        rows = ["| set | metric | score | signature |", "|---|---|---|---|"]
    for row in metrics:
        signature = row["signature"].replace("|", r"\|")  # others end cells
        rows.append(f"| {row['set']} | {row['metric']} | {row['value']:.2f} | `{signature}` |")
    return "\n".join(["", "## Scores", "", *rows, ""])


def describe_bundle(folder: Path) -> dict[str, Any]:
    """Return everything that a bundle's manifest records, for JSON.

    "damaged" names files that are missing or have another size than in the manifest; nmt verify
    compares their contents, too.
    """
    manifest = read_manifest(folder)
    languages = manifest.source_language, manifest.target_language
    files = {name: record.bytes for name, record in manifest.files.items()}
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    graphs = {graph.file: asdict(graph) for graph in manifest.graphs.values()}
    for graph in graphs.values():
        del graph["file"]
    return {
        "path": str(folder),
        "kind": "bundle",
        "format": manifest.format,
        "name": manifest.name,
        **describe_system(manifest.architecture, manifest.decoding, languages, manifest.vocabulary),
        "precision": manifest.precision,
        "shortlist": manifest.shortlist.size if manifest.shortlist else None,
        "bytes": (folder / MANIFEST).stat().st_size + sum(files.values()),
        "files": files,
        "damaged": [name for name, size in files.items() if sizes.get(folder / name) != size],
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
    return {
        "source": languages[0],
        "target": languages[1],
        "summary": config.summary(),
        "parameters": config.count_parameters(vocabulary["source"], vocabulary["target"]),
        "vocabulary": vocabulary,
        "architecture": asdict(config),
        "decoding": asdict(decoding),
    }
