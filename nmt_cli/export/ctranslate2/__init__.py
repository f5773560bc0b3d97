"""``nmt export --ctranslate2``: a folder that CTranslate2 translates with."""
