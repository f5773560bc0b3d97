"""Find the files of a model of Marian: in a folder, beside a file, or in an archive."""

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from nmt_cli.errors import ModelError, NmtError, first_line
from nmt_cli.export.marian import files
from nmt_cli.files import read_limited
from nmt_cli.recipe.model import BeamSize, Penalty

_MAX_FILES = 1000  # in an archive


class DecoderConfig(msgspec.Struct, frozen=True, rename="kebab"):
    """What decoder.yml may have."""

    models: list[str] = []
    vocabs: list[str] = []
    beam_size: BeamSize | None = None
    normalize: Penalty = 0.0


@dataclass(frozen=True)
class MarianFiles:
    """The files of a model.

    Attributes:
        vocabularies: of source and target: .spm, or .yml beside source.spm and target.spm.
    """

    model: Path
    vocabularies: tuple[Path, Path]
    decoding: DecoderConfig

    @classmethod
    def find(cls, path: Path) -> "MarianFiles":
        """Find the files of a model, given it, or its folder."""
        folder = path if path.is_dir() else path.parent
        configs = [*folder.glob("decoder.yml"), *sorted(folder.glob("*.decoder.yml"))]
        if not path.is_dir():
            own = ("decoder.yml", f"{path.name}.decoder.yml")
            configs = [config for config in configs if config.name in own]
        decoding = _read_decoder(configs[0]) if configs else DecoderConfig()
        if path.is_dir():
            found = [_beside(folder, name) for name in decoding.models] or _models(folder)
            if len(found) != 1:
                _refuse_packed(folder)
                names = ", ".join(model.name for model in found) or "none"
                hint = "give the .npz or .bin file itself"
                raise ModelError(f"{folder}: one model of Marian is expected, found {names}", hint)
            (path,) = found
        elif path.suffix == ".gz":
            _refuse_packed(folder)
        listed = [_beside(folder, name) for name in decoding.vocabs]
        return cls(path, _two(listed or _vocabularies(folder), folder), decoding)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the path, or the folder with the files of an archive."""
    if path.suffix != ".zip":
        if not path.exists():
            raise ModelError(f"{path}: no such file or folder")
        yield path
        return
    with TemporaryDirectory(prefix="nmt-marian-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
                size = sum(entry.file_size for entry in entries)
                if size > 8 * path.stat().st_size or len(entries) > _MAX_FILES:
                    raise ValueError(f"unpacks to {len(entries):,} files of {size:,} bytes")
                archive.extractall(folder)
        except Exception as error:  # zipfile raises many kinds for damaged files
            reason = f"{path}: not an archive, or damaged ({first_line(error)})"
            raise ModelError(reason, "copy it again") from None
        inner = [path for path in Path(folder).iterdir() if path.is_dir()]
        try:
            yield inner[0] if len(inner) == 1 and not _models(Path(folder)) else Path(folder)
        except NmtError as error:
            raise type(error)(error.message.replace(folder, str(path)), error.hint) from None


def _models(folder: Path) -> list[Path]:
    """Return the model files of a folder, without those of training and shortlists."""
    found = sorted([*folder.glob("*.npz"), *folder.glob("*.bin")])
    others = (".optimizer.npz", ".s2t.bin", ".ema.npz")
    return [path for path in found if not path.name.endswith(others) and path.name[:4] != "lex."]


def _vocabularies(folder: Path) -> list[Path]:
    """Return the vocabularies of a folder without decoder.yml, source first."""
    for patterns in (
        ("srcvocab*.spm", "trgvocab*.spm"),
        ("vocab*.spm",),
        ("*src*.vocab.yml", "*trg*.vocab.yml"),
        ("*vocab.yml",),
        ("source.spm", "target.spm"),
        ("*.spm",),
    ):
        found = [sorted(folder.glob(pattern)) for pattern in patterns]
        if all(len(paths) == 1 for paths in found):
            return [paths[0] for paths in found]
    return []


def _two(vocabularies: Sequence[Path], folder: Path) -> tuple[Path, Path]:
    if len(vocabularies) not in (1, 2):
        _refuse_packed(folder)
        hint = "put vocab.spm, or srcvocab.spm and trgvocab.spm, or decoder.yml, beside the model"
        raise ModelError(f"{folder}: has no vocabularies, or those of several models", hint)
    return vocabularies[0], vocabularies[-1]


def _refuse_packed(folder: Path) -> None:
    if packed := sorted(folder.glob("*.gz")):
        hint = f"unpack the files of the model: gunzip {folder}/*.gz"
        raise ModelError(f"{packed[0]}: is packed with gzip", hint)


def _beside(folder: Path, name: str) -> Path:
    """Return a file that decoder.yml names, maybe by its path on another machine."""
    for path in (folder / name, folder / Path(name).name, Path(name)):
        if os.path.isfile(path):  # also where the name is too long for a file
            return path
    _refuse_packed(folder)
    raise ModelError(f"{folder}: has no {Path(name).name[:99]!r}, which decoder.yml names")


def read_yaml(path: Path, limit: int, loader: str) -> Any:
    """Read a file in YAML of at most ``limit`` bytes."""
    try:
        return files.parse_yaml(read_limited(path, limit), loader)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read as YAML ({first_line(error)})") from None


def _read_decoder(path: Path) -> DecoderConfig:
    try:
        content = read_yaml(path, files.MAX_SETTINGS, "SafeLoader")
        return msgspec.convert(content, DecoderConfig)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {str(error).replace('`', '')}") from None
