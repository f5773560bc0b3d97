"""Translate documents and keep their markup: SRT, PO, Markdown, HTML, XML."""
