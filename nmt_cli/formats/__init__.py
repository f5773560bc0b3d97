"""Translate documents and keep their markup: subtitles, strings, web pages, office, plain text.

Adding a format takes its module, with a function that translates the text of a document, and its
suffixes.
"""

import codecs
import io
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import InputError
from nmt_cli.text.lines import BYTE_ORDER_MARK, STRICT, decode_lines, plain_name

if TYPE_CHECKING:
    from nmt_cli.formats.placing import Translate
    from nmt_cli.formats.tags import Tags

# Formats with the suffixes of their files.
FORMATS = {
    "srt": ".srt",
    "webvtt": ".vtt",
    "ass": ".ass .ssa",
    "xliff": ".xliff .xlf",
    "po": ".po .pot",
    "markdown": ".md .markdown",
    "html": ".html .htm .xhtml",
    "xml": ".xml",
    "json": ".json .arb",
    "yaml": ".yaml .yml",
    "properties": ".properties",
    "ios": ".strings .stringsdict",
    "android": "",
    "paragraphs": "",
}
# Those of zip archives, whose documents are bytes.
ARCHIVES = {
    "docx": ".docx .docm .dotx",
    "pptx": ".pptx .pptm",
    "xlsx": ".xlsx .xlsm",
    "odt": ".odt .ott",
    "ods": ".ods",
    "odp": ".odp",
    "epub": ".epub",
}
# Some .strings files of iOS, and subtitles, are not UTF-8.
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# String resources are XML with a root element of their own.
_ANDROID = re.compile(
    r"\A(?:<\?(?:(?!\?>).)*+\?>|<!--(?:(?!-->).)*+-->|\s++)*+<resources[\s>]", re.DOTALL
)


def format_of(path: Path) -> str:
    """Return the format of a file by its suffix, without that of its compression; "" if none."""
    suffix = plain_name(path).suffix.lower()
    formats = FORMATS | ARCHIVES
    return next((name for name in formats if suffix in formats[name].split()), "")


def translate_file(
    format: str, content: bytes, name: str, translate: "Translate", errors: str = STRICT
) -> bytes:
    """Translate a document as it is in a file; see :func:`translate_document`.

    Args:
        format: one of FORMATS or ARCHIVES.
        errors: what to do with invalid UTF-8; see decode_lines.
    """
    if format in ARCHIVES:
        from nmt_cli.formats.office import translate_office

        return translate_office(format, content, name, translate)
    text, encoding = decoded(content, name, errors)
    return translate_document(format, text, name, translate).encode(encoding)


def decoded(content: bytes, name: str, errors: str = STRICT) -> tuple[str, str]:
    """Return the text of a file, with its byte-order mark and line ends, and its encoding."""
    if encoding := _UTF_16.get(content[:2]):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            raise InputError(f"{name}: invalid UTF-16", "convert the file to UTF-8") from None
    mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK.encode()) else ""
    text = "\n".join(decode_lines(io.BytesIO(content), name, errors, keep_cr=True))
    return mark + text + "\n" * content.endswith(b"\n"), "utf-8"


def translate_document(
    format: str, text: str, name: str, translate: "Translate", tags: "Tags | None" = None
) -> str:
    """Translate the text in a document; its markup, placeholders, lines and line ends stay.

    Args:
        format: one of FORMATS.
        text: the whole document, which may begin with a byte-order mark.
        name: of its file, for messages.
        translate: called a few times, and not for texts without a letter.
        tags: names of HTML or XML elements that are not translated as others are.

    Raises:
        InputError: the document cannot be parsed; names file and line.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    if not text.strip():
        return mark + text
    format = "android" if format == "xml" and _ANDROID.match(text) else format
    module = import_module(f"nmt_cli.formats.{'html' if format == 'xml' else format}")
    translate_format = getattr(module, f"translate_{format}")
    options = {"tags": tags} if tags else {}
    return mark + translate_format(text, name, translate, **options)
