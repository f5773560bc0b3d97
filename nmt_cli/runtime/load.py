"""Loading a bundle."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.runtime.contract import check_graphs, checked_tokenizers
from nmt_cli.runtime.device import HOST, ONE_BATCH, Device, Threads, threads_for
from nmt_cli.runtime.step_model import OnnxStepModel
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
        warn: receives a message if the bundle was never verified.
        threads: number of parallel batches, and of threads in each.
        device: where to run.

    Raises:
        NmtError: the folder is not a bundle, is damaged, or has a newer format.
    """
    manifest = checked_manifest(folder, warn)
    model = load_step_model(folder, manifest, threads.each, device)
    return Bundle(folder, manifest, model, checked_tokenizers(folder, manifest))


def checked_manifest(folder: Path, warn: Callable[[str], None]) -> Manifest:
    """The manifest of a bundle, after all its files have been checked against it.

    Raises:
        NmtError: the folder is not a bundle, is damaged, or has a newer format.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    check_graphs(folder, manifest)
    if manifest.verification.outcome != PASSED:
        warn(
            f"{folder}: was exported without verification; compare it with its model: "
            f"nmt verify {folder} --run RUN"
        )
    return manifest


def load_step_model(
    folder: Path, manifest: Manifest, threads: int, device: Device
) -> OnnxStepModel:
    """Load the graphs of a bundle whose files have been checked.

    Args:
        folder: of the bundle.
        manifest: its manifest.
        threads: inside each operator; AUTOMATIC for what the model's size justifies.
        device: where to run.

    Raises:
        NmtError: ONNX Runtime cannot load a graph.
    """
    each = threads or threads_for(manifest.architecture, manifest.precision)
    return OnnxStepModel(folder, manifest, each, device)
