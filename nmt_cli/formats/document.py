"""The document formats, and the translation of a document of any of them.

Adding a format takes its module and one line of FORMATS.
"""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.errors import InputError
from nmt_cli.text.lines import BYTE_ORDER_MARK, plain_name

if TYPE_CHECKING:
    from nmt_cli.formats.placing import Translate


class Format(NamedTuple):
    """A format: the suffixes of its files, and the module and function that translates them.

    The function takes the text, the name of the file, for messages, and a Translate.
    """

    suffixes: tuple[str, ...]
    function: str


FORMATS = {
    "srt": Format((".srt",), "srt:translate_srt"),
    "po": Format((".po", ".pot"), "po:translate_po"),
    "markdown": Format((".md", ".markdown"), "markdown:translate_markdown"),
    "html": Format((".html", ".htm", ".xhtml"), "html:translate_html"),
    "xml": Format((".xml",), "html:translate_xml"),
}
SUFFIXES = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix, without the suffix of its compression."""
    suffix = plain_name(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: unknown document format",
            "use a suffix such as .srt, .po, .md or .html, or name the `format`",
        )
    return SUFFIXES[suffix]


def translate_document(
    format: str, text: str, name: str, translate: "Translate", untouched: Collection[str] = ()
) -> str:
    """Translate the text in a document; its markup, placeholders, lines and line ends stay.

    Args:
        format: a key of FORMATS.
        text: the whole document, which may begin with a byte-order mark.
        name: of its file, for messages.
        translate: called twice at most, and not for texts without a letter.
        untouched: names of further HTML or XML elements whose content stays.

    Raises:
        InputError: the document cannot be parsed; names file and line.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    module, _, function = FORMATS[format].function.partition(":")
    translate_format = getattr(import_module(f"nmt_cli.formats.{module}"), function)
    options = {"untouched": untouched} if untouched else {}
    return mark + translate_format(text.removeprefix(mark), name, translate, **options)
