"""Training pairs of text and its machine translation: back-translation and distillation."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, tee
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from nmt_cli.errors import InputError, ModelError, OutputError
from nmt_cli.files import replacing
from nmt_cli.jobs.files import check_free, open_lines
from nmt_cli.jobs.records import Lines, Record
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.segments import repeats
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import is_blank, plain_name

if TYPE_CHECKING:
    from nmt_cli.jobs.folders import DataPath
    from nmt_cli.models import TranslationModel

logger = logging.getLogger(__name__)

# What becomes of a line ("written", or why it is left out), the line, and its translation.
Pair = tuple[str, str, str]

WRITTEN = "written"


class PairLines(Lines):
    """Lines whose output is a pair: what becomes of it, the line and its translation."""

    def written(self, record: Record, translation: Translation) -> list[str]:
        """Return three lines for a pair, or one for a line that is left out."""
        pair = pair_of(record.line.text, translation)
        return list(pair if pair[0] == WRITTEN else pair[:1])


def pairs_in(parts: "Iterable[DataPath]") -> Iterator[Pair]:
    """Read the pairs that :class:`PairLines` wrote."""
    for part in parts:
        with part.opened() as stream:
            lines = (raw.decode().removesuffix("\n") for raw in stream)
            for outcome in lines:
                line, text = (next(lines), next(lines)) if outcome == WRITTEN else ("", "")
                yield outcome, line, text


def synthesize_files(
    files: Sequence[Path],
    model: "TranslationModel",
    options: DecodingOptions,
    output: Path,
    force: bool,
) -> None:
    """Write the lines of files and their translations to ``output.SOURCE``, ``output.TARGET``."""
    lines = chain.from_iterable([open_lines(file) for file in files])
    paths = pair_files(model, output, files, force)
    synthesize(lines, model.translator(options), *paths)


def pair_files(
    model: "TranslationModel", output: Path, files: Sequence[Path], force: bool
) -> list[Path]:
    """Return the two files to write, checked; see :func:`synthesize_files`."""
    languages = model.languages
    # Bundles come from others: a language must not lead to another folder.
    usable = all(re.fullmatch(r"\w[\w.-]*", language) for language in languages)
    if not usable or languages[0] == languages[1]:
        names = " and ".join(map(repr, languages))
        reason = f"{model.path}: its languages, {names}, cannot name two files"
        raise ModelError(reason, "use a model whose recipe has codes such as pt and en")
    if output.name in ("", "..") or plain_name(output).suffix == ".tsv":
        reason = f"{output}: cannot be the PREFIX of two files"  # a recipe would read one TSV file
        raise OutputError(reason, "give one such as corpora/mono.bt")
    paths = [output.with_name(f"{output.name}.{language}") for language in languages]
    for path in paths:
        if path.exists() and any(file.exists() and path.samefile(file) for file in files):
            raise OutputError(f"{path}: is the text to translate itself", "choose another `output`")
        check_free(path, force)
    return paths


def synthesize(
    lines: Iterable[str], translator: Translator, originals: Path, translations: Path
) -> Counter[str]:
    """Translate lines and write both sides, aligned, in bounded memory.

    Returns how many lines were "written", were "blank", or had an "empty" or "degenerate"
    translation. Existing files stay if there is an error or no pair.
    """
    # The translator reads a window ahead: tee holds no more than that.
    sources, translated = tee(lines)
    pairs = map(pair_of, sources, translator.translate(translated))
    shown = tqdm(pairs, desc="translating", unit="line", disable=None)
    return write_pairs(shown, originals, translations)


def pair_of(line: str, translation: Translation) -> Pair:
    """Return a line, its translation, and what becomes of them."""
    text = translation.text.strip()
    if is_blank(line):
        outcome = "blank"
    elif not translation.ids and any(map(str.isalpha, line)):  # the text is that of the line
        outcome = "empty"
    elif repeats(text, line) or ("\ufffd" in text and "\ufffd" not in line):
        outcome = "degenerate"  # U+FFFD is the result of decoding invalid UTF-8
    else:
        outcome = WRITTEN
    return outcome, line, text


def write_pairs(pairs: Iterable[Pair], originals: Path, translations: Path) -> Counter[str]:
    """Write both sides of the pairs that are to be written; see :func:`synthesize`."""
    counts: Counter[str] = Counter()
    with replacing(originals) as original, replacing(translations) as translation:
        for outcome, line, text in pairs:
            counts[outcome] += 1
            if outcome == WRITTEN:
                original.write(f"{line}\n")
                translation.write(f"{text}\n")
        report = (
            f"{counts[WRITTEN]:,} pairs of {counts.total():,} lines; left out: "
            f"{counts['blank']:,} blank, {counts['empty']:,} with an empty translation, "
            f"{counts['degenerate']:,} with a degenerate one"
        )
        if not counts[WRITTEN]:
            raise InputError(f"nothing to write: {report}", "check the text and the model")
        for stream in (original, translation):
            stream.flush()  # a full disk must show before either file is replaced
    logger.info(f"wrote {originals} and {translations}: {report}")
    return counts
