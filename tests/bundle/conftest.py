"""One small bundle, made once; tests harm copies of it."""

import shutil
from pathlib import Path

import pytest

from nmt_cli.export.onnx_bundle import export_onnx
from nmt_cli.training.run import Run
from tests.systems import untrained_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose weights are random."""
    return untrained_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def pristine(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, verified."""
    folder = tmp_path_factory.mktemp("pristine") / "bundle"
    export_onnx(run, run.last, run.recipe.decoding, folder, say=lambda line: None)
    return folder


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    """A copy for one test to harm."""
    return Path(shutil.copytree(pristine, tmp_path / "bundle"))
