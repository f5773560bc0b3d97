"""The record of a bundle: its languages, settings, graphs, files and how it was verified.

Format versions only ever add keys, so that a bundle of one released version loads in every later
one. Formats 1 and 2 were never released. The manifest records the hashes of all other files, and
its own under ``manifest_sha256``.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.report import Verification
from nmt_cli.files import write_json
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.recipe.model import ModelConfig

FORMAT = 3
DIGEST = "manifest_sha256"
WIDEST = 1 << 20  # far above any real model, far below what would exhaust a machine

Text = Annotated[str, Meta(min_length=1)]


@dataclass(frozen=True)
class TensorSpec:
    """Name, element type and shape of a graph's input or output; axes with names are free."""

    name: Text
    dtype: Text
    shape: tuple[int | str, ...]

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with sizes in place of its named axes."""
        return tuple(sizes[each] if isinstance(each, str) else each for each in self.shape)

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} [{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class GraphSpec:
    """The contract of one ONNX file."""

    file: Text
    opset: Annotated[int, Meta(ge=1, le=1000)]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True)
class FileRecord:
    """Hash and size of one file."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Annotated[int, Meta(ge=0, le=1 << 44)]


@dataclass(frozen=True)
class Shortlist:
    """A bundle's vocabulary shortlists: which target tokens a sentence's translation may have.

    Attributes:
        size: N, tokens of each sentence's.
        translations: ids that LEXICON has for each source token.
        columns: the graph that gathers the softmax layer's columns of shortlists.
        step: the step of the search over shortlists.
    """

    size: Annotated[int, Meta(ge=1, le=WIDEST)]
    translations: Annotated[int, Meta(ge=1, le=WIDEST)]
    columns: GraphSpec
    step: GraphSpec

    def bytes(self, vocabulary: Mapping[str, int]) -> int:
        """Return the size of LEXICON; see nmt_cli.runtime.shortlist."""
        ids = self.size + vocabulary["source"] * self.translations
        return ids * id_bytes(vocabulary["target"])


def id_bytes(vocabulary: int) -> int:
    """Return the bytes of a token's id in LEXICON."""
    return 2 if vocabulary <= 1 << 16 else 4


@dataclass(frozen=True)
class Manifest:
    """Everything about a bundle that is not in its other files.

    Attributes:
        vocabulary: sizes, "source" and "target", special tokens included.
        attention: the step with attention weights, if the bundle has one.
        self_attention: self-attention of both sides, if the bundle has it.
        shortlist: vocabulary shortlists, if the bundle has them.
        precision: one of nmt_cli.bundle.PRECISIONS, of weights and matrix products.
        metrics: rows of {"set", "metric", "value", "signature"}.
        provenance: version, steps, and the corpora that the weights come from, with licences.
    """

    name: Text
    source_language: Text
    target_language: Text
    architecture: ModelConfig
    decoding: DecodingConfig
    vocabulary: dict[str, int]
    token_ids: dict[str, int]
    encoder: GraphSpec
    decoder: GraphSpec
    append: GraphSpec
    files: dict[str, FileRecord]
    attention: GraphSpec | None = None
    self_attention: GraphSpec | None = None
    shortlist: Shortlist | None = None
    precision: str = "float32"
    metrics: list[dict[str, Any]] = field(default_factory=list)
    verification: Verification = field(default_factory=Verification)
    provenance: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def graphs(self) -> list[GraphSpec]:
        """The contracts of all ONNX files in the bundle."""
        graphs = [self.encoder, self.decoder, self.append]
        graphs += [each for each in (self.attention, self.self_attention) if each]
        if self.shortlist:
            graphs += [self.shortlist.columns, self.shortlist.step]
        return graphs

    @property
    def weights(self) -> int:
        """How many weights the architecture has."""
        vocabulary = self.vocabulary
        return self.architecture.count_parameters(vocabulary["source"], vocabulary["target"])

    @property
    def least_weights(self) -> int:
        """How many numbers its graphs have at least: equal vectors, such as biases of a model that
        was not trained, are stored once."""
        return self.weights - 2 * self.weights // self.architecture.d_model

    @property
    def most_weights(self) -> int:
        """How many numbers its graphs may have: the weights, two scales for each column of a
        matrix (int8), and a few constants."""
        return self.weights + 2 * self.weights // self.architecture.d_model + 1024

    @property
    def caches(self) -> list[TensorSpec]:
        """The decoder's inputs that it also returns, with new columns."""
        outputs = {each.name for each in self.decoder.outputs}
        return [each for each in self.decoder.inputs if f"new_{each.name}" in outputs]

    def write(self, folder: Path) -> None:
        """Write manifest.json.

        Raises:
            NmtError: the file cannot be written.
        """
        tree = asdict(self)
        tree[DIGEST] = manifest_digest(tree)
        write_json(folder / MANIFEST, tree)


def manifest_digest(tree: dict[str, Any]) -> str:
    """Return the SHA-256 (hex) of a manifest's values, whatever the layout of the file."""
    values = {key: value for key, value in tree.items() if key != DIGEST}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
