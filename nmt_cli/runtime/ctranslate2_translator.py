"""Where earlier exports' model cards import :func:`load_ctranslate2` from."""

from nmt_cli.export.ctranslate2.translator import load_ctranslate2

__all__ = ["load_ctranslate2"]
