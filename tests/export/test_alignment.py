"""The heads that align words are found among others, and used."""

import numpy as np
import pytest

from nmt_cli.export.alignment import MAX_HEADS, MAX_TOKENS, alignment_heads
from nmt_cli.search.alignment import forced_attention
from nmt_cli.search.hypotheses import force
from nmt_cli.search.segments import padded
from nmt_cli.search.step_model import Head
from nmt_cli.text.tokenizer import END_ID
from tests.search.fakes import FakeStepModel, State, copying

LAYERS, HEADS, FIRST = 3, 2, 10
ALIGNING = (1, 1)  # layer and head


class Reversing(FakeStepModel):
    """Translates words in reverse order; one head attends to the word that a step reads or chooses,
    the others to arbitrary ones."""

    def __init__(self, reads: bool) -> None:
        super().__init__(copying)
        self.reads, self.rng = reads, np.random.default_rng(1)

    def attention(self, state: State, tokens: np.ndarray, ancestry: np.ndarray) -> np.ndarray:
        count, width = state.source.shape
        weights = self.rng.random((count, LAYERS, HEADS, 1, width)).astype(np.float32) ** 4
        step = ancestry.shape[2] - 1 - self.reads
        for row, source in enumerate(state.source):
            words = int((source >= FIRST).sum())
            weights[row, *ALIGNING, 0, max(0, words - 1 - step)] += 9
        return weights / weights.sum(axis=-1, keepdims=True)

    def self_attention(self, source: np.ndarray, target: np.ndarray) -> dict[str, np.ndarray]:
        return {}


def pairs(count: int, length: int = 6) -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(0)
    sources = [rng.choice(40, size=length, replace=False) + FIRST for _ in range(count)]
    return [([*ids.tolist(), END_ID], (ids[::-1] + 50).tolist()) for ids in sources]


@pytest.mark.parametrize("reads", [False, True])
def test_the_head_that_aligns_is_the_first(reads: bool) -> None:
    heads = alignment_heads(Reversing(reads), pairs(60))
    assert heads[0] == (*ALIGNING, int(reads))
    assert len(heads) <= MAX_HEADS


def test_pairs_that_cannot_be_used_are_left_out() -> None:
    assert alignment_heads(Reversing(False), []) == ()
    long = ([FIRST] * MAX_TOKENS + [END_ID], [60])
    assert alignment_heads(Reversing(False), [long, ([FIRST, END_ID], []), ([END_ID], [60])]) == ()
    some = pairs(60)
    chosen = alignment_heads(Reversing(False), some)
    assert alignment_heads(Reversing(False), [long, *some]) == chosen


@pytest.mark.parametrize("reads", [False, True])
def test_translations_are_aligned_by_these_heads_in_any_batch(reads: bool) -> None:
    heads: tuple[Head, ...] = ((*ALIGNING, int(reads)),)
    (source, target), (longer, translation) = *pairs(1, 4), *pairs(1, 7)

    def model() -> Reversing:
        made = Reversing(reads)
        made.alignment_heads = heads
        return made

    aligned, _ = force(model(), padded([source, longer]), [target, translation], attention=True)
    assert aligned.attention is not None
    assert aligned.attention.shape == (len(target) + 1, 8)
    assert aligned.attention[:-1].argmax(axis=1).tolist() == [3, 2, 1, 0]
    np.testing.assert_allclose(aligned.attention.sum(axis=1), 1, rtol=1e-5)
    maps = forced_attention(model(), source, target)
    assert maps.alignment_heads == heads
    # Of the last step, no other follows, whatever the batch.
    if reads:
        np.testing.assert_array_equal(aligned.attention[-1], aligned.attention[-2])
