"""Translate documents and keep their markup: SRT, PO, Markdown, HTML, XML."""

SUFFIXES = {".srt": "srt", ".po": "po", ".pot": "po", ".md": "markdown", ".markdown": "markdown"}
SUFFIXES |= {".html": "html", ".htm": "html", ".xhtml": "html", ".xml": "xml"}
