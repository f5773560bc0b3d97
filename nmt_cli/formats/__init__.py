"""Files whose text is translated while all else in them stays: subtitles, PO, Markdown.

One entry, :func:`nmt_cli.formats.document.translate_document`. Each format finds its segments,
gives them to :mod:`nmt_cli.formats.kept` all at once, and puts the translations into the
original text at the places where the segments stood; nothing is written anew that need not be.
"""
