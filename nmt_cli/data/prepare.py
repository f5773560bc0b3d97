"""The job of ``nmt prepare``: turn corpora into a folder of token arrays.

The folder's key is a hash of the texts and of the settings that its content depends on. If the key
of an existing folder is the same, nothing is done.
"""

import hashlib
import itertools
import logging
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from nmt_cli.data.corpus import Corpus, MissingCorpusError, check_languages, read_corpus
from nmt_cli.data.pairs import Pairs, choose_pairs, mix, report
from nmt_cli.data.prepared import FORMAT, PREPARED, WEIGHTS, Prepared, TokenArray
from nmt_cli.data.variants import vary
from nmt_cli.data.vocabulary import learn_tokenizers
from nmt_cli.errors import InputError, ModelError, RecipeError
from nmt_cli.files import locked, replacing_folder, write_json
from nmt_cli.recipe.config import DataConfig, Recipe, fingerprint
from nmt_cli.text.lines import write_lines
from nmt_cli.text.tokenizer import TokenizerPair, TokenizerSpec, load_tokenizers

logger = logging.getLogger(__name__)

ENCODE_CHUNK = 2048  # lines between two updates of the progress bar


def prepare(
    recipe: Recipe,
    folder: Path,
    force: bool = False,
    check: Callable[[str], object] | None = None,
    tokenizers: Path | None = None,
) -> Prepared:
    """Prepare the data of a recipe, unless the folder is up to date or ``force`` is set.

    Where a corpus is missing, a folder that was prepared elsewhere from corpora of the same names
    with the same settings is up to date.

    ``check`` is called with the data's key before anything is written, and raises to prevent it.
    ``tokenizers`` is the folder of the tokenizers to use; None: learn them.
    """
    if not recipe.data.train:
        files = f"PREFIX.{recipe.data.source} and PREFIX.{recipe.data.target}"
        hint = f'set data.train, e.g. data.train=["PREFIX"] for {files}'
        raise RecipeError(f"recipe '{recipe.name}' has no training text", hint)
    current: Prepared | None = None
    settings, state = _settings(recipe, tokenizers), "is up to date"
    with suppress(ModelError):  # missing, or from another version
        current = Prepared.open(folder)
    try:
        texts = {
            split: [read_corpus(name, recipe.data) for name in getattr(recipe.data, split)]
            for split in ("train", "dev", "test", "synthetic")
        }
        key = _key(recipe, texts, tokenizers)
    except (MissingCorpusError, ImportError) as error:  # of TensorFlow Datasets
        if force or not current:
            raise
        missing = str(error).partition(";")[0]
        if current.settings != settings:
            reason = f"{missing}, and {folder} was prepared from other corpora or settings"
            raise InputError(reason, "run nmt prepare --force where the corpora are") from None
        key, state = current.key, f"is used as it was prepared: {missing}"
    if check:
        check(key)
    if current and current.key == key and not force:
        logger.info(f"{folder} {state}")
        return current
    names = {corpus.name for split in ("train", "synthetic") for corpus in texts[split]}
    for name in recipe.data.weights.keys() - names:
        reason = f"data.weights: no training corpus is called {name!r}"
        raise RecipeError(reason, f"use {', '.join(sorted(names))}")
    if recipe.data.language_check:
        for corpus in itertools.chain.from_iterable(texts.values()):
            check_languages(corpus, recipe.data)
    with locked(folder), replacing_folder(folder, PREPARED) as work:
        pairs = choose_pairs(recipe, texts)
        kept = _write_training_set(work, recipe, pairs, tokenizers)
        _write_text(pairs.dev, work, recipe)
        tests = _write_test_sets(work, recipe, texts["test"])
        record = {
            "format": FORMAT,
            "key": key,
            "settings": settings,
            "languages": [recipe.data.source, recipe.data.target],
            "tests": tests,
            "counts": pairs.counts,
            "pairs": kept,
        }
        if recipe.data.synthetic:
            record["synthetic_counts"] = pairs.synthetic_counts
        write_json(work / PREPARED, record)
    logger.info(f"prepared {sum(kept.values()):,} pairs in {folder}")
    return Prepared.open(folder)


def _write_training_set(
    work: Path, recipe: Recipe, pairs: Pairs, tokenizers: Path | None
) -> dict[str, int]:
    """Write tokenizers, arrays and text, and complete the counts; return pairs by corpus."""
    data, counts, synthetic_counts = recipe.data, pairs.counts, pairs.synthetic_counts
    tag = data.synthetic_tag if data.synthetic else ""
    real = vary(pairs.real, data, recipe.seed)
    mixed = mix(real, pairs.synthetic, tag)
    folder = work / "tokenizer"
    if tokenizers:
        if tag and TokenizerSpec.read(tokenizers).tag != tag:
            reason = f"{tokenizers}: its tag is not data.synthetic_tag = {tag!r}"
            raise RecipeError(reason, "use the same tag")
        shutil.copytree(tokenizers, folder)
    else:
        folder.mkdir()
        sources = itertools.chain(real.source, pairs.synthetic.source)
        logger.info(f"learning the {recipe.tokenizer.kind} vocabulary from {len(mixed):,} pairs")
        learn_tokenizers(recipe.tokenizer, sources, mixed.target, folder, recipe.seed, tag)
    pair = load_tokenizers(folder)
    rows, trimmed = _encode(mixed, pair, data, work / "train")
    kept = bisect_left(rows, len(pairs.real))  # real pairs come first
    counts |= {"kept": kept, "too_many_tokens": len(pairs.real) - kept}
    synthetic = len(rows) - kept
    synthetic_counts |= {"kept": synthetic, "too_many_tokens": len(pairs.synthetic) - synthetic}
    if data.over_max_tokens == "trim":
        counts["trimmed"] = bisect_left(trimmed, len(pairs.real))
        synthetic_counts["trimmed"] = len(trimmed) - counts["trimmed"]
    if not kept:
        raise InputError(f"every pair is longer than data.max_tokens = {data.max_tokens}")
    synthetic_report = report(synthetic_counts, "synthetic pairs") if data.synthetic else []
    for line in report(counts) + synthetic_report:
        logger.info(line)
    mixed = mixed.select(rows)
    _write_text(mixed, work, recipe)
    if data.weights:
        weights = [data.weights.get(corpus, 1.0) for corpus in mixed.origins]
        np.save(work / WEIGHTS, np.array(weights, np.float32))
    if not _encode(pairs.dev, pair, data, work / "dev")[0]:
        reason = f"every development pair is longer than data.max_tokens = {data.max_tokens}"
        raise InputError(reason)
    return dict(Counter(mixed.origins))


def _write_test_sets(work: Path, recipe: Recipe, corpora: list[Corpus]) -> list[str]:
    """Write the text of the test sets under different names, and return the names."""
    names: list[str] = []
    for corpus in corpora:
        name, number = corpus.name, 2
        while name in ("dev", "train", *names):
            name, number = f"{corpus.name}-{number}", number + 1
        names.append(name)
        _write_text(replace(corpus, name=name), work, recipe)
    return names


def _settings(recipe: Recipe, tokenizers: Path | None) -> str:
    """Hash what :func:`_key` does, but the names of the corpora in place of their texts."""
    data = asdict(recipe.data)
    for key in ("root", "tfds_dir", "sources", "language_check"):
        del data[key]
    files = [path.read_bytes().hex() for path in sorted(tokenizers.iterdir())] if tokenizers else []
    return fingerprint(data, recipe.tokenizer, recipe.seed, files)


def _key(recipe: Recipe, texts: dict[str, list[Corpus]], tokenizers: Path | None) -> str:
    """Hash everything that the folder's content depends on: texts, cleaning, tokenizer, seed."""
    text = hashlib.sha256()
    for corpus in itertools.chain.from_iterable(texts.values()):
        text.update(corpus.name.encode())
        for side in (corpus.source, corpus.target):
            text.update("\n".join(side).encode("utf-8", "surrogatepass") + b"\0")
    for path in sorted(tokenizers.iterdir()) if tokenizers else []:
        text.update(path.read_bytes())
    data = asdict(recipe.data)
    # The text matters, not where it comes from.
    sources = ("root", "train", "dev", "test", "synthetic", "tsv_columns", "tfds_dir", "sources")
    for key in (*sources, "language_check"):
        del data[key]
    counts = [len(corpora) for corpora in texts.values()]
    if not recipe.data.synthetic:  # these keys have no effect
        del data["synthetic_tag"], data["synthetic_ratio"]
    if recipe.data.over_max_tokens == "drop":  # as before this key existed
        del data["over_max_tokens"]
    return fingerprint(FORMAT, data, recipe.tokenizer, recipe.seed, counts, text.hexdigest())


def _encode(
    corpus: Corpus, tokenizers: TokenizerPair, data: DataConfig, stem: Path
) -> tuple[list[int], list[int]]:
    """Write the arrays of both sides.

    Returns:
        The numbers of the rows in the arrays, and of those that are trimmed; other rows are too
        long.
    """
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    rows: list[int] = []
    trimmed: list[int] = []
    # Special tokens count: those of a source, and the END of a target.
    source_limit = data.max_tokens - len(tokenizers.source.with_special_tokens([]))
    target_limit = data.max_tokens - 1
    with tqdm(total=len(corpus), desc=f"encoding {corpus.name}", unit="pair", disable=None) as bar:
        for start in range(0, len(corpus), ENCODE_CHUNK):
            chunk = slice(start, start + ENCODE_CHUNK)
            source_ids = tokenizers.source.encode(corpus.source[chunk])
            target_ids = tokenizers.target.encode(corpus.target[chunk])
            for row, (ids, target) in enumerate(zip(source_ids, target_ids, strict=True), start):
                if len(ids) > source_limit or len(target) > target_limit:
                    if data.over_max_tokens == "drop":
                        continue
                    trimmed.append(row)
                sources.append(tokenizers.source.with_special_tokens(ids[:source_limit]))
                targets.append(target[:target_limit])
                rows.append(row)
            bar.update(len(source_ids))
    TokenArray.of(sources).save(stem.with_suffix(".source"))
    TokenArray.of(targets).save(stem.with_suffix(".target"))
    return rows, trimmed


def _write_text(corpus: Corpus, folder: Path, recipe: Recipe) -> None:
    write_lines(folder / f"{corpus.name}.{recipe.data.source}.txt", corpus.source)
    write_lines(folder / f"{corpus.name}.{recipe.data.target}.txt", corpus.target)
