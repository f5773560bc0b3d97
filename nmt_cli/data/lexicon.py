"""Learn from training pairs, by IBM model 1, which target tokens may translate a source token.

Brown et al. 1993 (https://aclanthology.org/J93-2003), section 4.1: every target token of a pair
comes from one of its source tokens, and the probabilities t(f | e) of a target token f, given the
source token e, maximize the probability of all pairs. The source's END, which is in every
sentence, is the paper's empty word. A token that a sentence repeats counts once.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.prepared import TokenArray
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID, TokenizerPair

ITERATIONS = 4
# Token pairs to learn from, about those of 100,000 sentence pairs; larger corpora are sampled.
MAX_TOKEN_PAIRS = 120_000_000
# Translations of a source token that are kept between iterations.
_MAX_TRANSLATIONS = 1000

Ids = NDArray[np.int32]
Indices = NDArray[np.int64]


def sample(
    source: TokenArray, target: TokenArray, token_pairs: int = MAX_TOKEN_PAIRS
) -> tuple[TokenArray, TokenArray]:
    """Return an even sample of sentence pairs, in memory, of about ``token_pairs`` token pairs."""
    total = int((source.lengths * target.lengths).sum())
    rows = np.arange(0, len(source), max(1, -(-total // token_pairs)))
    return _rows_of(source, rows), _rows_of(target, rows)


def shortlist_tables(
    source: TokenArray, target: TokenArray, tokenizers: TokenizerPair, size: int, width: int
) -> tuple[Ids, Ids]:
    """Return the tables from which nmt_cli.runtime.step_model fills shortlists of ``size`` ids.

    Returns:
        [size] ids: END, the unknown token, then the most frequent. [source ids, width]
        translations: the same piece if the target side has it, then the most probable.
    """
    sides = (tokenizers.source, tokenizers.target)
    source_pieces, target_pieces = (side.tokens(range(side.vocab_size)) for side in sides)
    counts = np.bincount(target.ids, minlength=len(target_pieces))
    counts[[END_ID, UNK_ID]] = counts.max() + 1
    counts[[PAD_ID, START_ID]] = -1
    filling = np.argsort(-counts, kind="stable")[:size].astype(np.int32)
    target_ids = {piece: index for index, piece in enumerate(target_pieces)}
    table = np.full((len(source_pieces), width), END_ID, np.int32)
    translations = learn_translations(source, target, len(target_pieces))
    for token, (row, piece) in enumerate(zip(table, source_pieces, strict=True)):
        copied = [target_ids[piece]] if piece in target_ids else []
        ids = [*copied, *translations.get(token, [])][:width]
        row[: len(ids)] = ids
    return filling, table


def learn_translations(source: TokenArray, target: TokenArray, vocab_size: int) -> dict[int, Ids]:
    """Return the target ids that translate each source id that occurs, the most probable first."""
    pairs = np.repeat(np.arange(len(source)), source.lengths)
    keys = np.unique(source.ids.astype(np.int64) * len(source) + pairs)
    tokens, pairs = np.divmod(keys, len(source))
    bounds = np.append(np.flatnonzero(np.diff(tokens, prepend=-1)), len(tokens))
    starts, lengths, target_ids = target.offsets[:-1], target.lengths, target.ids
    # For each target token, the sum of its probabilities given the tokens of its source sentence.
    # Initially, every probability is 1.
    sums = np.repeat(np.bincount(pairs, minlength=len(source)), lengths).astype(np.float32)
    table = np.empty(vocab_size, np.float32)
    translations: dict[int, tuple[Ids, NDArray[np.float32]]] = {}
    for _ in range(ITERATIONS):
        new_sums = np.full_like(sums, 1e-30)
        for start, end in pairwise(bounds.tolist()):
            token, sentences = int(tokens[start]), pairs[start:end]
            positions = _ranges(starts[sentences], lengths[sentences])
            occurring = target_ids[positions]
            table[:] = 0 if token in translations else 1
            np.put(table, *translations.get(token, ([], 1)))
            counts = np.bincount(occurring, table[occurring] / sums[positions], vocab_size)
            ids = np.flatnonzero(counts)
            ids = ids[np.argsort(-counts[ids], kind="stable")][:_MAX_TRANSLATIONS]
            probabilities = (counts[ids] / max(counts.sum(), 1e-30)).astype(np.float32)
            translations[token] = ids.astype(np.int32), probabilities
            table[:] = 0
            table[ids] = probabilities
            new_sums[positions] += table[occurring]
        sums = new_sums
    return {token: ids for token, (ids, _) in translations.items()}


def _rows_of(array: TokenArray, rows: Indices) -> TokenArray:
    lengths = array.lengths[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return TokenArray(array.ids[_ranges(array.offsets[rows], lengths)], offsets)


def _ranges(starts: Indices, lengths: Indices) -> Indices:
    """Concatenate the ranges that begin at ``starts``."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
