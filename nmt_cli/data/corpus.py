"""Reading the corpora that a recipe names.

A corpus specification is one of

    tfds:NAME:SPLIT    TensorFlow Datasets, e.g. tfds:ted_hrlr_translate/pt_to_en:train
    phrasebook:SPLIT   the sentence pairs that come with the package (Portuguese, English)
    FILE.tsv           one pair a line, sides parted by a tab
    PREFIX             two line-aligned files, PREFIX.pt and PREFIX.en

Every reader gives pairs in the recipe's direction, so that swapping data.source and
data.target trains the other way.
"""

import contextlib
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.data.phrasebook import sentence_pairs
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import DataConfig
from nmt_cli.text.lines import decode_lines, open_binary, read_lines

LINE_BREAK = re.compile(r"[\r\n]+")


@dataclass(frozen=True)
class Corpus:
    """Aligned sentences: ``source[i]`` and ``target[i]`` say the same."""

    name: str
    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, rows: Iterable[int]) -> "Corpus":
        """Some of the pairs, by number."""
        pairs = [(self.source[row], self.target[row]) for row in rows]
        return Corpus(self.name, [source for source, _ in pairs], [target for _, target in pairs])


def read_corpus(specification: str, config: DataConfig) -> Corpus:
    """Read one corpus of a recipe.

    Raises:
        NmtError: a file is missing or not UTF-8, the sides differ in length, a TSV line
            has too few fields, or TensorFlow Datasets cannot deliver.
    """
    kind, _, rest = specification.partition(":")
    if kind == "phrasebook":
        return _phrasebook(rest, config)
    if kind == "tfds":
        return _tfds(rest, config)
    path = Path(config.root) / specification
    if not specification or not path.name:
        raise NmtError(f"'{specification}' names no corpus", "see data.train, data.dev, data.test")
    if path.suffix == ".tsv":
        return _tsv(path, config)
    return _two_files(path, config)


def _two_files(prefix: Path, config: DataConfig) -> Corpus:
    source_path = prefix.with_name(f"{prefix.name}.{config.source}")
    target_path = prefix.with_name(f"{prefix.name}.{config.target}")
    source, target = read_lines(source_path), read_lines(target_path)
    if len(source) != len(target):
        raise NmtError(
            f"{source_path} has {len(source)} lines, {target_path} has {len(target)}",
            "parallel files need one sentence a line, aligned",
        )
    return Corpus(prefix.name, source, target)


def _tsv(path: Path, config: DataConfig) -> Corpus:
    columns = config.tsv_columns or (config.source, config.target)
    for language in (config.source, config.target):
        if language not in columns:
            raise NmtError(
                f"{path}: data.tsv_columns {list(columns)} has no column '{language}'",
                f"name the columns' languages in order, e.g. "
                f'data.tsv_columns=["{config.source}", "{config.target}"]',
            )
    where = [columns.index(config.source), columns.index(config.target)]
    source, target = [], []
    with open_binary(path) as stream:
        for number, line in enumerate(decode_lines(stream, str(path)), start=1):
            fields = line.split("\t")
            if len(fields) <= max(where):
                raise NmtError(
                    f"{path}, line {number}: {len(fields)} field(s), {max(where) + 1} needed",
                    "part the sides by one tab",
                )
            source.append(fields[where[0]])
            target.append(fields[where[1]])
    return Corpus(path.stem, source, target)


def _phrasebook(split: str, config: DataConfig) -> Corpus:
    if {config.source, config.target} != {"pt", "en"}:
        raise NmtError(
            f"the phrasebook knows pt and en, not {config.source} and {config.target}",
            "set data.source and data.target to these two",
        )
    pairs = sentence_pairs(split)
    return Corpus(
        f"phrasebook.{split}",
        [pair[config.source] for pair in pairs],
        [pair[config.target] for pair in pairs],
    )


def _tfds(rest: str, config: DataConfig) -> Corpus:
    name, _, split = rest.rpartition(":")
    if not name or not split:
        raise NmtError(f"tfds:{rest}: not of the form tfds:NAME:SPLIT")
    builder = _tfds_builder(name, split, config)
    source, target = [], []
    for record in _tfds_records(builder, split, config):
        source.append(record[config.source])
        target.append(record[config.target])
    return Corpus(f"{name.replace('/', '-')}.{split}", source, target)


def _tfds_builder(name: str, split: str, config: DataConfig) -> Any:
    try:
        import tensorflow_datasets as tfds
    except ImportError:
        raise NmtError(
            f"tfds:{name} needs tensorflow-datasets", "pip install 'nmt_cli[train]'"
        ) from None
    # TensorFlow Datasets fails in many ways (no network, no such name, a half-written
    # folder); for the user all of them mean that the data is not to be had here.
    try:
        builder = tfds.builder(name, data_dir=config.tfds_dir or None)
        if not builder.data_path.exists():
            _download(builder)
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise NmtError(
            f"TensorFlow Datasets cannot get {name} ({reason[0][:160] if reason else error!r})",
            "prepare it on a machine with internet and give --set data.tfds_dir=DIR, or train "
            "on your own files with --set 'data.train=[\"PREFIX\"]' (see recipes/docs-pt-en.toml)",
        ) from None
    if split not in builder.info.splits:
        raise NmtError(
            f"{name} in {builder.data_path} has no split '{split}' "
            f"(it has {', '.join(sorted(builder.info.splits)) or 'none'})",
            "download the whole data set, or name other splits with --set data.train=..., "
            "data.dev=..., data.test=...",
        )
    return builder


def _download(builder: Any) -> None:
    """Let TensorFlow Datasets fetch its data, without its habits that suit no pipeline."""
    import tensorflow_datasets as tfds
    from tensorflow_datasets.core.download import downloader

    # Ten retries with doubling pauses keep a machine without internet waiting 200 s.
    downloader.MAX_RETRIES = min(downloader.MAX_RETRIES, 4)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        tfds.disable_progress_bar()
    with contextlib.redirect_stdout(sys.stderr):  # results alone go to stdout
        builder.download_and_prepare()


def _tfds_records(builder: Any, split: str, config: DataConfig) -> Iterator[dict[str, str]]:
    languages = (config.source, config.target)
    features = builder.info.features
    missing = [language for language in languages if language not in features]
    if missing:
        raise NmtError(
            f"{builder.name} has no language '{missing[0]}' (it has {', '.join(features)})",
            "set data.source and data.target",
        )
    try:
        for record in builder.as_dataset(split=split).as_numpy_iterator():
            # A line break inside a record would break the alignment of the prepared text.
            yield {
                language: LINE_BREAK.sub(" ", record[language].decode("utf-8"))
                for language in languages
            }
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise NmtError(
            f"{builder.data_path}: split '{split}' cannot be read "
            f"({reason[0][:160] if reason else error!r})",
            "delete the folder and download it again",
        ) from None
