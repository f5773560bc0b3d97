"""Loading a bundle, whose files, graphs and tokenizers must be what its manifest describes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nmt_cli.bundle import MANIFEST, TOKENIZER
from nmt_cli.bundle.contract import contract_breach
from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.bundle.report import PASSED
from nmt_cli.errors import NmtError
from nmt_cli.runtime.onnx_file import read_onnx
from nmt_cli.runtime.step_model import HINT, OnnxStepModel
from nmt_cli.text.folder import TokenizerSpec, load_tokenizers
from nmt_cli.text.tokenizer import TokenizerPair


@dataclass(frozen=True)
class Bundle:
    """A bundle whose files have been checked, ready to run."""

    folder: Path
    manifest: Manifest
    model: OnnxStepModel
    tokenizers: TokenizerPair


def open_bundle(
    folder: Path, warn: Callable[[str], None] = lambda message: None, threads: int = 0
) -> Bundle:
    """Check a bundle's files, once, and load it to run on the CPU.

    Args:
        folder: of the bundle.
        warn: receives a message if the bundle was never verified.
        threads: inside each operator; 0 for what the model's size justifies.

    Raises:
        NmtError: the folder is not a bundle, is damaged, or has a newer format.
    """
    manifest = checked_manifest(folder, warn)
    model = OnnxStepModel(folder, manifest, threads)
    return Bundle(folder, manifest, model, checked_tokenizers(folder, manifest))


def checked_manifest(folder: Path, warn: Callable[[str], None]) -> Manifest:
    """The manifest of a bundle, after all its files have been checked against it.

    Raises:
        NmtError: the folder is not a bundle, is damaged, or has a newer format.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    for graph in manifest.graphs:
        _check_graph(folder / graph.file, graph, manifest)
    if manifest.verification.outcome != PASSED:
        warn(
            f"{folder}: was exported without verification; compare it with its model: "
            f"nmt verify {folder} --run RUN"
        )
    return manifest


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


def checked_tokenizers(folder: Path, manifest: Manifest) -> TokenizerPair:
    """Load a bundle's tokenizers.

    Raises:
        NmtError: a file is damaged or its hash is not in the manifest, or a vocabulary has
            another size than in the manifest.
    """
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
