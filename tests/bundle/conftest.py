"""A small bundle, created once; tests damage copies of it."""

import shutil
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
