"""``nmt translate --format``: documents whose markup stays."""

import sys
from collections.abc import Sequence
from pathlib import Path

from nmt_cli.cli.options import say
from nmt_cli.cli.streams import bytes_of, name_of
from nmt_cli.cli.task import Task
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path
from nmt_cli.formats.document import format_of, translate_document
from nmt_cli.pipeline.inputs import Job
from nmt_cli.search.translator import Translator
from nmt_cli.text.compression import plain_name, writing
from nmt_cli.text.lines import BYTE_ORDER_MARK, decode_lines


def translate_documents(task: Task, jobs: Sequence[Job], translator: Translator) -> None:
    """Translate each document, and write it whole.

    Raises:
        NmtError: a document cannot be read or written.
    """

    def translate(lines: Sequence[str]) -> list[str]:
        return [each.text for each in translator.translate(lines)]

    for job in jobs:
        kind = kind_of(task, job.source)
        text = translate_document(kind, _text(task, job.source), name_of(job.source), translate)
        if job.output is None:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        else:
            with (
                replacing_path(job.output) as beside,
                writing(beside, job.output.suffix) as stream,
            ):
                stream.write(text.encode())


def kind_of(task: Task, source: Path) -> str:
    """The format of a document.

    Raises:
        NmtError: its name is to tell, and tells of none.
    """
    kind = format_of(plain_name(source)) if task.document == "auto" else task.document
    if kind is None:
        raise NmtError(
            f"{source}: its name tells of no format",
            "give it a suffix such as .srt, .po or .md, or name the --format",
        )
    return kind


def _text(task: Task, source: Path) -> str:
    """A document with its line ends and byte-order mark.

    Raises:
        NmtError: it cannot be read.
    """
    with bytes_of(source) as stream:
        raw = list(stream)
    mark = BYTE_ORDER_MARK if raw and raw[0].startswith(BYTE_ORDER_MARK.encode()) else ""
    ends = ["\r\n" if each.endswith(b"\r\n") else "\n" * each.endswith(b"\n") for each in raw]
    lines = decode_lines(raw, name_of(source), task.errors, say)
    return mark + "".join(line + end for line, end in zip(lines, ends, strict=True))
