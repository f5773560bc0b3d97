"""Loading a bundle."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.bundle.hashes import check_files
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.runtime.contract import check_graphs, checked_tokenizers
from nmt_cli.runtime.device import HOST, ONE_BATCH, Device, Threads, threads_for
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import TokenizerPair


@dataclass(frozen=True)
class Bundle:
    """A bundle whose files have been checked, ready to run.

    Attributes:
        folder: where it is.
        manifest: its manifest.
        model: its graphs.
        tokenizers: of both sides.
    """

    folder: Path
    manifest: Manifest
    model: OnnxStepModel
    tokenizers: TokenizerPair


def open_bundle(
    folder: Path,
    warn: Callable[[str], None] = lambda message: None,
    threads: Threads = ONE_BATCH,
    device: Device = HOST,
) -> Bundle:
    """Check a bundle's files, once, and load it.

    Args:
        folder: of the bundle.
        warn: receives a line if the bundle was never verified.
        threads: number of batches at a time, and of threads in each.
        device: where to run.

    Raises:
        NmtError: not a bundle, a damaged one, or one of a newer format.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    check_graphs(folder, manifest)
    if manifest.verification.outcome != PASSED:
        warn(
            f"{folder}: was exported without verification; compare it with its model: "
            f"nmt verify {folder} --run RUN"
        )
    each = threads.each or threads_for(manifest.architecture, manifest.precision)
    model = OnnxStepModel(folder, manifest, each, device)
    return Bundle(folder, manifest, model, checked_tokenizers(folder, manifest))


def load_bundle(
    folder: Path,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    warn: Callable[[str], None] = lambda message: None,
    threads: Threads = ONE_BATCH,
    device: Device = HOST,
) -> Translator:
    """A translator over a bundle; as :func:`open_bundle`."""
    bundle = open_bundle(folder, warn, threads, device)
    decoding = bundle.manifest.decoding
    return Translator(
        bundle.model,
        bundle.tokenizers,
        SearchOptions.of(decoding, beam_size, length_penalty),
        decoding.max_source,
        warn,
        threads.workers,
    )
