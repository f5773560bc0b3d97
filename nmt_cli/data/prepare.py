"""The job of ``nmt prepare``: turn corpora into a folder of token arrays.

The folder's key is a hash of the texts and of the settings that its content depends on; a second
run with the same inputs finds the key and does nothing.
"""

import hashlib
import itertools
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from nmt_cli.data.batches import TokenArray
from nmt_cli.data.corpus import Corpus, read_corpus
from nmt_cli.data.pairs import Pairs, choose_pairs, mix
from nmt_cli.data.prepared import FORMAT, PREPARED, WEIGHTS, Prepared
from nmt_cli.data.variants import vary
from nmt_cli.data.vocabulary import learn_tokenizers
from nmt_cli.errors import NmtError, Say
from nmt_cli.files import replacing_folder, write_json
from nmt_cli.lock import locked
from nmt_cli.recipe.config import Recipe, fingerprint
from nmt_cli.text.folder import TokenizerSpec, load_tokenizers
from nmt_cli.text.lines import write_lines
from nmt_cli.text.tokenizer import TokenizerPair

ENCODE_CHUNK = 2048  # lines between two updates of the progress bar


def prepare(
    recipe: Recipe,
    folder: Path,
    force: bool = False,
    say: Say = print,
    check: Callable[[str], object] | None = None,
    tokenizers: Path | None = None,
) -> Prepared:
    """Prepare the data of a recipe, unless the folder is up to date.

    Args:
        recipe: what to read and how to clean and tokenize it.
        folder: folder to write; it is replaced when everything is ready.
        force: prepare again even if the folder is up to date.
        say: receives messages for the user.
        check: called with the data's key before anything is written; raises to prevent it.
        tokenizers: folder of the tokenizers to use; None: learn them.

    Raises:
        NmtError: a corpus cannot be read, nothing is left to train on or to validate with, the
            text is too small for the vocabulary, or the folder is in use or cannot be written.
    """
    if not recipe.data.train:
        raise NmtError(
            f"recipe '{recipe.name}' has no training text",
            "set data.train, e.g. --set 'data.train=[\"PREFIX\"]' for PREFIX."
            f"{recipe.data.source} and PREFIX.{recipe.data.target}",
        )
    texts = {
        kind: [read_corpus(each, recipe.data) for each in getattr(recipe.data, kind)]
        for kind in ("train", "dev", "test", "synthetic")
    }
    key = _key(recipe, texts, tokenizers)
    if check:
        check(key)
    if not force:
        with suppress(NmtError):  # missing, or from another version
            current = Prepared.open(folder)
            if current.key == key:
                say(f"{folder} is up to date")
                return current
    named = {corpus.name for kind in ("train", "synthetic") for corpus in texts[kind]}
    for name in recipe.data.weights.keys() - named:
        raise NmtError(
            f"data.weights: no training corpus is called {name!r}",
            f"use {', '.join(sorted(named))}",
        )
    with locked(folder), replacing_folder(folder, PREPARED) as work:
        pairs = choose_pairs(recipe, texts, say)
        kept = _write_arrays(work, recipe, pairs, say, tokenizers)
        _write_text(pairs.dev, work, recipe)
        tests: list[str] = []
        for corpus in texts["test"]:
            name, number = corpus.name, 2
            while name in ("dev", "train", *tests):
                name, number = f"{corpus.name}-{number}", number + 1
            tests.append(name)
            _write_text(replace(corpus, name=name), work, recipe)
        record = {
            "format": FORMAT,
            "key": key,
            "languages": [recipe.data.source, recipe.data.target],
            "tests": tests,
            "counts": asdict(pairs.counts),
            "pairs": kept,
        }
        if recipe.data.synthetic:
            record["synthetic_counts"] = asdict(pairs.synthetic_counts)
        write_json(work / PREPARED, record)
    say(f"prepared {sum(kept.values()):,} pairs in {folder}")
    return Prepared.open(folder)


def _write_arrays(
    work: Path, recipe: Recipe, pairs: Pairs, say: Say, given: Path | None
) -> dict[str, int]:
    """Learn the tokenizers or copy the given ones, write arrays and training text, complete the
    counts; return the number of training pairs from each corpus."""
    data, counts, synthetic_counts = recipe.data, pairs.counts, pairs.synthetic_counts
    tag = data.synthetic_tag if data.synthetic else ""
    real = vary(pairs.real, data, recipe.seed)
    mixed = mix(real, pairs.synthetic, tag)
    folder = work / "tokenizer"
    if given:
        if TokenizerSpec.read(given).tag != tag:
            raise NmtError(
                f"{given}: its tag is not data.synthetic_tag = {tag!r}", "use the same tag"
            )
        shutil.copytree(given, folder)
        tokenizers = load_tokenizers(folder)
    else:
        say(f"learning the {recipe.tokenizer.kind} vocabulary from {len(mixed):,} pairs")
        folder.mkdir()
        sources = itertools.chain(real.source, pairs.synthetic.source)
        tokenizers = learn_tokenizers(
            recipe.tokenizer, sources, mixed.target, folder, recipe.seed, tag
        )
        smallest = min(tokenizers.source.vocab_size, tokenizers.target.vocab_size)
        if smallest < recipe.tokenizer.vocab_size:
            say(
                f"the text yields {smallest:,} pieces, fewer than tokenizer.vocab_size = "
                f"{recipe.tokenizer.vocab_size:,}"
            )
    rows = _encode(mixed, tokenizers, data.max_tokens, work / "train")
    counts.kept = bisect_left(rows, len(pairs.real))  # real pairs come first
    counts.too_many_tokens = len(pairs.real) - counts.kept
    synthetic_counts.kept = len(rows) - counts.kept
    synthetic_counts.too_many_tokens = len(pairs.synthetic) - synthetic_counts.kept
    if not counts.kept:
        raise NmtError(f"every pair is longer than data.max_tokens = {data.max_tokens}", "raise it")
    for line in counts.report():
        say(line)
    for line in synthetic_counts.report("synthetic pairs") if data.synthetic else []:
        say(line)
    mixed = mixed.select(rows)
    _write_text(mixed, work, recipe)
    if data.weights:
        weights = [data.weights.get(each, 1.0) for each in mixed.origins]
        np.save(work / WEIGHTS, np.array(weights, np.float32))
    if not _encode(pairs.dev, tokenizers, data.max_tokens, work / "dev"):
        raise NmtError(
            f"every development pair is longer than data.max_tokens = {data.max_tokens}", "raise it"
        )
    return dict(Counter(mixed.origins))


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
    # Only the text matters, not where it is.
    places = ("root", "train", "dev", "test", "synthetic", "tsv_columns", "tfds_dir", "sources")
    for place in places:
        del data[place]
    # Keys that came later, so that data prepared before stays valid.
    for key in ("weights", "lowercase", "uppercase", "unpunctuated", "symbols"):
        if not data[key]:
            del data[key]
    lengths = [len(each) for each in texts.values()]
    if not recipe.data.synthetic:  # they have no effect
        lengths.pop()
        del data["synthetic_tag"], data["synthetic_ratio"]
    return fingerprint(FORMAT, data, recipe.tokenizer, recipe.seed, lengths, text.hexdigest())


def _encode(corpus: Corpus, tokenizers: TokenizerPair, limit: int, stem: Path) -> list[int]:
    """Write the arrays of both sides; return the rows in them, the others being too long."""
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    rows: list[int] = []
    with tqdm(total=len(corpus), desc=f"encoding {corpus.name}", unit="pair", disable=None) as bar:
        for at in range(0, len(corpus), ENCODE_CHUNK):
            chunk = slice(at, at + ENCODE_CHUNK)
            source_ids = tokenizers.source.encode(corpus.source[chunk])
            target_ids = tokenizers.target.encode(corpus.target[chunk])
            for row, (ids, target) in enumerate(zip(source_ids, target_ids, strict=True), at):
                source = tokenizers.source.frame_source(ids)
                if len(source) <= limit and len(target) + 1 <= limit:
                    sources.append(source)
                    targets.append(target)
                    rows.append(row)
            bar.update(len(source_ids))
    TokenArray.of(sources).save(stem.with_suffix(".source"))
    TokenArray.of(targets).save(stem.with_suffix(".target"))
    return rows


def _write_text(corpus: Corpus, folder: Path, recipe: Recipe) -> None:
    write_lines(folder / f"{corpus.name}.{recipe.data.source}.txt", corpus.source)
    write_lines(folder / f"{corpus.name}.{recipe.data.target}.txt", corpus.target)
