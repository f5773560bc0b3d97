"""Serve models over HTTP with the interfaces of LibreTranslate and DeepL: ``nmt serve``."""
