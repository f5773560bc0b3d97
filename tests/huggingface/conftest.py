"""Marian models in folders of transformers, and the runs that nmt import makes of them."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nmt_cli.export.importing.huggingface import import_huggingface


@pytest.fixture(autouse=True)
def _eager(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run without graphs, whose tracing takes a second for each length of a source."""
    import tensorflow as tf

    if request.node.get_closest_marker("traced"):
        yield
        return
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models that write_fixtures.py wrote."""
    folder = tmp_path_factory.mktemp("marian")
    with tarfile.open(Path(__file__).parent / "models.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def imported(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that imports a model once and returns its run."""
    runs = tmp_path_factory.mktemp("runs")

    def make(name: str) -> Path:
        if not (runs / name).exists():
            import_huggingface(folders / name, runs / name)
        return runs / name

    return make
