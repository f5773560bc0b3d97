"""Comparing a bundle's ONNX files and tokenizers with its manifest, at every load."""

from pathlib import Path, PurePosixPath

from nmt_cli.bundle import MANIFEST, TOKENIZER
from nmt_cli.bundle.contract import contract_breach
from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.errors import NmtError
from nmt_cli.runtime.onnx_file import read_onnx
from nmt_cli.text.folder import TokenizerSpec, load_tokenizers
from nmt_cli.text.tokenizer import TokenizerPair

_HINT = "export the bundle again"


def check_graphs(folder: Path, manifest: Manifest) -> None:
    """Compare the ONNX files with the manifest: names, types, shapes, opset, weights.

    Raises:
        NmtError: a file differs from the manifest, or reads weights from a file whose hash is
            not in the manifest, which could be anywhere outside the bundle.
    """
    for graph in manifest.graphs:
        _check_graph(folder, graph, manifest)


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
            raise NmtError(f"{place / name}: {MANIFEST} has no hash of it", _HINT)
    tokenizers = load_tokenizers(place)
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        if tokenizer.vocab_size != manifest.vocabulary[side]:
            raise NmtError(
                f"{place}: the {side} vocabulary has {tokenizer.vocab_size:,} entries, "
                f"but {MANIFEST} says {manifest.vocabulary[side]:,}",
                _HINT,
            )
    return tokenizers


def _check_graph(folder: Path, graph: GraphSpec, manifest: Manifest) -> None:
    path = folder / graph.file
    found = read_onnx(path)
    breach = contract_breach(found.inputs, list(graph.inputs)) or contract_breach(
        found.outputs, list(graph.outputs)
    )
    if breach:
        raise NmtError(f"{path}: not the graph that {MANIFEST} describes ({breach})", _HINT)
    if found.opset != graph.opset:
        raise NmtError(f"{path}: opset {found.opset}, but {MANIFEST} says {graph.opset}", _HINT)
    for name in sorted(found.external):
        if (PurePosixPath(graph.file).parent / name).as_posix() not in manifest.files:
            raise NmtError(
                f"{path}: reads weights from {name[:80]!r}, which is not in the bundle", _HINT
            )
