"""One entry to all formats."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.formats.kept import Translate
from nmt_cli.formats.markdown import translate_markdown
from nmt_cli.formats.po import translate_po
from nmt_cli.formats.srt import translate_srt
from nmt_cli.text.lines import BYTE_ORDER_MARK

_TRANSLATORS: dict[str, Callable[[str, str, Translate], str]] = {
    "srt": translate_srt,
    "po": translate_po,
    "markdown": translate_markdown,
}

FORMATS = tuple(_TRANSLATORS)

_SUFFIXES = {
    ".srt": "srt",
    ".po": "po",
    ".pot": "po",
    ".md": "markdown",
    ".markdown": "markdown",
}


def format_of(path: Path) -> str | None:
    """The format that a file's name speaks for, if any."""
    return _SUFFIXES.get(path.suffix.lower())


def translate_document(format: str, text: str, name: str, translate: Translate) -> str:
    """Translate the text in a document; its markup, placeholders and lines stay.

    A byte-order mark, line ends and a missing last line end come out as they went in, if
    ``text`` has them: read with ``newline=""``.

    Args:
        format: one of FORMATS.
        text: the whole document.
        name: of its file, for messages.
        translate: gives translations of texts, in order, each of one line; it is called twice
            at most and not for what has no letter.

    Raises:
        NmtError: the document cannot be parsed (names file and line), or no such format.
        ImportError: the format's library is not installed (``nmt_cli[formats]``).
    """
    if format not in _TRANSLATORS:
        raise NmtError(f"{format}: no such format", f"take one of {', '.join(FORMATS)}")
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    return mark + _TRANSLATORS[format](text.removeprefix(mark), name, translate)
