"""The bundle's manifest: what stands in the folder, and the contract of its tensors.

    manifest.json    this record
    encoder.onnx     source ids to encoder keys and values
    decoder.onnx     one step of search
    tokenizer/       as nmt_cli.text.tokenizer reads it
    MODEL_CARD.md    the same for people

Format versions only ever add keys, so that a bundle of one version loads in every later one.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.recipe import DecodingConfig, ModelConfig, section_from

FORMAT = 1
MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
DECODER = "decoder.onnx"
TOKENIZER = "tokenizer"


@dataclass(frozen=True)
class TensorSpec:
    """Name, element type and shape of a graph's input or output; named axes are free."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class GraphSpec:
    """The contract of one ONNX file."""

    file: str
    opset: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True)
class FileRecord:
    """What a file of the bundle must be."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """Everything about a bundle that is not in its other files.

    Attributes:
        metrics: rows of {"set", "metric", "value", "signature"}.
        verification: what was compared with the trained model, and how it came out.
        provenance: version, recipe, steps and corpora behind the weights.
    """

    name: str
    source_language: str
    target_language: str
    architecture: ModelConfig
    decoding: DecodingConfig
    vocabulary: dict[str, int]
    token_ids: dict[str, int]
    encoder: GraphSpec
    decoder: GraphSpec
    files: dict[str, FileRecord]
    metrics: list[dict[str, Any]] = field(default_factory=list)
    verification: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def key_size(self) -> int:
        """Width of one attention head."""
        return self.architecture.d_model // self.architecture.heads

    def write(self, folder: Path) -> None:
        """Write manifest.json."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's manifest.

    Raises:
        NmtError: the folder is no bundle, the manifest is damaged or of a newer format.
    """
    path = folder / MANIFEST
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise NmtError(f"{folder}: not a bundle", "make one with nmt export --onnx") from None
    except (OSError, ValueError) as error:
        raise NmtError(f"{path}: damaged ({error})", "export the bundle again") from None
    version = tree.get("format") if isinstance(tree, dict) else None
    if not isinstance(version, int):
        raise NmtError(f"{path}: not a bundle's manifest", "export the bundle again")
    if version > FORMAT:
        raise NmtError(
            f"{folder}: a bundle of a newer nmt (format {version}, this one reads up to {FORMAT})",
            "upgrade nmt",
        )
    try:
        return _manifest(tree, str(path))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise NmtError(f"{path}: damaged ({error!r})", "export the bundle again") from None


def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare every file of a bundle with its hash.

    Raises:
        NmtError: a file is missing, differs, or lies outside the folder.
    """
    for name, record in manifest.files.items():
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts:
            raise NmtError(f"{folder}: the manifest names a file outside the bundle: {name}")
        path = folder / name
        try:
            found = file_record(path)
        except OSError as error:
            raise NmtError(
                f"{path}: cannot be read ({error.strerror})", "export the bundle again"
            ) from None
        if found != record:
            raise NmtError(
                f"{path}: is not the file that was exported ({found.bytes:,} bytes, "
                f"{record.bytes:,} expected; SHA-256 differs)",
                "copy the bundle again, or export it again",
            )


def file_record(path: Path) -> FileRecord:
    """Hash a file."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FileRecord(digest, path.stat().st_size)


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Hash every file of a folder but its manifest."""
    return {
        path.relative_to(folder).as_posix(): file_record(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def _manifest(tree: dict[str, Any], where: str) -> Manifest:
    known = Manifest.__dataclass_fields__
    values = {key: value for key, value in tree.items() if key in known}
    values["architecture"] = section_from(
        ModelConfig, tree["architecture"], f"{where}, architecture"
    )
    values["decoding"] = section_from(DecodingConfig, tree["decoding"], f"{where}, decoding")
    values["encoder"] = _graph(tree["encoder"])
    values["decoder"] = _graph(tree["decoder"])
    values["files"] = {str(name): FileRecord(**each) for name, each in tree["files"].items()}
    for graph in (values["encoder"], values["decoder"]):
        if graph.file not in values["files"]:  # it would not be checked
            raise KeyError(graph.file)
    return Manifest(**values)


def _graph(tree: dict[str, Any]) -> GraphSpec:
    def tensors(rows: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
        return tuple(
            TensorSpec(str(row["name"]), row["dtype"], tuple(row["shape"])) for row in rows
        )

    return GraphSpec(
        tree["file"], int(tree["opset"]), tensors(tree["inputs"]), tensors(tree["outputs"])
    )
