"""Importing Keras, TensorFlow and matplotlib without messages and files of their own."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec


def import_keras() -> None:
    """Import Keras and its backend with the process's stderr redirected.

    While it loads, TensorFlow writes about logging, CUDA stubs and oneDNN straight to file
    descriptor 2, before any of its own settings can stop it.

    Raises:
        ImportError: Keras or its backend is not installed.
    """
    with without_stderr():
        # Keras would only draw galleries of images with matplotlib, and TensorFlow only convert
        # functions of JAX: importing both would take a quarter of the time.
        with_jax = os.environ.get("KERAS_BACKEND") == "jax"
        unused = ["matplotlib"] if with_jax else ["matplotlib", "jax"]
        # Keras would write keras.json at home, and settings there would change what is trained.
        with variable("KERAS_HOME", os.devnull), _hidden(unused):
            import_module("keras")
            # With JAX, too, Keras loads TensorFlow if it is installed, at the first random seed.
            if find_spec("tensorflow"):
                import_module("tensorflow")


@contextmanager
def without_stderr() -> Iterator[None]:
    """Redirect the process's stderr, which C++ libraries write to, to nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def import_matplotlib() -> None:
    """Import matplotlib with a temporary folder for its list of fonts.

    A user who sets MPLCONFIGDIR keeps the list there.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="nmt-") as folder, variable("MPLCONFIGDIR", folder):
        import_module("matplotlib.figure")


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable, if it is not set, until the block ends."""
    if os.environ.get(name):
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


@contextmanager
def _hidden(packages: Iterable[str]) -> Iterator[None]:
    """Let imports find none of the packages, unless they are imported already."""
    hidden = [each for each in packages if each not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for each in hidden:
            del sys.modules[each]
