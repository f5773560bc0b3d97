"""Loading a bundle, whose files, graphs and tokenizers must be what its manifest describes."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from nmt_cli.bundle import MANIFEST, TOKENIZER, WEIGHTS
from nmt_cli.bundle.contract import contract_breach
from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.bundle.reading import checking_files, read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.errors import NmtError, Say, silent
from nmt_cli.runtime.device import Threads, find_provider, share_threads, threads_for
from nmt_cli.runtime.onnx_file import PRODUCTS, OnnxFile, read_onnx
from nmt_cli.runtime.step_model import HINT, OnnxStepModel, attention_graph
from nmt_cli.text.folder import TokenizerSpec, load_tokenizers
from nmt_cli.text.tokenizer import TokenizerPair

# The most operators of a graph, and matrix products among them, for each layer of the
# architecture; 80 and 8 are usual, and one product for the vocabulary.
_OPERATORS, _PRODUCTS = 128, 8


class Bundle:
    """A bundle whose files have been checked, once.

    Its graphs are loaded meanwhile; or when they are needed, if the number of sentences decides how
    many threads they get.

    Attributes:
        folder: where it is.
        manifest: its manifest.
        languages: source and target.
        tokenizers: of both sides.
        config, decoding: the recipe's tables.
        loaded: its graphs, loaded or not yet, by the number of threads in each batch.

    Args:
        folder: of the bundle.
        warn: receives a message if the bundle was never verified.
        threads, workers: as of :func:`nmt_cli.runtime.device.share_threads`.
        device, provider: as of :func:`nmt_cli.runtime.device.find_provider`.

    Raises:
        NmtError: the folder is not a bundle, is damaged, or has a newer format; or the device is
            missing.
    """

    kind = "bundle"

    def __init__(
        self,
        folder: Path,
        warn: Say = silent,
        threads: int | None = None,
        workers: int | None = None,
        device: str = "cpu",
        provider: str | None = None,
    ) -> None:
        self._threads, self._workers = threads, workers
        self._provider = find_provider(device, provider)
        self.folder, self.manifest = folder, read_manifest(folder)
        self.languages = self.manifest.source_language, self.manifest.target_language
        self.config, self.decoding = self.manifest.architecture, self.manifest.decoding
        self.has_attention = self.manifest.attention is not None
        self.loaded: dict[int, Future[OnnxStepModel]] = {}
        with checking_files(folder, self.manifest):
            found = {each.file: _checked_graph(folder, each) for each in self.manifest.graphs}
            _check_sizes(folder, self.manifest, found)
            alone, together = self._share(1).each, self._share(2).each
            if alone == together:
                self._load(alone)
            self.tokenizers = _checked_tokenizers(folder, self.manifest)
        if self.manifest.verification.outcome != PASSED:
            warn(
                f"{folder}: was exported without verification; compare it with its model: "
                f"nmt verify {folder} --run RUN"
            )

    @property
    def model(self) -> OnnxStepModel:
        """Its graphs, for one batch at a time."""
        return self.step_model(1)[0]

    def step_model(self, sentences: int, attention: bool = False) -> tuple[OnnxStepModel, int]:
        """Its graphs, and the number of batches to run in parallel, for so many sentences.

        Raises:
            NmtError: ONNX Runtime cannot load a graph, or attention weights are needed and the
                bundle was exported without them.
        """
        if attention:
            attention_graph(self.folder, self.manifest)
        threads = self._share(sentences)
        return self._load(threads.each).result(), threads.workers

    def _share(self, sentences: int) -> Threads:
        alone = threads_for(self.config, self.manifest.precision)
        return share_threads(self._threads, self._workers, sentences, alone)

    def _load(self, threads: int) -> "Future[OnnxStepModel]":
        """Load the graphs in a thread of their own, once."""
        if threads not in self.loaded:
            loader = ThreadPoolExecutor(1)
            self.loaded[threads] = loader.submit(
                OnnxStepModel, self.folder, self.manifest, threads, self._provider
            )
            loader.shutdown(wait=False)
        return self.loaded[threads]


def _checked_graph(folder: Path, graph: GraphSpec) -> OnnxFile:
    """Compare an ONNX file with the manifest, and refuse weights from any file but one.

    Another file could be anywhere outside the bundle.
    """
    path = folder / graph.file
    found = read_onnx(path)
    breach = contract_breach(found.inputs, graph.inputs)
    breach = breach or contract_breach(found.outputs, graph.outputs)
    if found.opset != graph.opset:
        breach = f"opset {found.opset} should be {graph.opset}"
    if breach:
        raise NmtError(f"{path}: not the graph that {MANIFEST} describes ({breach})", HINT)
    beside = PurePosixPath(graph.file).parent
    for name in sorted({each.location for each in found.constants if each.location}):
        if beside / name != PurePosixPath(WEIGHTS):
            raise NmtError(f"{path}: reads weights from {name[:80]!r}, not from {WEIGHTS}", HINT)
    return found


def _check_sizes(folder: Path, manifest: Manifest, graphs: Mapping[str, OnnxFile]) -> None:
    """Compare the graphs' operators and weights with what the architecture needs.

    Otherwise a few bytes could compute for hours. What remains possible are large results of small
    tensors: by Expand, Range, or arithmetic of each number with each.
    """
    config = manifest.architecture
    for name, graph in graphs.items():
        layers, more = config.decoder_layers, 0
        if name == manifest.encoder.file:  # it also has a product for each layer of the decoder
            layers, more = config.encoder_layers, config.decoder_layers
        elif manifest.self_attention and name == manifest.self_attention.file:
            layers = config.encoder_layers + config.decoder_layers
        products = sum(graph.operators[each] for each in PRODUCTS)
        for count, most, what in (
            (graph.operators.total(), _OPERATORS * (layers + 4), "operators"),
            (products, _PRODUCTS * (layers + 1) + more, "matrix products"),
        ):
            if count > most:
                raise NmtError(
                    f"{folder / name}: {count:,} {what}, at most {most:,} for this architecture",
                    HINT,
                )
    # Matrices are outside the graphs, each once; other graphs share those of encoder and decoder.
    constants = [each for graph in graphs.values() for each in graph.constants]
    size = sum(each.size for each in {each for each in constants if each.location})
    for part in (manifest.encoder, manifest.decoder):
        size += sum(each.size for each in graphs[part.file].constants if not each.location)
    if not manifest.least_weights <= size <= manifest.most_weights:
        raise NmtError(
            f"{folder}: its graphs have {size:,} weights, but the architecture in {MANIFEST} has "
            f"{manifest.weights:,}",
            HINT,
        )
    dtypes = {each.dtype for each in constants}
    precision = next((each for each in ("int8", "float16") if each in dtypes), "float32")
    if precision != manifest.precision:
        raise NmtError(
            f"{folder}: its graphs are {precision}, but {MANIFEST} says {manifest.precision}", HINT
        )


def _checked_tokenizers(folder: Path, manifest: Manifest) -> TokenizerPair:
    """The tokenizers, from files with hashes in the manifest and of the sizes that it has."""
    place = folder / TOKENIZER
    spec = TokenizerSpec.read(place)
    for name in (spec.source, spec.target):
        if f"{TOKENIZER}/{name}" not in manifest.files:
            raise NmtError(f"{place / name}: {MANIFEST} has no hash of it", HINT)
    tokenizers = load_tokenizers(place)
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        if tokenizer.vocab_size != manifest.vocabulary[side]:
            raise NmtError(
                f"{place}: the {side} vocabulary has {tokenizer.vocab_size:,} entries, "
                f"but {MANIFEST} says {manifest.vocabulary[side]:,}",
                HINT,
            )
    return tokenizers
