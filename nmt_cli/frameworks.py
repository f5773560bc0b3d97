"""Importing Keras and TensorFlow without their startup messages."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec


def import_keras() -> None:
    """Import Keras and its backend with the process's stderr redirected.

    While it loads, TensorFlow writes about logging, CUDA stubs and oneDNN straight to file
    descriptor 2, before any of its own settings can stop it.

    Raises:
        ImportError: Keras or its backend is not installed.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        import_module("keras")
        # With JAX, too, Keras loads TensorFlow if it is installed, at the first random seed.
        if find_spec("tensorflow"):
            import_module("tensorflow")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
