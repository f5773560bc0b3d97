"""``nmt export --onnx``: a bundle for ONNX Runtime, which nmt translate uses without TensorFlow."""

from nmt_cli.bundle import MANIFEST, PRECISIONS
from nmt_cli.export.exporter import Exporter

EXPORTER = Exporter(
    name="onnx",
    help="Write a bundle for ONNX Runtime.",
    module="nmt_cli.export.onnx.bundle",
    marker=MANIFEST,
    next_step="bundle written to {folder}; next: nmt translate -m {folder} FILE",
    quantizations=PRECISIONS[1:],
    optional=("no-verify", "attention"),
)
