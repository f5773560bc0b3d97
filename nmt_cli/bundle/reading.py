"""Read manifest.json into a Manifest, checking every value."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from nmt_cli.bundle import MANIFEST, PRECISIONS, TOKENIZER
from nmt_cli.bundle.contract import graphs_breach
from nmt_cli.bundle.hashes import is_inside
from nmt_cli.bundle.manifest import (
    DIGEST,
    FORMAT,
    WIDEST,
    FileRecord,
    Manifest,
    Text,
    manifest_digest,
)
from nmt_cli.bundle.values import HINT, converted, damaged, read_object, short
from nmt_cli.errors import NmtError
from nmt_cli.recipe.architecture import ModelConfig, architecture_of
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.recipe.reading import section_from
from nmt_cli.text.folder import SPEC_FILE
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID

TOKEN_IDS = {"pad": PAD_ID, "unk": UNK_ID, "start": START_ID, "end": END_ID}

# Like WIDEST, for keys that have no bounds in a recipe.
_MOST_LAYERS = 1000
_LONGEST = 1 << 16


class _Vocabulary(TypedDict):
    source: Annotated[int, Meta(gt=END_ID, le=WIDEST)]
    target: Annotated[int, Meta(gt=END_ID, le=WIDEST)]


class _Metric(TypedDict):
    set: Text
    metric: Text
    value: float
    signature: Text


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's manifest.

    Raises:
        NmtError: the folder is not a bundle, or the manifest is damaged or of a newer format.
    """
    path = folder / MANIFEST
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError("a link that leaves the bundle")
        if not path.exists():
            raise NmtError(f"{folder}: not a bundle", "make one with nmt export --onnx")
        tree = read_object(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise damaged(path, error) from None
    version = tree.get("format")
    if type(version) is not int or version < 1:
        raise NmtError(f"{path}: not a bundle's manifest", HINT)
    if version > FORMAT:
        raise NmtError(
            f"{folder}: a bundle of a newer nmt (format {version}, this one reads up to {FORMAT})",
            "upgrade nmt",
        )
    if version < FORMAT:
        raise NmtError(
            f"{folder}: a bundle of format {version}, from before nmt's first release",
            "export it again",
        )
    if tree.get(DIGEST) != manifest_digest(tree):
        raise NmtError(f"{path}: was changed after the export ({DIGEST} differs)", HINT)
    return _manifest(tree, path)


def _manifest(tree: dict[str, Any], path: Path) -> Manifest:
    _check_files(tree.get("files", {}), path)
    converted(tree.get("metrics", []), list[_Metric], path, "metrics")
    sizes = converted(tree.get("vocabulary"), _Vocabulary, path, "vocabulary")
    flat = tree | {"vocabulary": sizes, "architecture": {}, "decoding": {}}
    manifest = replace(
        converted(flat, Manifest, path),
        architecture=_section(tree, "architecture", ModelConfig, WIDEST, path),
        decoding=_section(tree, "decoding", DecodingConfig, _LONGEST, path),
    )
    problem = (
        _config_fault(manifest.architecture)
        or _fault(manifest)
        or graphs_breach(
            manifest.graphs,
            manifest.architecture,
            manifest.vocabulary["target"],
            manifest.precision,
        )
    )
    if problem:
        raise damaged(path, problem)
    return manifest


def _check_files(files: Any, path: Path) -> None:
    """Check the records one by one, so that errors name the file."""
    for name, record in converted(files, dict[str, Any], path, "files").items():
        if not is_inside(name):
            raise NmtError(f"{path}: names a file outside the bundle: {short(name)}", HINT)
        converted(record, FileRecord, path, f"files.{name}")


def _section(tree: dict[str, Any], key: str, kind: type[Any], most: int, path: Path) -> Any:
    """Read a table of the recipe, with the bounds that recipes leave open."""
    section = converted(tree.get(key), dict[str, Any], path, key)
    for name, value in section.items():
        limit = _MOST_LAYERS if name.endswith("_layers") else most
        if type(value) in (int, float) and value > limit:
            raise damaged(path, f"{key}.{name} must be at most {limit:,}, not {value:,}")
    return section_from(kind, section, f"{path}, {key}")


def _config_fault(config: ModelConfig) -> str:
    """Find what recipes refuse, and tensors that would exhaust the machine."""
    architecture = architecture_of(config)
    fault = architecture.fault(config)
    if fault:
        return f"architecture.{fault[0]}"
    for name, shape in (architecture.encoder_output(config) | architecture.caches(config)).items():
        numbers = math.prod(each for each in shape if isinstance(each, int))
        if numbers > WIDEST:
            return f"architecture: {name} has {numbers:,} numbers per column, at most {WIDEST:,}"
    return ""


def _fault(manifest: Manifest) -> str:
    """Find values that contradict each other."""
    sizes = manifest.vocabulary
    tied = manifest.architecture.embeddings in ("all", "source-target")
    if tied and sizes["source"] != sizes["target"]:
        return f"vocabulary.target must be {sizes['source']}, as embeddings are shared"
    if manifest.token_ids != TOKEN_IDS:
        return f"token_ids must be {TOKEN_IDS}, not {short(manifest.token_ids)}"
    if manifest.precision not in PRECISIONS:
        return f"precision must be one of {', '.join(PRECISIONS)}, not {short(manifest.precision)}"
    spec = f"{TOKENIZER}/{SPEC_FILE}"
    for name in (spec, *(each.file for each in manifest.graphs)):
        if name not in manifest.files:  # its hash would not be checked
            return f"files has no record of {name}"
    return ""
