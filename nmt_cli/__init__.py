"""nmt: neural machine translation from the command line and from Python.

import nmt_cli

with nmt_cli.open("exports/phrasebook-pt-en") as model:
    for translation in model.translate(["Onde fica a farmácia?"]):
        print(translation.text)
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.errors import NmtError
    from nmt_cli.models import open
    from nmt_cli.search.lines import Translation
    from nmt_cli.search.options import DecodingOptions

# Nothing leaves the machine: onnxruntime's wheel would keep a record of its use and send it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# TensorFlow reads these when it is first imported, which Keras does in many places.
# oneDNN's matrix products are 1.3 to 2 times faster, but TensorFlow leaves them off on
# processors without AVX-512.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# Its messages about CUDA and CPU features are not for our users.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

__version__ = "0.1.0"
__all__ = ["DecodingOptions", "NmtError", "Translation", "open"]

_MODULES = {
    "DecodingOptions": "nmt_cli.search.options",
    "NmtError": "nmt_cli.errors",
    "Translation": "nmt_cli.search.lines",
    "open": "nmt_cli.models",
}


def __getattr__(name: str) -> object:
    """Import the public names when they are first used: ``import nmt_cli`` stays fast."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
