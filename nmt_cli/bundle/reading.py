"""Read manifest.json into a Manifest, checking every value, and compare files with their hashes."""

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from nmt_cli.bundle import LEXICON, MANIFEST, PRECISIONS, TOKENIZER, WEIGHTS
from nmt_cli.bundle.contract import graphs_breach
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
from nmt_cli.errors import ModelError, NmtError, OptionError
from nmt_cli.options import settings_from
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.recipe.model import model_config
from nmt_cli.text.folder import SPEC_FILE
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID

TOKEN_IDS = {"pad": PAD_ID, "unk": UNK_ID, "start": START_ID, "end": END_ID}

# Like WIDEST, for keys that have no bounds in a recipe.
_MOST_LAYERS = 1000
_LONGEST = 1 << 16

# Bytes: of a layer in a graph (12 kB to 27 kB are usual), of a piece of a vocabulary (20 are
# usual), and of whatever does not depend on the model's size.
_GRAPH, _PIECE, _SLACK = 1 << 16, 1 << 7, 1 << 20


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
        if _is_outside(path, folder):
            raise ValueError("a link that leaves the bundle")
        if not path.exists():
            raise NmtError(f"{folder}: not a bundle", "make one with nmt export --onnx")
        tree = read_object(path)
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, error) from None
    version = tree.get("format")
    if type(version) is not int or version < FORMAT:  # older formats were never released
        raise NmtError(f"{path}: not a bundle's manifest", HINT)
    if version > FORMAT:
        raise NmtError(
            f"{folder}: a bundle of a newer nmt (format {version}, this one reads up to {FORMAT})",
            "upgrade nmt",
        )
    if tree.get(DIGEST) != manifest_digest(tree):
        raise NmtError(f"{path}: was changed after the export ({DIGEST} differs)", HINT)
    converted(tree.get("metrics", []), list[_Metric], path, "metrics")
    sizes = converted(tree.get("vocabulary"), _Vocabulary, path, "vocabulary")
    flat = tree | {"vocabulary": sizes, "architecture": {}, "decoding": {}}
    manifest = replace(
        converted(flat, Manifest, path),
        architecture=_section(tree, "architecture", model_config, WIDEST, path),
        decoding=_section(tree, "decoding", partial(settings_from, DecodingConfig), _LONGEST, path),
    )
    for problem in _problems(manifest):
        raise damaged(path, problem)
    return manifest


def _section(
    tree: dict[str, Any], key: str, read: Callable[..., Any], most: int, path: Path
) -> Any:
    """Read a table of the recipe, with the bounds that recipes leave open."""
    section = converted(tree.get(key), dict[str, Any], path, key)
    for name, value in section.items():
        limit = _MOST_LAYERS if name.endswith("_layers") else most
        if type(value) in (int, float) and value > limit:
            raise damaged(path, f"{key}.{name} must be at most {limit:,}, not {value:,}")
    try:
        return read(section, str(path), f"{key}.")
    except OptionError as error:
        raise ModelError(error.message, error.hint) from None


def _problems(manifest: Manifest) -> Iterator[str]:
    """Find values that no recipe allows, that exhaust the machine or contradict each other."""
    config = manifest.architecture
    if problem := config.problem():
        yield f"architecture.{problem[0]}"
    for name, shape in (config.encoder_output() | config.caches()).items():
        numbers = math.prod(each for each in shape if isinstance(each, int))
        if numbers > WIDEST:
            yield f"architecture: {name} has {numbers:,} numbers per column, at most {WIDEST:,}"
    if manifest.token_ids != TOKEN_IDS:
        yield f"token_ids must be {TOKEN_IDS}, not {short(manifest.token_ids)}"
    if manifest.precision not in PRECISIONS:
        yield f"precision must be one of {', '.join(PRECISIONS)}, not {short(manifest.precision)}"
    needed = [f"{TOKENIZER}/{SPEC_FILE}", WEIGHTS, *(each.file for each in manifest.graphs)]
    for name in [*needed, LEXICON] if manifest.shortlist else needed:
        if name not in manifest.files:  # its hash would not be checked
            yield f"files has no record of {name}"
    yield from _wrong_shortlist(manifest)
    yield from _too_large(manifest)
    if breach := graphs_breach(manifest):
        yield breach


def _wrong_shortlist(manifest: Manifest) -> Iterator[str]:
    """Compare the size of the shortlists, and of their file, with the vocabulary."""
    short, vocabulary = manifest.shortlist, manifest.vocabulary
    if short is None:
        return
    if short.size > vocabulary["target"]:
        yield f"shortlist.size must be at most {vocabulary['target']:,}, not {short.size:,}"
    size, wanted = manifest.files[LEXICON].bytes, short.bytes(vocabulary)
    if size != wanted:
        yield f"files: {LEXICON} has {size:,} bytes, not {wanted:,}"


def _too_large(manifest: Manifest) -> Iterator[str]:
    """Find files that are larger than the model needs: nothing of them is hashed or read."""
    config, vocabulary = manifest.architecture, sum(manifest.vocabulary.values())
    layers = config.encoder_layers + config.decoder_layers
    graphs = {each.file for each in manifest.graphs}
    sizes = {name: record.bytes for name, record in manifest.files.items()}
    rest = {name: size for name, size in sizes.items() if name not in {WEIGHTS, *graphs}}
    tokenizers = sum(size for name, size in rest.items() if name.startswith(f"{TOKENIZER}/"))
    limits = [
        # Numbers of four bytes; each tensor begins at a page and has at least a quarter of one.
        (WEIGHTS, sizes[WEIGHTS], 5 * 4 * manifest.most_weights + _SLACK),
        *((name, sizes[name], _GRAPH * (layers + 4)) for name in graphs),
        (TOKENIZER, tokenizers, _PIECE * vocabulary + _SLACK),
        ("the rest", sum(rest.values()), _PIECE * vocabulary + 64 * _SLACK),
    ]
    for name, size, most in limits:
        if size > most:
            yield f"files: {name} has {size:,} bytes, at most {most:,} for this architecture"


@contextmanager
def checking_files(folder: Path, manifest: Manifest) -> Iterator[None]:
    """Compare every file of a bundle with its record.

    The weights, which are most of the bytes, have the right size when the context begins, and are
    hashed until it ends.

    Raises:
        NmtError: a file is missing, differs, or lies outside the folder.
    """
    for name, wanted in manifest.files.items():
        path = folder / name
        if _is_outside(path, folder):
            raise NmtError(f"{folder}: {short(name)} lies outside the bundle", HINT)
        with _unreadable(path):
            size = path.stat().st_size
            if not path.is_file():
                raise NmtError(f"{path}: is not a file", HINT)
            if size != wanted.bytes:  # it may be endless: it is not read
                raise _changed(path, wanted)
    with ThreadPoolExecutor(1) as beside:  # hashing holds no lock of Python's
        weights = beside.submit(_check_hash, folder / WEIGHTS, manifest.files[WEIGHTS])
        for name, wanted in manifest.files.items():
            if name != WEIGHTS:
                _check_hash(folder / name, wanted)
        yield
        weights.result()


def check_files(folder: Path, manifest: Manifest) -> None:
    """As :func:`checking_files`, with nothing beside it."""
    with checking_files(folder, manifest):
        pass


def _check_hash(path: Path, wanted: FileRecord) -> None:
    with _unreadable(path):
        if file_record(path) != wanted:
            raise _changed(path, wanted)


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})", HINT) from None


def _changed(path: Path, wanted: FileRecord) -> NmtError:
    return NmtError(
        f"{path}: is not the file that was exported ({path.stat().st_size:,} bytes, "
        f"{wanted.bytes:,} expected; SHA-256 differs)",
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
    """Hash every file of a folder except its manifest."""
    return {
        path.relative_to(folder).as_posix(): file_record(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
