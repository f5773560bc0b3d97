"""The record of a bundle: its languages, settings, graphs, files and how it was verified.

Format versions only ever add keys, so that a bundle of one released version loads in every later
one. The manifest records the hashes of all other files, and its own under ``manifest_sha256``.

The signatures of the graphs follow from the [model] table. Axes: B sentences, S source positions,
T target positions, K beams, P columns of the caches, C candidates. The decoder writes its K new
columns into the caches from column ``write_at`` on, and attends to all P. A bundle of precision
float16 may have float16 instead of float, the same type for an output and the input of the next
call; one of precision int8 has int8 ``output_columns``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from nmt_cli.bundle import (
    APPEND,
    ATTENTION,
    COLUMNS,
    DECODER,
    ENCODER,
    MANIFEST,
    SELF_ATTENTION,
    SHORTLIST,
)
from nmt_cli.errors import VerificationError
from nmt_cli.files import write_json
from nmt_cli.recipe.model import END_ID, DecodingConfig, ModelConfig, Shape

FORMAT = 3
DIGEST = "manifest_sha256"
MAX_WIDTH = 1 << 20  # far above any real model, far below what would exhaust a machine
Count = Annotated[int, Meta(ge=0)]
VocabularySize = Annotated[int, Meta(gt=END_ID, le=MAX_WIDTH)]

# Control characters break an error's single line or move a terminal's cursor.
Text = Annotated[
    str,
    Meta(min_length=1, max_length=4096, pattern="^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*$"),
]


@dataclass(frozen=True)
class TensorSpec:
    """Name, element type and shape of a graph's input or output; axes with names are free."""

    name: Text
    dtype: Text
    shape: tuple[int | str, ...]

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape with sizes in place of its named axes."""
        return tuple(sizes[axis] if isinstance(axis, str) else axis for axis in self.shape)

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} [{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class GraphSpec:
    """The signature of one ONNX file."""

    file: Text
    opset: Annotated[int, Meta(ge=1, le=1000)]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


@dataclass(frozen=True)
class ScaledColumns:
    """Columns of a weight that an export of an earlier version has multiplied with a factor."""

    start: Annotated[int, Meta(ge=0)]
    end: Annotated[int, Meta(ge=0)]
    factor: float


@dataclass(frozen=True)
class StoredWeights:
    """Where the graphs store the weights of the model, so that a bundle can be imported.

    Attributes:
        tensors: by name of the weight, file and initializer: "encoder.onnx:encoder_norm/scale". In
            int8, the name ends in "_int8", and two further initializers may have the scales of its
            rows ("_scales") or those of its columns, times the scale of the input ("_factors").
        scaled: by name of the weight, if the export has scaled it, as earlier versions did.
    """

    tensors: dict[str, Text] = field(default_factory=dict)
    scaled: dict[str, ScaledColumns] = field(default_factory=dict)


@dataclass(frozen=True)
class FileRecord:
    """Hash and size of one file."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Annotated[int, Meta(ge=0, le=1 << 44)]


@dataclass(frozen=True)
class Shortlist:
    """Which target tokens a sentence's translation may have.

    Attributes:
        size: N, the number of tokens in each shortlist.
        translations: ids that LEXICON has for each source token.
    """

    size: Annotated[int, Meta(ge=1, le=MAX_WIDTH)]
    translations: Annotated[int, Meta(ge=1, le=MAX_WIDTH)]
    columns: GraphSpec
    step: GraphSpec

    def bytes(self, vocabulary: Mapping[str, int]) -> int:
        """Return the size of LEXICON; see nmt_cli.runtime.step_model."""
        ids = self.size + vocabulary["source"] * self.translations
        return ids * id_bytes(vocabulary["target"])


def id_bytes(vocabulary: int) -> int:
    """Return the bytes of a token's id in LEXICON."""
    return 2 if vocabulary <= 1 << 16 else 4


@dataclass(frozen=True)
class Check:
    """One measurement of a verification; smaller is better.

    Attributes:
        value: the result, to four digits.
        limit: the largest value that passes; None: for information only.
    """

    name: str
    value: float
    limit: float | None
    passed: bool

    @classmethod
    def of(cls, name: str, value: float, limit: float | None = None) -> "Check":
        """Compare a measurement with its limit; NaN never passes."""
        value = float(f"{value:.4g}")
        return cls(name, value, limit, limit is None or value <= limit)

    def __str__(self) -> str:
        bound = "" if self.limit is None else f" (at most {self.limit:g})"
        return f"{self.name}: {self.value:g}{bound}"


@dataclass(frozen=True)
class Verification:
    """How a bundle was compared with the trained model; by default it was not.

    Attributes:
        outcome: a bundle that fails is never written.
        against: what the bundle was compared with.
        version: format of this record.
    """

    outcome: Literal["passed", "skipped"] = "skipped"
    against: str = ""
    checks: tuple[Check, ...] = ()
    nmt_version: str = ""
    onnxruntime: str = ""
    version: Literal[1] = 1

    def lines(self) -> list[str]:
        """Return the report for people, one line per entry."""
        if self.outcome == "skipped":
            return ["skipped: this bundle was not compared with the trained model"]
        head = f"{self.outcome}, against {self.against}"
        if self.onnxruntime:
            head += f" (nmt {self.nmt_version}, onnxruntime {self.onnxruntime})"
        return [head, *map(str, self.checks)]


def require_passed(checks: Sequence[Check], subject: str, hint: str) -> None:
    """Raise a VerificationError that names the first check that failed, if any."""
    for check in checks:
        if not check.passed:
            raise VerificationError(f"{subject}: verification failed: {check}", hint)


class Metric(TypedDict):
    """A score: its test set, its name, its value and sacrebleu's signature."""

    set: Text
    metric: Text
    value: float
    signature: Text


class _Source(TypedDict):
    corpus: str
    pairs: int | None
    source: str | None


class _Initial(TypedDict):
    name: str
    steps: int


class Provenance(TypedDict, total=False):
    """The keys that nmt reads of a bundle's provenance; others are allowed."""

    nmt_version: str
    steps: int
    corpora: list[str]
    sources: list[_Source]
    initial: _Initial


@dataclass(frozen=True)
class Manifest:
    """Everything about a bundle that is not in its other files.

    Attributes:
        vocabulary: sizes, "source" and "target", special tokens included.
        attention: the step with attention weights.
        alignment_heads: see nmt_cli.search.step_model.
        self_attention: self-attention of both sides.
        stored_weights: where the graphs store the weights of the model.
        precision: one of nmt_cli.bundle.PRECISIONS, of weights and matrix products.
        metrics: scores of the export on held-out lines.
        provenance: version, steps, and the corpora that the weights come from, with licences.
    """

    name: Text
    source_language: Text
    target_language: Text
    architecture: ModelConfig
    decoding: DecodingConfig
    vocabulary: dict[str, VocabularySize]
    token_ids: dict[str, int]
    encoder: GraphSpec
    decoder: GraphSpec
    append: GraphSpec
    files: dict[str, FileRecord]
    attention: GraphSpec | None = None
    alignment_heads: tuple[tuple[Count, Count, Count], ...] = ()
    self_attention: GraphSpec | None = None
    shortlist: Shortlist | None = None
    stored_weights: StoredWeights = field(default_factory=StoredWeights)
    precision: str = "float32"
    metrics: list[Metric] = field(default_factory=list)
    verification: Verification = field(default_factory=Verification)
    provenance: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def graphs(self) -> dict[str, GraphSpec]:
        """The signatures of all ONNX files in the bundle, by the name that the format gives it."""
        graphs = {
            ENCODER: self.encoder,
            DECODER: self.decoder,
            APPEND: self.append,
            ATTENTION: self.attention,
            SELF_ATTENTION: self.self_attention,
            COLUMNS: self.shortlist.columns if self.shortlist else None,
            SHORTLIST: self.shortlist.step if self.shortlist else None,
        }
        return {name: graph for name, graph in graphs.items() if graph}

    @property
    def caches(self) -> list[TensorSpec]:
        """The decoder's inputs that it also returns, with new columns."""
        outputs = {tensor.name for tensor in self.decoder.outputs}
        return [tensor for tensor in self.decoder.inputs if f"new_{tensor.name}" in outputs]

    def write(self, folder: Path) -> None:
        """Write manifest.json."""
        tree = asdict(self)
        tree[DIGEST] = manifest_digest(tree)
        write_json(folder / MANIFEST, tree)


def manifest_digest(tree: dict[str, Any]) -> str:
    """Return the SHA-256 (hex) of a manifest's values, whatever the layout of the file."""
    values = {key: value for key, value in tree.items() if key != DIGEST}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


Signature = tuple[list[TensorSpec], list[TensorSpec]]  # inputs, outputs


def signatures(
    config: ModelConfig, target_vocab: int, shortlist: int = 0, precision: str = "float32"
) -> dict[str, Signature]:
    """Return the signatures of all graphs that a bundle may have, with this size of shortlists."""
    source = TensorSpec("source", "int32", ("B", "S"))
    encoder_output = _floats(config.encoder_output())
    new_caches = _floats(config.caches(), "new_")
    step = [
        TensorSpec("tokens", "int32", ("B", "K")),
        TensorSpec("position", "int32", (1,)),
        TensorSpec("ancestry", "bool", ("B", "K", "P")),
        TensorSpec("write_at", "int64", ("B",)),
        *encoder_output,
        *_floats(config.caches()),
    ]
    candidates = [
        TensorSpec("scores", "float", ("B", "K", "C")),
        TensorSpec("ids", "int32", ("B", "K", "C")),
    ]
    log_probs = TensorSpec("log_probs", "float", ("B", "K", target_vocab))
    attention = TensorSpec("attention", "float", ("B", *config.cross_attention(), "K", "S"))
    target = TensorSpec("target", "int32", ("B", "T"))
    # The softmax layer's columns of a shortlist, their scales (int8), and their biases, if any.
    chosen = TensorSpec("shortlist", "int32", ("B", shortlist))
    columns = [TensorSpec("output_columns", "float", ("B", config.d_model, shortlist))]
    entries = (precision == "int8") + (config.output_bias or not config.ties_softmax)
    if entries:
        columns.append(TensorSpec("output_entries", "float", ("B", entries, shortlist)))
    # Joins columns to caches, and selects sentences; H, P, Q and D are free.
    append = [
        TensorSpec("values", "float", ("B", "H", "P", "D")),
        TensorSpec("columns", "float", ("B", "H", "Q", "D")),
        TensorSpec("rows", "int64", ("R",)),
    ]
    return {
        ENCODER: ([source], encoder_output),
        DECODER: (step, [*candidates, log_probs, *new_caches]),
        APPEND: (append, [TensorSpec("joined", "float", ("R", "H", "P + Q", "D"))]),
        ATTENTION: (step, [attention, *new_caches]),
        SELF_ATTENTION: ([source, target], _floats(config.self_attention())),
        COLUMNS: ([chosen], columns),
        SHORTLIST: ([*step, chosen, *columns], [*candidates, *new_caches]),
    }


def mismatch(actual: Sequence[TensorSpec], expected: Sequence[TensorSpec]) -> str:
    """Describe the first difference between tensors and those of a signature; "" if none."""
    theirs, ours = ({tensor.name: tensor for tensor in side} for side in (actual, expected))
    for name in (*ours, *theirs):
        if name not in theirs:
            return f"{name} is missing"
        if name not in ours:
            return f"{name} is not in the signature"
        if theirs[name] != ours[name]:
            return f"{theirs[name]} should be {ours[name]}"
    return ""


def graphs_mismatch(manifest: Manifest) -> str:
    """Describe the first difference between a manifest's graphs and their signatures."""
    shortlist, precision = manifest.shortlist, manifest.precision
    expected = signatures(
        manifest.architecture,
        manifest.vocabulary["target"],
        shortlist.size if shortlist else 0,
        precision,
    )
    produced = [*manifest.encoder.outputs, *(shortlist.columns.outputs if shortlist else ())]
    for name, graph in manifest.graphs.items():
        for tensors, specs in zip((graph.inputs, graph.outputs), expected[name], strict=True):
            actual = [_as_float(tensor, precision) for tensor in tensors]
            if problem := mismatch(actual, specs):
                return f"{graph.file}: {problem}"
        types = {tensor.name: tensor.dtype for tensor in (*produced, *graph.outputs)}
        for tensor in graph.inputs:
            dtype = types.get(tensor.name, types.get(f"new_{tensor.name}", tensor.dtype))
            if dtype != tensor.dtype:
                return f"{graph.file}: {tensor.name} is {tensor.dtype}, but is produced as {dtype}"
    return ""


def _as_float(tensor: TensorSpec, precision: str) -> TensorSpec:
    """Replace a type that the precision allows instead of float."""
    if precision == "float16" or (precision == "int8" and tensor.name == "output_columns"):
        return replace(tensor, dtype=tensor.dtype.replace(precision, "float"))
    return tensor


def _floats(shapes: Mapping[str, Shape], prefix: str = "") -> list[TensorSpec]:
    return [TensorSpec(f"{prefix}{name}", "float", shape) for name, shape in shapes.items()]
