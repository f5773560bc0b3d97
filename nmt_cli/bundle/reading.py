"""Read manifest.json into a Manifest, checking every value, and compare files with their hashes."""

import hashlib
import math
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from nmt_cli.bundle import LEXICON, MANIFEST, PRECISIONS, TOKENIZER, WEIGHTS
from nmt_cli.bundle.manifest import (
    DIGEST,
    FORMAT,
    MAX_WIDTH,
    FileRecord,
    Manifest,
    Provenance,
    graphs_mismatch,
    manifest_digest,
)
from nmt_cli.errors import ModelError, OptionError
from nmt_cli.files import read_record
from nmt_cli.options import settings_from
from nmt_cli.recipe.model import DecodingConfig, model_config
from nmt_cli.text.tokenizer import END_ID, PAD_ID, SPEC_FILE, START_ID, UNK_ID

HINT = "export the bundle again, or copy it again"
TOKEN_IDS = {"pad": PAD_ID, "unk": UNK_ID, "start": START_ID, "end": END_ID}

# What a bundle's files may be called: those of nmt_cli.bundle, and data of its tokenizers. A wheel
# has the same names, so that none may lead elsewhere or be code.
_NAME = re.compile(
    r"[\w-]{1,100}\.(onnx|bin|md)|tokenizer/(?!.*\.(py\w*|so|pth)$)\w[\w .()+-]*(?<![ .])",
    re.IGNORECASE,
)

# Limits of files, in bytes: per weight (four, or fewer; small tensors take a quarter of a page),
# per layer of a graph (12 kB to 27 kB are usual), per piece of a vocabulary (20 are usual), and
# whatever does not depend on the model's size.
_WEIGHT, _LAYER, _PIECE, _SLACK = 40, 1 << 16, 1 << 7, 1 << 26


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's manifest."""
    path = folder / MANIFEST
    if _is_outside(path, folder):
        raise _damaged(path, "a link that leaves the bundle")
    tree = read_record(path, dict[str, Any], FORMAT, "a bundle", HINT)
    if tree["format"] != FORMAT:
        raise ModelError(f"{path}: not a bundle's manifest", HINT)
    if tree.get(DIGEST) != manifest_digest(tree):
        raise ModelError(f"{path}: was changed after the export ({DIGEST} differs)", HINT)
    try:
        model, decoding = (
            msgspec.convert(tree.get(key), dict[str, Any]) for key in ("architecture", "decoding")
        )
        manifest = replace(
            msgspec.convert(tree | {"architecture": {}, "decoding": {}}, Manifest),
            architecture=model_config(model, str(path), "architecture."),
            decoding=settings_from(DecodingConfig, decoding, str(path), "decoding."),
        )
        msgspec.convert(manifest.provenance, Provenance)
    except msgspec.ValidationError as error:
        problem, _, key = str(error).replace("`", "").partition(" - at $.")
        raise _damaged(path, f"{key}: {problem}" if key else problem) from None
    except OptionError as error:
        raise ModelError(error.message, error.hint) from None
    for problem in _problems(manifest):
        raise _damaged(path, problem)
    return manifest


def _damaged(path: Path, problem: object) -> ModelError:
    return ModelError(f"{path}: damaged ({problem})", HINT)


def _problems(manifest: Manifest) -> Iterator[str]:
    """Find values that no recipe allows, that exhaust the machine or contradict each other."""
    config, shortlist = manifest.architecture, manifest.shortlist
    if problem := config.problem():
        yield f"architecture.{problem[0]}"
    for name, shape in (config.encoder_output() | config.caches()).items():
        numbers = math.prod(axis for axis in shape if isinstance(axis, int))
        if numbers > MAX_WIDTH:
            yield f"architecture: {name} has {numbers:,} numbers per column, at most {MAX_WIDTH:,}"
    if manifest.vocabulary.keys() != {"source", "target"}:
        yield "vocabulary must have source and target"
    if manifest.token_ids != TOKEN_IDS:
        yield f"token_ids must be {TOKEN_IDS}"
    if manifest.precision not in PRECISIONS:
        yield f"precision must be one of {', '.join(PRECISIONS)}"
    for name in manifest.files:
        if not _NAME.fullmatch(name):
            yield f"files: {name!a} is not the name of a bundle's file"
    graphs = [graph.file for graph in manifest.graphs.values()]
    required = [f"{TOKENIZER}/{SPEC_FILE}", WEIGHTS, *graphs]
    for name in [*required, LEXICON] if shortlist else required:
        if name not in manifest.files:  # its hash would not be checked
            yield f"files has no record of {name}"
    yield from _wrong_sizes(manifest)
    layers, heads = config.cross_attention()
    for layer, head, later in manifest.alignment_heads:
        if layer >= layers or head >= heads or later > 1:
            yield f"alignment_heads has [{layer}, {head}, {later}]"
    if shortlist and shortlist.size > manifest.vocabulary["target"]:
        yield f"shortlist.size must be at most {manifest.vocabulary['target']:,}"
    if difference := graphs_mismatch(manifest):
        yield difference


def _wrong_sizes(manifest: Manifest) -> Iterator[str]:
    """Find files that are larger than the model needs: nothing of them is hashed or read."""
    config, shortlist, vocabulary = manifest.architecture, manifest.shortlist, manifest.vocabulary
    sizes = {name: record.bytes for name, record in manifest.files.items()}
    source, target = vocabulary["source"], vocabulary["target"]
    weights = config.count_parameters(source, target)
    layers = config.encoder_layers + config.decoder_layers
    limits = {WEIGHTS: _WEIGHT * weights + _SLACK}
    limits |= {graph.file: _LAYER * (layers + 4) for graph in manifest.graphs.values()}
    if shortlist:
        limits[LEXICON] = shortlist.bytes(vocabulary)
        if sizes[LEXICON] != limits[LEXICON]:
            yield f"files: {LEXICON} has {sizes[LEXICON]:,} bytes, not {limits[LEXICON]:,}"
    others = sum(size for name, size in sizes.items() if name not in limits)
    limits["the rest"] = _PIECE * (source + target) + _SLACK
    for name, limit in limits.items():
        size = sizes.get(name, others)
        if size > limit:
            yield f"files: {name} has {size:,} bytes, at most {limit:,} for this architecture"


@contextmanager
def checking_files(folder: Path, manifest: Manifest) -> Iterator[None]:
    """Compare every file of a bundle with its record.

    The weights, which are most of the bytes, have the right size when the context begins, and are
    hashed until it ends.
    """
    for name, record in manifest.files.items():
        path = folder / name
        if _is_outside(path, folder):
            raise ModelError(f"{folder}: {name!r} lies outside the bundle", HINT)
        _check(path, record, hashed=False)
    with ThreadPoolExecutor(1) as pool:  # hashing does not hold Python's lock
        weights = pool.submit(_check, folder / WEIGHTS, manifest.files[WEIGHTS])
        for name, record in manifest.files.items():
            if name != WEIGHTS:
                _check(folder / name, record)
        yield
        weights.result()


def check_files(folder: Path, manifest: Manifest) -> None:
    """Do the same as :func:`checking_files` at once."""
    with checking_files(folder, manifest):
        pass


def _check(path: Path, record: FileRecord, hashed: bool = True) -> None:
    """Compare a file's size, and its hash, with its record."""
    try:
        if not path.is_file() and path.exists():
            raise ModelError(f"{path}: is not a file", HINT)
        size = path.stat().st_size
        # A file of another size may be endless: it is not read.
        if size == record.bytes and (not hashed or file_record(path) == record):
            return
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})", HINT) from None
    raise ModelError(
        f"{path}: is not the file that was exported ({size:,} bytes, {record.bytes:,} expected; "
        "SHA-256 differs)",
        HINT,
    )


def _is_outside(path: Path, folder: Path) -> bool:
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def file_record(path: Path) -> FileRecord:
    """Hash a file."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FileRecord(digest, path.stat().st_size)


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Hash the files of a bundle except its manifest, and not those that a user added."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    return {
        name: file_record(path)
        for name, path in paths.items()
        if path.is_file() and _NAME.fullmatch(name)
    }
