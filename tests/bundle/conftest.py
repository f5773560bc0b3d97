"""A small bundle, created once, of which tests damage copies; and bundles of an older version."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nmt_cli.training.run import Run


@pytest.fixture(scope="session")
def run(tiny_run: "Run") -> "Run":
    """A run with random weights."""
    return tiny_run


@pytest.fixture(scope="session")
def pristine(tiny_bundle: Callable[[str], Path]) -> Path:
    """A verified bundle of that run."""
    return tiny_bundle("float32")


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the bundle for one test to damage."""
    return Path(shutil.copytree(pristine, tmp_path / "bundle"))


@pytest.fixture(scope="session")
def older_bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two bundles and their expected translations; see test_compatibility.py."""
    folder = tmp_path_factory.mktemp("format3")
    with tarfile.open(Path(__file__).parent / "format3.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder
