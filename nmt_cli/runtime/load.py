"""Load a bundle, whose files, graphs and tokenizers must be what its manifest describes."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from nmt_cli.bundle import MANIFEST, TOKENIZER
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import HINT, checking_files, read_manifest
from nmt_cli.errors import ModelError, OptionError
from nmt_cli.host import cores, reuse_memory
from nmt_cli.recipe.model import ModelConfig
from nmt_cli.runtime.step_model import OnnxStepModel, attention_graph, find_provider
from nmt_cli.text.tokenizer import TokenizerPair, TokenizerSpec, load_tokenizers

logger = logging.getLogger(__name__)

# Size in bytes of a feed-forward matrix, or of a recurrent cell's, from which two threads compute
# its product faster than one for a single sentence: synchronizing takes longer for smaller ones
# (benchmarks/README.md).
_MIN_SHARED_BYTES = 512 * 1024
_WEIGHT_BYTES = {"float32": 4, "float16": 2, "int8": 1}


class Threads(NamedTuple):
    """Batches that run at the same time, and threads inside the operators of each."""

    batches: int
    intra_op: int


class Bundle:
    """A bundle whose files have been checked, once.

    Its graphs are loaded meanwhile, or when they are needed if a single sentence gets another
    number of threads than several. A bundle that was never verified logs a warning.

    Attributes:
        languages: source and target.
        config, decoding: the recipe's tables.
        loaded: its graphs, loaded or not yet, by the number of threads in each batch.

    Args:
        threads, workers: see :func:`share_threads`.
        device, provider: see :func:`nmt_cli.runtime.step_model.find_provider`.
        private: see OnnxStepModel.
    """

    kind = "bundle"

    def __init__(
        self,
        folder: Path,
        threads: int | None = None,
        workers: int | None = None,
        device: str = "cpu",
        provider: str | None = None,
        private: bool = False,
    ) -> None:
        reuse_memory()
        self._threads, self._workers, self._private = threads, workers, private
        self._provider = find_provider(device, provider)
        self.folder, self.manifest = folder, read_manifest(folder)
        self.name = self.manifest.name
        self.languages = self.manifest.source_language, self.manifest.target_language
        self.config, self.decoding = self.manifest.architecture, self.manifest.decoding
        self.has_attention = self.manifest.attention is not None
        self.loaded: dict[int, Future[OnnxStepModel]] = {}
        with checking_files(folder, self.manifest):
            threads = self._share(single=True).intra_op
            if threads == self._share(single=False).intra_op:
                self._load(threads)
            self.tokenizers = _checked_tokenizers(folder, self.manifest)
        if self.manifest.verification.outcome != "passed":
            logger.warning(
                f"{folder}: was exported without verification; compare it with its model: "
                f"nmt verify {folder} --run RUN"
            )

    @property
    def model(self) -> OnnxStepModel:
        """Its graphs, for one batch at a time."""
        return self.step_model(single=True)[0]

    def step_model(self, single: bool, attention: bool = False) -> tuple[OnnxStepModel, int]:
        """Return its graphs, for one sentence or several, and how many batches to run at a time."""
        if attention:
            attention_graph(self.folder, self.manifest)
        threads = self._share(single)
        return self._load(threads.intra_op).result(), threads.batches

    def _share(self, single: bool) -> Threads:
        threads = threads_for(self.config, self.manifest.precision)
        return share_threads(self._threads, self._workers, single, threads)

    def _load(self, threads: int) -> "Future[OnnxStepModel]":
        """Load the graphs in another thread, once."""
        if threads not in self.loaded:
            loader = ThreadPoolExecutor(1)
            self.loaded[threads] = loader.submit(
                OnnxStepModel, self.folder, self.manifest, threads, self._provider, self._private
            )
            loader.shutdown(wait=False)
        return self.loaded[threads]


def _checked_tokenizers(folder: Path, manifest: Manifest) -> TokenizerPair:
    """Load the tokenizers; the manifest must have their files' hashes and their sizes."""
    folder = folder / TOKENIZER
    spec = TokenizerSpec.read(folder)
    for name in (spec.source, spec.target):
        if f"{TOKENIZER}/{name}" not in manifest.files:
            raise ModelError(f"{folder / name}: {MANIFEST} has no hash of it", HINT)
    tokenizers = load_tokenizers(folder)
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        if tokenizer.vocab_size != manifest.vocabulary[side]:
            raise ModelError(
                f"{folder}: the {side} vocabulary has {tokenizer.vocab_size:,} entries, "
                f"but {MANIFEST} says {manifest.vocabulary[side]:,}",
                HINT,
            )
    return tokenizers


def share_threads(
    total: int | None, workers: int | None, single: bool, threads_of_single: int = 1
) -> Threads:
    """Divide cores among batches.

    One batch per core, each with one thread, is fastest (benchmarks/README.md). A single sentence
    is one batch, whose operators then use the threads.

    Args:
        total: threads in all; None for every core that this process may use.
        workers: batches at a time, if the user fixed it.
        single: whether there is only one sentence to translate.
        threads_of_single: its threads if the user gives no number; see :func:`threads_for`.
    """
    if any(number is not None and number < 1 for number in (total, workers)):
        raise OptionError(
            "`threads` and `workers` must be at least 1", "omit them to use every core"
        )
    if total is None and workers is None and single:
        return Threads(batches=1, intra_op=threads_of_single)
    total = total or cores()
    if workers is None:
        workers = 1 if single else total
    return Threads(workers, max(1, total // workers))


def threads_for(config: ModelConfig, precision: str) -> int:
    """Return the threads of a single batch: every core for a large model, one for others."""
    matrix = config.widest_product() * _WEIGHT_BYTES[precision]
    return cores() if matrix >= _MIN_SHARED_BYTES else 1
