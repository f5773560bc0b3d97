"""Translate a document of any format."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.formats import SUFFIXES
from nmt_cli.formats.html import translate_html
from nmt_cli.formats.markdown import translate_markdown
from nmt_cli.formats.po import translate_po
from nmt_cli.formats.segments import Translate
from nmt_cli.formats.srt import translate_srt
from nmt_cli.text.lines import BYTE_ORDER_MARK, plain_name

_TRANSLATORS: dict[str, Callable[..., str]] = {
    "srt": translate_srt,
    "po": translate_po,
    "markdown": translate_markdown,
    "html": translate_html,
    "xml": partial(translate_html, xml=True),
}
FORMATS = tuple(_TRANSLATORS)


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix, not counting that of its compression.

    Raises:
        NmtError: the suffix is not that of a known format.
    """
    suffix = plain_name(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise NmtError(
            f"{path}: unknown document format",
            "use a suffix such as .srt, .po, .md or .html, or name the `format`",
        )
    return SUFFIXES[suffix]


def translate_document(
    format: str, text: str, name: str, translate: Translate, untouched: Collection[str] = ()
) -> str:
    """Translate the text in a document; its markup, placeholders, lines and line ends stay.

    Args:
        format: one of FORMATS.
        text: the whole document, which may begin with a byte-order mark.
        name: of its file, for messages.
        translate: returns the translations of texts, in order, each of one line; called twice
            at most, and not for texts without a letter.
        untouched: names of elements of HTML or XML whose content stays, besides code and the like.

    Raises:
        NmtError: the document cannot be parsed; names file and line.
        ImportError: the format's library is not installed (``nmt_cli[formats]``).
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    translate_format = _TRANSLATORS[format]
    if untouched:
        translate_format = partial(translate_format, untouched=untouched)
    return mark + translate_format(text.removeprefix(mark), name, translate)
