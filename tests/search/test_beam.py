"""Beam search, compared with manual examples, an exhaustive search and a simple reference."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.beam import beam_search
from nmt_cli.search.hypotheses import Hypothesis, penalty
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID
from tests.search.fakes import FakeStepModel, Follow, hashed, options, reference_search

A, B, C, D, E, F = 4, 5, 6, 7, 8, 9


def chain(table: dict[tuple[int, ...], dict[int, float]]) -> Follow:
    """Return probabilities by history; after other histories, each token has 0.01."""

    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        following = table.get(history, dict.fromkeys((A, B, C, END_ID), 0.01))
        return {token: math.log(chance) for token, chance in following.items()}

    return follow


def search(
    follow: Follow, settings: SearchOptions, sources: list[tuple[int, ...]] | None = None
) -> list[Hypothesis]:
    sources = sources or [(A, END_ID)]
    source = np.full((len(sources), max(map(len, sources))), PAD_ID, np.int32)
    for row, ids in enumerate(sources):
        source[row, : len(ids)] = ids
    n_best = beam_search(FakeStepModel(follow), source, settings)
    return [hypotheses[0] for hypotheses in n_best]


GARDEN_PATH = chain(
    {
        (): {A: 0.6, B: 0.4},
        (A,): {C: 0.5, END_ID: 0.3, D: 0.2},
        (A, C): {END_ID: 0.6, D: 0.4},
        (B,): {END_ID: 0.9, C: 0.1},
    }
)


def test_beam_search_finds_what_greedy_search_misses() -> None:
    greedy, beam = (search(GARDEN_PATH, options(beams))[0] for beams in (1, 2))
    assert greedy.ids == [A, C]
    assert greedy.score == pytest.approx(math.log(0.6 * 0.5 * 0.6))
    assert beam.ids == [B]
    assert beam.score == pytest.approx(math.log(0.4 * 0.9))


def test_the_length_penalty_counts_the_end_token() -> None:
    for alpha in (0.6, 1.0):
        best = search(GARDEN_PATH, options(2, alpha))[0]
        assert best.ids == [B]
        assert best.score == pytest.approx(math.log(0.36) / (7 / 6) ** alpha)
    # Short or long: log 0.4 / 1 = -0.92; log 0.3 / (8 / 6) = -0.90 (alpha 1), -1.20 (0).
    follow = chain({(): {END_ID: 0.4, A: 0.6}, (A,): {B: 1.0}, (A, B): {END_ID: 0.5, C: 0.1}})
    assert search(follow, options(2, 0.0))[0].ids == []
    assert search(follow, options(2, 1.0))[0].ids == [A, B]


def test_penalty_is_equation_14() -> None:
    assert penalty(1, 0.6) == 1.0
    assert penalty(7, 1.0) == 2.0
    assert penalty(19, 0.5) == 2.0
    assert penalty(100, 0.0) == 1.0


def test_finished_hypotheses_are_frozen() -> None:
    # The empty translation (0.4) is best. A search that kept extending it would give
    # it the probability of a token after END, 0.01, and return [A, B] (0.21).
    follow = chain(
        {
            (): {A: 0.6, END_ID: 0.4},
            (A,): {B: 0.7, END_ID: 0.3},
            (A, B): {END_ID: 0.5, C: 0.3, D: 0.2},
            (END_ID,): {A: 0.01, END_ID: 0.01},
        }
    )
    best = search(follow, options(2))[0]
    assert best.ids == []
    assert best.score == pytest.approx(math.log(0.4))


def test_finished_hypotheses_keep_their_slots() -> None:
    # The finished empty translation leaves one slot: it goes to [A, C] (0.39), and
    # [A, B] (0.21), which would have scored -0.88 against -0.92, is not followed.
    table = {
        (): {A: 0.6, END_ID: 0.4},
        (A,): {C: 0.65, B: 0.35},
        (A, C): {END_ID: 0.26, D: 0.25, E: 0.25, F: 0.24},
        (A, B): {END_ID: 1.0},
    }
    assert search(chain(table), options(2, 2.0))[0].ids == []
    assert search(chain(table), options(3, 2.0))[0].ids == [A, B]


def test_an_early_finish_does_not_stop_better_open_hypotheses() -> None:
    # [] finishes first; [A, B, C] has less probability but, at alpha 1, the better score.
    follow = chain(
        {
            (): {END_ID: 0.5, A: 0.5},
            (A,): {B: 0.9, END_ID: 0.1},
            (A, B): {C: 0.9, END_ID: 0.1},
            (A, B, C): {END_ID: 0.9, A: 0.1},
        }
    )
    best = search(follow, options(2, 1.0))[0]
    assert best.ids == [A, B, C]
    assert best.score == pytest.approx(math.log(0.5 * 0.9**3) / 1.5)


def test_ties_go_to_the_lower_token() -> None:
    same = chain({(): {B: 0.5, A: 0.5}, (A,): {D: 0.5, C: 0.5}, (B,): {C: 0.5, D: 0.5}})
    assert search(same, options(1, limit=2))[0].ids == [A, C]
    assert search(same, options(2, limit=2))[0].ids == [A, C]
    # All four continuations tie; C of both beams precedes D of either.
    assert search(same, options(3, limit=2))[0].ids == [A, C]
    end_first = chain({(): {END_ID: 0.5, A: 0.5}})
    assert search(end_first, options(1))[0].ids == []


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("limit", [4, 70])  # 70: more steps than Beams has space for at first
def test_hypotheses_without_end_stop_at_the_maximum_length(beams: int, limit: int) -> None:
    best = search(
        lambda source, history: {A: math.log(0.5), B: math.log(0.25)},
        options(beams, 1.0, limit=limit),
    )[0]
    assert best.ids == [A] * limit
    assert best.score == pytest.approx(math.log(0.5**limit) / ((5 + limit) / 6))


def test_at_the_maximum_length_finished_hypotheses_precede_better_open_ones() -> None:
    follow = chain({(): {A: 0.9, END_ID: 0.1}, (A,): {B: 1.0}, (A, B): {C: 1.0}})
    assert search(follow, options(2, limit=3))[0].ids == []
    assert search(chain({(): {A: 0.9}, (A,): {END_ID: 1.0}}), options(1, limit=2))[0].ids == [A]


def test_the_maximum_length_depends_on_the_source() -> None:
    config = DecodingConfig(max_length=20, length_ratio=1.5, length_extra=10)
    settings = SearchOptions.of(config)
    assert [settings.limit(tokens) for tokens in (0, 1, 3, 6, 7, 100)] == [10, 12, 15, 19, 20, 20]
    assert (settings.beam_size, settings.length_penalty) == (4, 0.6)
    chosen = SearchOptions.of(config, DecodingOptions(beam_size=1, length_penalty=0.0))
    assert (chosen.beam_size, chosen.length_penalty) == (1, 0.0)
    endless = chain({(A,) * n: {A: 1.0} for n in range(30)})
    hypotheses = search(
        endless,
        SearchOptions.of(config, DecodingOptions(beam_size=1)),
        [(A,), (A, A, A), (A,) * 30],
    )
    assert [len(hypothesis.ids) for hypothesis in hypotheses] == [12, 15, 20]


def test_an_empty_batch() -> None:
    none = np.zeros((0, 4), np.int32)
    assert beam_search(FakeStepModel(hashed(0, [A])), none, options()) == []


def exhaustive(follow: Follow, alpha: float, limit: int) -> dict[tuple[int, ...], float]:
    """Return the score of every sequence that ends within the limit."""
    scores = {}
    for length in range(limit):
        for ids in product((A, B, C), repeat=length):
            total = sum(
                follow((A, END_ID), ids[:position])[ids[position]] for position in range(length)
            )
            end = follow((A, END_ID), ids)[END_ID]
            scores[ids] = (total + end) / ((6 + length) / 6) ** alpha
    return scores


@settings(max_examples=60)
@given(st.integers(0), st.sampled_from([0.0, 0.6, 1.0, 3.0]), st.integers(1, 4), st.integers(0, 4))
def test_a_wide_enough_beam_is_exhaustive(
    seed: int, alpha: float, limit: int, end_from: int
) -> None:
    # With a slot for every open and every finished hypothesis, nothing is pruned.
    slots = 3**limit + sum(3**length for length in range(limit))
    follow = hashed(seed, (A, B, C), end_from=min(end_from, limit - 1))
    scores = exhaustive(follow, alpha, limit)
    best = search(follow, options(slots, alpha, limit))[0]
    assert best.score == pytest.approx(max(scores.values()), rel=1e-6)
    assert scores[tuple(best.ids)] == pytest.approx(best.score, rel=1e-6)


sources = st.lists(st.lists(st.integers(4, 9), max_size=6).map(lambda x: (*x, END_ID)), min_size=1)


@given(
    st.integers(0),
    sources,
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.sampled_from([1, 4, 16]),
    st.integers(0, 5),
)
def test_every_sentence_of_a_batch_matches_the_reference(
    seed: int, sources: list[tuple[int, ...]], beams: int, alpha: float, grain: int, end_from: int
) -> None:
    # Sentences end at different steps and leave the batch in different orders;
    # scores are exact, and coarse grains cause many ties.
    follow = hashed(seed, (A, B, C, D), grain, end_from)
    settings = SearchOptions(
        beam_size=beams,
        length_penalty=alpha,
        max_length=7,
        length_ratio=1.0,
        length_extra=1,
    )
    hypotheses = search(follow, settings, sources)
    for source, hypothesis in zip(sources, hypotheses, strict=True):
        ids, score = reference_search(follow, source, beams, alpha, min(7, len(source) + 1))
        assert hypothesis.ids == ids
        assert hypothesis.score == pytest.approx(score, rel=1e-6)
        assert search(follow, settings, [source]) == [hypothesis]


@given(st.integers(0), st.integers(0, 6), st.sampled_from([1, 16]))
def test_beam_one_is_greedy(seed: int, end_from: int, grain: int) -> None:
    follow = hashed(seed, (A, B, C), grain, end_from)
    history: tuple[int, ...] = ()
    while len(history) < 8:
        scores = follow((A, END_ID), history)
        token = min(scores, key=lambda token: (-scores[token], token))
        if token == END_ID:
            break
        history = (*history, token)
    assert search(follow, options(1, 0.6, limit=8))[0].ids == list(history)


@given(st.integers(0), sources, st.sampled_from([1, 16]))
def test_greedy_search_gives_the_bits_of_a_beam_of_one(
    seed: int, sources: list[tuple[int, ...]], grain: int
) -> None:
    follow, settings = hashed(seed, (A, B, C), grain, end_from=2), options(1, 0.6, limit=6)
    source = np.full((len(sources), max(map(len, sources))), PAD_ID, np.int32)
    for row, ids in enumerate(sources):
        source[row, : len(ids)] = ids
    # A rule, even one that changes nothing, takes the general path.
    rules = [lambda log_probs, past: None]
    hypotheses = beam_search(FakeStepModel(follow), source, settings)
    assert hypotheses == beam_search(FakeStepModel(follow), source, settings, processors=rules)


@pytest.mark.parametrize("beams", [1, 2])
def test_finished_sentences_leave_the_batch(beams: int) -> None:
    # A sentence's first token minus 3 is the length of its translation.
    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        end = len(history) >= source[0] - 3
        return {END_ID: -0.1 if end else -20.0, A: -0.1 if not end else -20.0}

    model = FakeStepModel(follow)
    source = np.array([[4], [11], [4], [6], [4], [5], [4], [4]], np.int32)
    hypotheses = beam_search(model, source, options(beams))
    assert [len(best.ids) for best, *_ in hypotheses] == [1, 8, 1, 3, 1, 2, 1, 1]
    assert model.batches == [8, 8, 3, 2] + [1] * 5


@given(st.integers(0), st.integers(1, 4))
def test_the_score_matches_the_ids(seed: int, beams: int) -> None:
    follow = hashed(seed, (A, B, C, D), end_from=3)
    best = search(follow, options(beams, limit=30))[0]
    path = [*best.ids, END_ID][:30]
    total = sum(
        follow((A, END_ID), tuple(path[:position]))[path[position]] for position in range(len(path))
    )
    assert best.score == pytest.approx(total)
    assert not {START_ID, PAD_ID, END_ID} & set(best.ids)
