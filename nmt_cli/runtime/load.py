"""From a bundle folder to a translator."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.bundle.hashes import check_files
from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.runtime.contract import check_graphs, checked_tokenizers
from nmt_cli.runtime.device import HOST, ONE_BATCH, Device, Threads, threads_for
from nmt_cli.runtime.guard import GuardedStepModel
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator


def load_bundle(
    folder: Path,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    warn: Callable[[str], None] = lambda message: None,
    threads: Threads = ONE_BATCH,
    device: Device = HOST,
) -> Translator:
    """Make a bundle ready to translate; what is not given is as the bundle's recipe had it.

    Args:
        folder: of the bundle.
        beam_size, length_penalty: of the search.
        warn: receives a line when the bundle was never verified, or a line of text is split.
        threads: batches side by side, and threads in each.
        device: where to run.

    Raises:
        NmtError: no bundle, a damaged one, or one of a newer format.
    """
    manifest = checked_manifest(folder)
    if manifest.verification.outcome != PASSED:
        warn(
            f"{folder}: was exported without verification; compare it with its model: "
            f"nmt verify {folder} --run RUN"
        )
    each = threads.each or threads_for(manifest.architecture, manifest.precision)
    return Translator(
        GuardedStepModel(
            OnnxStepModel(folder, manifest, each, device),
            folder,
            manifest.vocabulary["target"],
        ),
        checked_tokenizers(folder, manifest),
        SearchOptions.of(manifest.decoding, beam_size, length_penalty),
        manifest.decoding.max_source,
        warn,
        threads.workers,
    )


def checked_manifest(folder: Path) -> Manifest:
    """A bundle's manifest, after its files have passed for what it says of them.

    Raises:
        NmtError: as :func:`load_bundle`.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    check_graphs(folder, manifest)
    return manifest
