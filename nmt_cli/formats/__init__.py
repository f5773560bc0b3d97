"""Translate documents and keep their markup: SRT, PO, Markdown, HTML, XML.

Adding a format takes its module, with a function that translates the text of a document, and its
suffixes.
"""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import InputError
from nmt_cli.text.lines import BYTE_ORDER_MARK, plain_name

if TYPE_CHECKING:
    from nmt_cli.formats.placing import Translate

# The format of files by their suffix.
SUFFIXES = {
    ".srt": "srt",
    ".po": "po",
    ".pot": "po",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".xml": "xml",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix, without the suffix of its compression."""
    suffix = plain_name(path).suffix.lower()
    if suffix not in SUFFIXES:
        hint = "use a suffix such as .srt, .po, .md or .html, or name the `format`"
        raise InputError(f"{path}: unknown document format", hint)
    return SUFFIXES[suffix]


def translate_document(
    format: str, text: str, name: str, translate: "Translate", untouched: Collection[str] = ()
) -> str:
    """Translate the text in a document; its markup, placeholders, lines and line ends stay.

    Args:
        format: one of FORMATS.
        text: the whole document, which may begin with a byte-order mark.
        name: of its file, for messages.
        translate: called twice at most, and not for texts without a letter.
        untouched: names of further HTML or XML elements whose content stays.

    Raises:
        InputError: the document cannot be parsed; names file and line.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    module = import_module(f"nmt_cli.formats.{'html' if format == 'xml' else format}")
    translate_format = getattr(module, f"translate_{format}")
    options = {"untouched": untouched} if untouched else {}
    return mark + translate_format(text.removeprefix(mark), name, translate, **options)
