"""The bundle's manifest: what stands in the folder, and the contract of its tensors.

    manifest.json    this record
    encoder.onnx     source ids to encoder keys and values
    decoder.onnx     one step of search
    append.onnx      appends to caches and selects sentences, where they lie on a device
    attention.onnx   one step of search that tells what it looks at, where it was asked for
    weights.bin      the weights of the graphs, each matrix once (ONNX external data)
    tokenizer/       as nmt_cli.text.tokenizer reads it
    MODEL_CARD.md    the same for people

Format versions only ever add keys, so that a bundle of one released version loads in every
later one; formats 1 and 2 never were.
The manifest records the hashes of all other files, and under ``manifest_sha256`` its own.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.report import Verification
from nmt_cli.files import replacing

if TYPE_CHECKING:  # nmt --help comes this way, and recipes take a while to import
    from nmt_cli.recipe.architecture import ModelConfig
    from nmt_cli.recipe.config import DecodingConfig

FORMAT = 3
MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
DECODER = "decoder.onnx"
APPEND = "append.onnx"
ATTENTION = "attention.onnx"
WEIGHTS = "weights.bin"
TOKENIZER = "tokenizer"
PRECISIONS = ("float32", "int8", "float16")
DIGEST = "manifest_sha256"


@dataclass(frozen=True)
class TensorSpec:
    """Name, element type and shape of a graph's input or output; named axes are free."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with sizes in place of its named axes."""
        return tuple(sizes[each] if isinstance(each, str) else each for each in self.shape)


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
        attention: the step with attention weights, if the bundle carries it.
        precision: one of PRECISIONS: how weights are stored and matrix products computed.
        metrics: rows of {"set", "metric", "value", "signature"}.
        verification: what was compared with the trained model, and how it came out.
        provenance: version, recipe, steps and corpora behind the weights.
    """

    name: str
    source_language: str
    target_language: str
    architecture: "ModelConfig"
    decoding: "DecodingConfig"
    vocabulary: dict[str, int]
    token_ids: dict[str, int]
    encoder: GraphSpec
    decoder: GraphSpec
    append: GraphSpec
    files: dict[str, FileRecord]
    attention: GraphSpec | None = None
    precision: str = "float32"
    metrics: list[dict[str, Any]] = field(default_factory=list)
    verification: Verification = field(default_factory=Verification)
    provenance: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def graphs(self) -> list[GraphSpec]:
        """Of all ONNX files that the bundle carries."""
        graphs = [self.encoder, self.decoder, self.append]
        return [*graphs, self.attention] if self.attention else graphs

    @property
    def caches(self) -> list[TensorSpec]:
        """What the decoder takes and gives back grown."""
        given = {each.name for each in self.decoder.outputs}
        return [each for each in self.decoder.inputs if f"new_{each.name}" in given]

    def write(self, folder: Path) -> None:
        """Write manifest.json.

        Raises:
            NmtError: no permission, or the disk is full.
        """
        tree = asdict(self)
        tree[DIGEST] = manifest_digest(tree)
        with replacing(folder / MANIFEST) as out:
            out.write(json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def manifest_digest(tree: dict[str, Any]) -> str:
    """The SHA-256 (hex) of a manifest's values, however they are laid out in the file."""
    values = {key: value for key, value in tree.items() if key != DIGEST}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
