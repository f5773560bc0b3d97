"""Translate documents and keep their markup: ``nmt translate --format``."""

import logging
from collections.abc import Sequence

from nmt_cli.files import replacing_path, standard_output
from nmt_cli.formats.document import translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.jobs.inputs import Job, name_of, opened
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import BYTE_ORDER_MARK, decode_lines, writing

logger = logging.getLogger(__name__)


def translate_documents(
    jobs: Sequence[Job], formats: Sequence[str], translator: Translator, errors: str
) -> None:
    """Translate documents, each written as a whole.

    If the translator's options request alignments, markup goes with the words that it is around.

    Args:
        errors: how to handle invalid UTF-8, as in decode_lines.

    Raises:
        NmtError: a document cannot be read or written.
    """
    translate = Translate.by(translator.translate, translator.options.alignments)
    for (source, output), format in zip(jobs, formats, strict=True):
        with opened(source) as stream:
            raw = list(stream)
        # The byte-order mark and the line ends, which decoding drops, belong to the document.
        mark = BYTE_ORDER_MARK if raw and raw[0].startswith(BYTE_ORDER_MARK.encode()) else ""
        ends = ["\r\n" if line.endswith(b"\r\n") else "\n" * line.endswith(b"\n") for line in raw]
        lines = decode_lines(raw, name_of(source), errors)
        text = mark + "".join(line + end for line, end in zip(lines, ends, strict=True))
        result = translate_document(format, text, name_of(source), translate).encode()
        if output is None:
            out = standard_output()
            out.write(result)
            out.flush()
        else:
            with replacing_path(output) as beside, writing(beside, output.suffix) as stream:
                stream.write(result)
