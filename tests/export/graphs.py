"""Graphs of a bundle, for tests."""

from pathlib import Path

import onnx_ir as ir


def loaded(path: Path) -> ir.Model:
    """Read a graph with its external weights."""
    return ir.external_data.load_to_model(ir.load(path))
