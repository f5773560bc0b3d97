"""Describe bundles, and what bundles and runs have in common, as plain values."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.card import LICENCE
from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.recipe.architecture import ModelConfig, architecture_of
from nmt_cli.recipe.config import DecodingConfig


def describe_bundle(folder: Path) -> dict[str, Any]:
    """Return everything that a bundle's manifest records, for JSON.

    "damaged" names files that are missing or have another size than in the manifest; their
    contents are not read.

    Raises:
        NmtError: the folder is not a bundle, or the manifest is damaged or of a newer format.
    """
    manifest = read_manifest(folder)
    files = {name: record.bytes for name, record in manifest.files.items()}
    size = (folder / MANIFEST).stat().st_size + sum(files.values())
    languages = manifest.source_language, manifest.target_language
    system = describe_system(
        manifest.architecture, manifest.decoding, languages, manifest.vocabulary
    )
    return {
        "path": str(folder),
        "kind": "bundle",
        "format": manifest.format,
        "name": manifest.name,
        **system,
        "precision": manifest.precision,
        "bytes": size,
        "files": files,
        "damaged": _damaged(folder, manifest),
        "scores": manifest.metrics,
        "verification": asdict(manifest.verification),
        "provenance": manifest.provenance,
        "licence": LICENCE,
        "graphs": {each.file: _graph(each) for each in manifest.graphs},
    }


def describe_system(
    config: ModelConfig,
    decoding: DecodingConfig,
    languages: tuple[str, str],
    vocabulary: dict[str, int],
) -> dict[str, Any]:
    """Return what a model is and how it decodes, for JSON.

    Args:
        config: the recipe's [model] table.
        decoding: defaults of the search.
        languages: source and target.
        vocabulary: sizes, "source" and "target".
    """
    architecture = architecture_of(config)
    sizes = vocabulary["source"], vocabulary["target"]
    return {
        "source": languages[0],
        "target": languages[1],
        "summary": architecture.summary(config),
        "parameters": architecture.count_parameters(config, *sizes),
        "vocabulary": dict(vocabulary),
        "architecture": asdict(config),
        "decoding": asdict(decoding),
    }


def _damaged(folder: Path, manifest: Manifest) -> list[str]:
    """Compare sizes only, which is quick; nmt verify compares hashes."""

    def is_damaged(path: Path, size: int) -> bool:
        return not path.is_file() or path.stat().st_size != size

    return [name for name, each in manifest.files.items() if is_damaged(folder / name, each.bytes)]


def _graph(graph: GraphSpec) -> dict[str, Any]:
    return {key: value for key, value in asdict(graph).items() if key != "file"}
