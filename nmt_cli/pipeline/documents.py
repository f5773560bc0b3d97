"""Translate documents and keep their markup: ``nmt translate --format``."""

from collections.abc import Callable, Sequence
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path, standard_output
from nmt_cli.formats.document import format_of, translate_document
from nmt_cli.pipeline.inputs import Job, name_of, opened
from nmt_cli.search.translator import Translator
from nmt_cli.text.compression import plain_name, writing
from nmt_cli.text.lines import BYTE_ORDER_MARK, decode_lines


def document_format(source: Path, format: str) -> str:
    """The format of a document; ``format`` "auto" goes by the suffix of its name.

    Raises:
        NmtError: the suffix is not that of a known format.
    """
    kind = format_of(plain_name(source)) if format == "auto" else format
    if kind is None:
        raise NmtError(
            f"{source}: unknown document format",
            "use a suffix such as .srt, .po or .md, or name the --format",
        )
    return kind


def translate_documents(
    jobs: Sequence[Job],
    formats: Sequence[str],
    translator: Translator,
    errors: str,
    warn: Callable[[str], None],
) -> None:
    """Translate documents, each written as a whole.

    Args:
        jobs: what to read and write.
        formats: of each document.
        translator: of the texts in them.
        errors: how to handle invalid UTF-8, as of text.lines.decode_lines.
        warn: receives warnings about the input.

    Raises:
        NmtError: a document cannot be read or written.
    """

    def translate(lines: Sequence[str]) -> list[str]:
        return [each.text for each in translator.translate(lines)]

    for job, kind in zip(jobs, formats, strict=True):
        source = _text(job.source, errors, warn)
        text = translate_document(kind, source, name_of(job.source), translate).encode()
        if job.output is None:
            out = standard_output()
            out.write(text)
            out.flush()
        else:
            with (
                replacing_path(job.output) as beside,
                writing(beside, job.output.suffix) as stream,
            ):
                stream.write(text)


def _text(source: Path, errors: str, warn: Callable[[str], None]) -> str:
    """A document with its line ends and byte-order mark."""
    with opened(source) as stream:
        raw = list(stream)
    mark = BYTE_ORDER_MARK if raw and raw[0].startswith(BYTE_ORDER_MARK.encode()) else ""
    ends = ["\r\n" if each.endswith(b"\r\n") else "\n" * each.endswith(b"\n") for each in raw]
    lines = decode_lines(raw, name_of(source), errors, warn)
    return mark + "".join(line + end for line, end in zip(lines, ends, strict=True))
