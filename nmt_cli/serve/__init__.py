"""``nmt serve``: a page, and the interfaces of LibreTranslate, DeepL and Apertium over HTTP."""
