"""Translate documents and keep their markup: SRT subtitles, PO files, Markdown."""
