"""Read the corpora of a recipe.

A corpus specification is one of

    tfds:NAME:SPLIT    TensorFlow Datasets, e.g. tfds:ted_hrlr_translate/pt_to_en:train[:90%]
    phrasebook:SPLIT   the sentence pairs that come with the package (Portuguese, English)
    FILE.tsv           one pair per line, separated by a tab
    PREFIX             two line-aligned files, PREFIX.pt and PREFIX.en

Files may be compressed: FILE.tsv.gz, PREFIX.pt.xz, PREFIX.en.zst. All readers return pairs in the
recipe's direction: with data.source and data.target swapped, a recipe trains the other direction.
"""

import bz2
import contextlib
import io
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from nmt_cli.errors import InputError, RecipeError, first_line
from nmt_cli.evaluate.texts import EvaluationText, require_aligned
from nmt_cli.host import import_keras
from nmt_cli.recipe.config import DataConfig
from nmt_cli.text.detection import other_language
from nmt_cli.text.languages import base_language
from nmt_cli.text.lines import SUFFIXES, decode_lines, plain_name, read_lines, reading
from nmt_cli.web import language_name

logger = logging.getLogger(__name__)

# Lines of each side that language detection reads, and the first characters of each.
_CHECKED_LINES, _CHECKED_CHARACTERS = 20, 50
SPLITS = ("train", "dev", "test")  # of the phrasebook
_OWN_TEXT = "give `source` and `reference`"


class MissingCorpusError(InputError):
    """A corpus is not on this machine."""


@dataclass(frozen=True)
class Corpus:
    """Aligned sentences: ``source[i]`` and ``target[i]`` are translations of each other, from the
    corpus named ``origins[i]`` if that is known."""

    name: str
    source: list[str]
    target: list[str]
    origins: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.source)

    def select(self, rows: Iterable[int]) -> "Corpus":
        """Return some of the pairs, by number."""
        rows = list(rows)
        sides = (self.source, self.target, self.origins)
        return Corpus(self.name, *([side[row] for row in rows if side] for side in sides))


def read_corpus(specification: str, config: DataConfig) -> Corpus:
    """Read one corpus of a recipe."""
    prefix, _, rest = specification.partition(":")
    if prefix == "phrasebook":
        return _phrasebook(rest, config)
    if prefix == "tfds":
        return _tfds(rest, config)
    path = Path(config.root) / specification
    if not specification or not path.name:
        raise RecipeError(f"'{specification}' is not a corpus", "see data.train and data.dev")
    is_tsv = plain_name(path).suffix == ".tsv"
    sides = [""] if is_tsv else [f".{config.source}", f".{config.target}"]
    paths = [_existing(path.with_name(f"{path.name}{side}")) for side in sides]
    for file in paths:
        if not file.exists():
            raise MissingCorpusError(
                f"{file}: no such file",
                "set the folder of the corpora with data.root; comments in the recipe explain "
                "where its data comes from",
            )
    if is_tsv:
        return _tsv(paths[0], config)
    source, target = map(read_lines, paths)
    require_aligned(paths[0], source, paths[1], target)
    return Corpus(path.name, source, target)


def _existing(path: Path) -> Path:
    """Return a file's path, or the path of a compressed one where only that exists."""
    paths = [path, *(path.with_name(f"{path.name}{suffix}") for suffix in SUFFIXES)]
    return next(filter(Path.exists, paths), path)


def read_held_out(corpus: str | None, config: DataConfig) -> tuple[list[str], list[str]]:
    """Read the held-out lines of an imported run: a corpus as in data.dev, or None for none."""
    try:
        pairs = Corpus("", [], []) if corpus is None else read_corpus(corpus, config)
    except InputError as error:
        hint = f"give a PREFIX: the text is in PREFIX.{config.source} and PREFIX.{config.target}"
        raise InputError(error.message, hint) from None
    return pairs.source, pairs.target


def check_languages(corpus: Corpus, config: DataConfig) -> None:
    """Warn if a side of a corpus is plainly not in its language, by lines from all of it."""
    expected, step = (config.source, config.target), max(1, len(corpus) // _CHECKED_LINES)
    samples = (
        "\n".join(line[:_CHECKED_CHARACTERS] for line in side[::step])
        for side in (corpus.source, corpus.target)
    )
    sides = [*map(other_language, samples, expected, expected[::-1])]
    if sides == [base_language(code) for code in expected[::-1]]:
        names = " and ".join(map(language_name, expected))
        logger.warning(f"{corpus.name}: {names} seem to be swapped: compare the names of its files")
        return
    for side, other, code in zip(("source", "target"), sides, expected, strict=True):
        if other:
            logger.warning(
                f"{corpus.name}: the {side} side looks like {language_name(other)}, but the recipe "
                f"says {language_name(code)}; data.language_check = false hides this warning"
            )


def read_test_sets(configs: Mapping[Path, DataConfig]) -> list[EvaluationText]:
    """Read the test sets of runs from their [data] tables; all must name the same."""
    first: list[EvaluationText] = []
    for folder, config in configs.items():
        texts = []
        for name in config.test:
            corpus = read_corpus(name, config)
            if not len(corpus):
                raise InputError(f"nothing to evaluate: {corpus.name} is empty", "see data.test")
            domains = [corpus.name] * len(corpus)
            texts.append(EvaluationText(corpus.name, corpus.source, [corpus.target], domains))
        first = first or texts
        if not texts:
            raise InputError(f"the recipe of {folder} names no test set", _OWN_TEXT)
        if texts != first:
            reason = f"the recipes of {next(iter(configs))} and {folder} name different test sets"
            raise InputError(reason, _OWN_TEXT)
    return first


def _tsv(path: Path, config: DataConfig) -> Corpus:
    columns = config.tsv_columns or (config.source, config.target)
    for language in (config.source, config.target):
        if language not in columns:
            reason = f"{path}: data.tsv_columns {list(columns)} has no column '{language}'"
            example = f'data.tsv_columns=["{config.source}", "{config.target}"]'
            raise RecipeError(reason, f"list the languages of the columns in order, e.g. {example}")
    source_column, target_column = columns.index(config.source), columns.index(config.target)
    needed = max(source_column, target_column) + 1
    source, target = [], []
    with reading(path) as stream:
        for number, line in enumerate(decode_lines(stream, str(path)), start=1):
            fields = line.split("\t")
            if len(fields) < needed:
                reason = f"{path}, line {number}: {len(fields)} column(s), {needed} needed"
                raise InputError(reason, "separate the columns by one tab")
            source.append(fields[source_column])
            target.append(fields[target_column])
    return Corpus(plain_name(path).stem, source, target)


def _phrasebook(split: str, config: DataConfig) -> Corpus:
    if {config.source, config.target} != {"pt", "en"}:
        reason = f"the phrasebook is in pt and en, not {config.source} and {config.target}"
        raise RecipeError(reason, "set data.source and data.target to these two")
    pairs = sentence_pairs(split)
    source, target = ([pair[side] for pair in pairs] for side in (config.source, config.target))
    return Corpus(f"phrasebook.{split}", source, target)


def sentence_pairs(split: str) -> list[dict[str, str]]:
    """Return the phrasebook's pairs of one split in order, each {"pt": ..., "en": ...}.
    tools/phrasebook in the source repository generates them."""
    if split not in SPLITS:
        raise RecipeError(f"phrasebook:{split}: no such split", "choose train, dev or test")
    packed = files("nmt_cli.data").joinpath("phrasebook.tsv.bz2").read_bytes()
    rows = (line.split("\t") for line in bz2.decompress(packed).decode("utf-8").splitlines())
    return [{"pt": pt, "en": en} for name, pt, en in rows if name == split]


def _tfds(rest: str, config: DataConfig) -> Corpus:
    match = re.fullmatch(r"([^\[]+):([^:\[]+(?:\[.*)?)", rest)  # slices have colons, too
    if not match:
        raise RecipeError(f"tfds:{rest}: not of the form tfds:NAME:SPLIT")
    name, split = match.groups()
    builder = _tfds_builder(name, split, config)
    corpus = Corpus(f"{name.replace('/', '-')}.{split}", [], [])
    sides = {config.source: corpus.source, config.target: corpus.target}
    for language in sides:
        if language not in builder.info.features:
            languages = ", ".join(builder.info.features)
            reason = f"{builder.name} has no language '{language}' (it has {languages})"
            raise RecipeError(reason, "set data.source and data.target")
    try:
        for record in builder.as_dataset(split=split).as_numpy_iterator():
            for language, lines in sides.items():
                # A line break inside a record would break the alignment of the prepared text.
                lines.append(re.sub(r"[\r\n]+", " ", record[language].decode("utf-8")))
    except Exception as error:
        reason = f"{builder.data_path}: split '{split}' cannot be read ({first_line(error)})"
        raise InputError(reason, "delete the folder and download it again") from None
    return corpus


def _tfds_builder(name: str, split: str, config: DataConfig) -> Any:
    import_keras()
    import tensorflow_datasets as tfds
    from tensorflow_datasets.core.download import downloader

    # The default of ten retries with doubling pauses takes 200 s without internet.
    downloader.MAX_RETRIES = min(downloader.MAX_RETRIES, 4)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()
    try:
        builder = tfds.builder(name, data_dir=config.tfds_dir or None)
        if not builder.data_path.exists():
            with contextlib.redirect_stdout(io.StringIO()):  # messages about unknown sizes
                builder.download_and_prepare()
    except Exception as error:  # of many types: no network, no such name, an incomplete folder
        raise MissingCorpusError(
            f"TensorFlow Datasets cannot get {name} ({first_line(error)})",
            "nmt train phrasebook works offline; for this data set, copy its folder from a machine "
            "that has it and set data.tfds_dir",
        ) from None
    try:
        if not builder.info.splits[split].num_examples:
            raise ValueError("it is empty")
    except Exception as error:  # not one of the splits, nor slices of them
        raise RecipeError(
            f"{name} in {builder.data_path} has no split '{split}' "
            f"({first_line(error).rstrip('.')})",
            "download the whole data set, or choose other splits in data.train and data.dev",
        ) from None
    return builder
