"""Loading a bundle, whose files, graphs and tokenizers must be what its manifest describes."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from nmt_cli.bundle import MANIFEST, TOKENIZER
from nmt_cli.bundle.contract import contract_breach
from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.errors import NmtError
from nmt_cli.runtime.device import find_provider, share_threads
from nmt_cli.runtime.onnx_file import read_onnx
from nmt_cli.runtime.step_model import HINT, OnnxStepModel, attention_graph
from nmt_cli.text.folder import TokenizerSpec, load_tokenizers
from nmt_cli.text.tokenizer import TokenizerPair


class Bundle:
    """A bundle whose files have been checked, once; its graphs are loaded when they are needed.

    Attributes:
        folder: where it is.
        manifest: its manifest.
        languages: source and target.
        tokenizers: of both sides.
        config, decoding: the recipe's tables.
        loaded: its graphs, by the number of threads in each batch.

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
        warn: Callable[[str], None] = lambda message: None,
        threads: int | None = None,
        workers: int | None = None,
        device: str = "cpu",
        provider: str | None = None,
    ) -> None:
        self._threads, self._workers = threads, workers
        self._provider = find_provider(device, provider)
        self.folder, self.manifest = folder, read_manifest(folder)
        check_files(folder, self.manifest)
        for graph in self.manifest.graphs:
            _check_graph(folder / graph.file, graph, self.manifest)
        if self.manifest.verification.outcome != PASSED:
            warn(
                f"{folder}: was exported without verification; compare it with its model: "
                f"nmt verify {folder} --run RUN"
            )
        self.languages = self.manifest.source_language, self.manifest.target_language
        self.tokenizers = _checked_tokenizers(folder, self.manifest)
        self.config, self.decoding = self.manifest.architecture, self.manifest.decoding
        self.loaded: dict[int, OnnxStepModel] = {}

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
        threads = share_threads(self._threads, self._workers, sentences)
        if threads.each not in self.loaded:
            self.loaded[threads.each] = OnnxStepModel(
                self.folder, self.manifest, threads.each, self._provider
            )
        return self.loaded[threads.each], threads.workers


def _check_graph(path: Path, graph: GraphSpec, manifest: Manifest) -> None:
    """Compare an ONNX file with the manifest, and refuse weights from a file without a hash.

    Such a file could be anywhere outside the bundle.
    """
    found = read_onnx(path)
    breach = contract_breach(found.inputs, graph.inputs)
    breach = breach or contract_breach(found.outputs, graph.outputs)
    if found.opset != graph.opset:
        breach = f"opset {found.opset} should be {graph.opset}"
    if breach:
        raise NmtError(f"{path}: not the graph that {MANIFEST} describes ({breach})", HINT)
    for name in sorted(found.external):
        if (PurePosixPath(graph.file).parent / name).as_posix() not in manifest.files:
            raise NmtError(
                f"{path}: reads weights from {name[:80]!r}, which is not in the bundle", HINT
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
