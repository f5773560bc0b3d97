"""Training pairs of text and its machine translation: back-translation and distillation."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from nmt_cli.errors import NmtError, Say
from nmt_cli.files import replacing
from nmt_cli.jobs.inputs import open_lines
from nmt_cli.jobs.outputs import check_free
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.repetition import repeats
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import is_blank

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel

# What becomes of a line ("written", or why it is left out), the line, and its translation.
Pair = tuple[str, str, str]

UNREADABLE = "\ufffd"  # the result of decoding invalid UTF-8


def synthesize_files(
    files: Sequence[Path],
    model: "TranslationModel",
    options: DecodingOptions,
    output: Path,
    force: bool,
    say: Say,
) -> None:
    """Write the lines of files and their translations to ``output.SOURCE``, ``output.TARGET``.

    Args:
        files: in the model's source language; ``-`` for standard input.
        output: the two files without their language suffixes.
        force: replace existing files.
        say: receives a message about what was written.

    Raises:
        NmtError: a file cannot be read, an output exists or cannot be written, the model's
            languages cannot be file suffixes, or no line gave a pair.
    """
    lines = chain.from_iterable([open_lines(file) for file in files])
    places = pair_files(model, output, files, force)
    first = list(islice(lines, 2))
    translator = model.translator(options, len(first))
    counts = synthesize(chain(first, lines), translator, *places)
    say(f"wrote {places[0]} and {places[1]}: {report(counts)}")


def pair_files(
    model: "TranslationModel", output: Path, files: Sequence[Path], force: bool
) -> list[Path]:
    """The two files to write, checked; see :func:`synthesize_files`."""
    languages = model.languages
    # Bundles come from others: a language must not lead to another folder.
    usable = all(re.fullmatch(r"\w[\w.-]*", each) for each in languages)
    if not usable or languages[0] == languages[1]:
        raise NmtError(
            f"{model.path}: its languages, {' and '.join(map(repr, languages))}, "
            "cannot name two files",
            "use a model whose recipe has codes such as pt and en",
        )
    if output.name in ("", ".."):
        raise NmtError(f"{output}: is not a file name", "give a PREFIX, e.g. -o corpora/mono.bt")
    places = [output.with_name(f"{output.name}.{language}") for language in languages]
    for place in places:
        if place.exists() and any(each.exists() and place.samefile(each) for each in files):
            raise NmtError(f"{place}: is the text to translate itself", "choose another -o")
        check_free(place, force)
    return places


def synthesize(
    lines: Iterable[str], translator: Translator, originals: Path, translations: Path
) -> Counter[str]:
    """Translate lines and write both sides, aligned, in bounded memory.

    Returns:
        how many lines were "written", were "blank", or had an "empty" or "degenerate" translation.

    Raises:
        NmtError: no line gave a pair, or the files cannot be written; existing files stay.
    """
    # The translator reads a window ahead: tee holds no more than that.
    given, translated = tee(lines)
    pairs = pairs_of(given, translator.translate(translated))
    shown = tqdm(pairs, desc="translating", unit="line", disable=None)
    return write_pairs(shown, originals, translations)


def pairs_of(lines: Iterable[str], found: Iterable[Translation]) -> Iterator[Pair]:
    """Yield lines and their translations, and what becomes of them."""
    for line, each in zip(lines, found, strict=True):
        text = each.text.strip()
        if is_blank(line):
            outcome = "blank"
        elif not text:
            outcome = "empty"
        else:
            outcome = "degenerate" if is_degenerate(text, line) else "written"
        yield outcome, line, text


def write_pairs(pairs: Iterable[Pair], originals: Path, translations: Path) -> Counter[str]:
    """Write both sides of the pairs that are to be written; see :func:`synthesize`."""
    counts: Counter[str] = Counter()
    with replacing(originals) as original, replacing(translations) as translation:
        for outcome, line, text in pairs:
            counts[outcome] += 1
            if outcome == "written":
                original.write(f"{line}\n")
                translation.write(f"{text}\n")
        if not counts["written"]:
            raise NmtError(f"nothing to write: {report(counts)}", "check the text and the model")
        for stream in (original, translation):
            stream.flush()  # a full disk must show before either file is replaced
    return counts


def report(counts: Counter[str]) -> str:
    """Report in one line how many lines gave a pair, and why others did not."""
    return (
        f"{counts['written']:,} pairs of {counts.total():,} lines; left out: "
        f"{counts['blank']:,} blank, {counts['empty']:,} with an empty translation, "
        f"{counts['degenerate']:,} with a degenerate one"
    )


def is_degenerate(text: str, line: str) -> bool:
    """Whether a translation repeats itself or is unreadable although its source is not."""
    return repeats(text, line) or (UNREADABLE in text and UNREADABLE not in line)
