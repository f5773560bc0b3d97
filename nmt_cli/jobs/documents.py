"""Translate documents and keep their markup: ``nmt translate --format``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nmt_cli.files import replacing_path, standard_output
from nmt_cli.formats.document import format_of, translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.jobs.inputs import Job, name_of, opened
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.text.lines import BYTE_ORDER_MARK, decode_lines, writing

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel


def translate_documents(
    options: TranslateOptions, jobs: Sequence[Job], model: "TranslationModel"
) -> None:
    """Translate documents, each written as a whole; alignments place the markup."""
    name = None if options.format == "auto" else options.format
    formats = [name or format_of(job.source) for job in jobs]
    decoding = replace(options.decoding, alignments=model.has_attention)
    translate = Translate.by(model.translator(decoding).translate, model.has_attention)
    for (source, output), format in zip(jobs, formats, strict=True):
        with opened(source) as stream:
            raw = list(stream)
        # The byte-order mark and the line ends, which decoding drops, belong to the document.
        mark = BYTE_ORDER_MARK if raw and raw[0].startswith(BYTE_ORDER_MARK.encode()) else ""
        ends = ["\r\n" if line.endswith(b"\r\n") else "\n" * line.endswith(b"\n") for line in raw]
        lines = decode_lines(raw, name_of(source), options.errors)
        text = mark + "".join(line + end for line, end in zip(lines, ends, strict=True))
        result = translate_document(format, text, name_of(source), translate).encode()
        if output is None:
            out = standard_output()
            out.write(result)
            out.flush()
        else:
            with replacing_path(output) as beside, writing(beside, output.suffix) as stream:
                stream.write(result)
