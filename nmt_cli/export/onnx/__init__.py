"""``nmt export --onnx``: a bundle for ONNX Runtime, which nmt translate uses without TensorFlow."""

from pathlib import Path

from nmt_cli.bundle import MANIFEST, PRECISIONS
from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import Exporter, ExportOptions, Trained


class OnnxExporter(Exporter):
    """Writes bundles."""

    name = "onnx"
    help = "Write a bundle for ONNX Runtime."
    marker = MANIFEST
    quantizations = PRECISIONS[1:]
    optional = frozenset({"no-verify", "attention"})
    next_step = "bundle written to {folder}; next: nmt translate -m {folder} FILE"

    def write(self, trained: Trained, options: ExportOptions, folder: Path) -> None:
        """Write graphs, tokenizers, card and manifest."""
        from nmt_cli.export.onnx.bundle import write_bundle

        write_bundle(trained, options, folder)

    def verify(self, trained: Trained, options: ExportOptions, folder: Path) -> Verification:
        """Compare a bundle with its model; one that has no report yet gets it."""
        from nmt_cli.export.onnx.bundle import verify_bundle

        return verify_bundle(trained, folder)


EXPORTER = OnnxExporter()
