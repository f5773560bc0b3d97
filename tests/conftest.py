"""Settings for all tests, and a tiny untrained run and its bundles, created once per session."""

import fcntl
import gc
import logging
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from nmt_cli.host import import_keras

if TYPE_CHECKING:  # importing these takes seconds, and not every test needs TensorFlow
    from nmt_cli.training.run import Run

Once = Callable[[str, Callable[[Path], object]], Path]

# Tests and their child processes would ignore SIGINT in the background of a script.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: another job on the machine must not make a test fail.
settings.register_profile("default", deadline=None, max_examples=30)
settings.register_profile("many", deadline=None, max_examples=1000)
settings.load_profile("default")

# Variables of a developer's shell must not change what tests see: nmt's own, and those of Python,
# click, TensorFlow, Keras and ONNX Runtime. Child processes inherit what is left.
_PREFIXES = ("NMT_", "PYTHON", "TF_", "XDG_", "LC_")
_NAMES = {
    *("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TZ"),
    *("KERAS_BACKEND", "JAX_PLATFORMS", "CUDA_VISIBLE_DEVICES", "MPLBACKEND"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SOURCE_DATE_EPOCH"),
    *("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
}
for variable in {name for name in os.environ if name.startswith(_PREFIXES)} | _NAMES:
    if variable not in ("NMT_TEST_DATA", "PYTHONPATH"):
        os.environ.pop(variable, None)
os.environ |= {"LANG": "C.UTF-8", "TERM": "xterm"}


def pytest_configure(config: pytest.Config) -> None:
    """Try many examples of each property with the slow tests."""
    if config.option.markexpr == "slow":
        settings.load_profile("many")


def pytest_sessionstart() -> None:
    """Import Keras as nmt does, without what it never uses, where all tests are to run."""
    if "PYTEST_XDIST_WORKER" in os.environ and find_spec("keras"):
        import_keras()


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run properties with the slow tests too."""
    for item in items:
        property_based = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if property_based and config.option.markexpr == "slow":
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def _library_messages(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let `caplog` see the library's messages, also after a command has printed them itself."""
    logger = logging.getLogger("nmt_cli")
    caplog.set_level(logging.INFO, "nmt_cli")
    yield
    logger.handlers.clear()
    logger.propagate = True


@pytest.fixture(autouse=True)
def _exempt_from_garbage_collection() -> Iterator[None]:
    """Exempt the objects of earlier tests: TensorFlow's graphs are large cycles that every full
    collection traverses (70 MB per training; freeing one took nine seconds)."""
    yield
    gc.freeze()


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Create a folder once per session: the first worker that needs it fills it, others wait.

    Call it with a name and a function that fills the folder. Tests must not change the folder.
    Sessions that share a folder, TEST_MODELS, create it once for all.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    root = Path(os.environ.get("TEST_MODELS") or root)

    def folder_of(name: str, fill: Callable[[Path], object]) -> Path:
        folder, complete = root / "shared" / name, root / "shared" / f"{name}.complete"
        folder.parent.mkdir(exist_ok=True)
        with complete.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not complete.exists():
                shutil.rmtree(folder, ignore_errors=True)  # left by a failed attempt
                folder.mkdir()
                fill(folder)
                complete.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def tiny_run(once: Once) -> "Run":
    """A run with random weights and biases, two decoder layers, heads of 16 and tied embeddings."""
    from nmt_cli.training.run import Run

    def fill(folder: Path) -> None:
        from tests.systems import untrained_run  # needs Keras, which a Python may lack

        untrained_run(folder)

    return Run.open(once("tiny", fill) / "run")


@pytest.fixture(scope="session")
def tiny_bundle(tiny_run: "Run", once: Once) -> Callable[[str], Path]:
    """A function that returns the bundle of a precision; the float32 bundle is verified.

    "shortlist" is float32 with vocabulary shortlists of 40 tokens.
    """

    def made(precision: str) -> Path:
        def export(folder: Path) -> None:
            from tests.systems import export_bundle

            if precision == "shortlist":
                export_bundle(tiny_run, folder / "bundle", shortlist=40)
                return
            export_bundle(tiny_run, folder / "bundle", precision, verify=precision == "float32")

        return once(f"bundle-{precision}", export) / "bundle"

    return made
