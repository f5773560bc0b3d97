"""Serve models over HTTP: a page, the interfaces of LibreTranslate and DeepL (``nmt serve``)."""
