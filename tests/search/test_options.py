"""Search options."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.search.beam import beam_search
from nmt_cli.search.hypotheses import Hypothesis, Segment, coverage_penalty, force
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.rules import (
    Processor,
    Suppress,
    forbid_repeats,
    processors_of,
    progress,
    require_length,
)
from nmt_cli.search.step_model import EnsembleStepModel, top_candidates
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from tests.search.fakes import CHARACTERS, FakeStepModel, Follow, hashed

A, B, C, D = 4, 5, 6, 7
SOURCE = (A, END_ID)


def search_options(
    beams: int = 4, alpha: float = 0.0, limit: int = 8, n_best: int = 1, **others: float
) -> SearchOptions:
    return SearchOptions(
        beam_size=beams,
        length_penalty=alpha,
        max_length=limit,
        length_ratio=1.0,
        length_extra=1_000_000,
        n_best=n_best,
        **others,
    )  # type: ignore[arg-type]


def search(
    follow: Follow,
    options: SearchOptions,
    segments: list[Segment] | None = None,
    sources: list[tuple[int, ...]] | None = None,
    processors: tuple[Processor, ...] = (),
) -> list[list[Hypothesis]]:
    sources = sources or [SOURCE] * len(segments or [SOURCE])
    source = np.full((len(sources), max(map(len, sources))), PAD_ID, np.int32)
    for row, ids in zip(source, sources, strict=True):
        row[: len(ids)] = ids
    return beam_search(FakeStepModel(follow), source, options, segments, processors)


def normalize(follow: Follow) -> Follow:
    """Normalize scores so that the probabilities sum to one."""

    def normalized(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        scores = follow(source, history)
        total = math.log(sum(math.exp(score) for score in scores.values()))
        return {token: score - total for token, score in scores.items()}

    return normalized


def every_sequence(follow: Follow, alpha: float, limit: int) -> dict[tuple[int, ...], float]:
    scores = {}
    for length in range(limit):
        for ids in product((A, B, C), repeat=length):
            total = sum(follow(SOURCE, ids[:position])[ids[position]] for position in range(length))
            scores[ids] = (total + follow(SOURCE, ids)[END_ID]) / ((6 + length) / 6) ** alpha
    return scores


# n-best


@settings(max_examples=40)
@given(st.integers(0), st.sampled_from([0.0, 1.0]), st.integers(1, 3), st.integers(1, 6))
def test_n_best_matches_an_exhaustive_search(
    seed: int, alpha: float, limit: int, count: int
) -> None:
    slots = 3**limit + sum(3**length for length in range(limit))
    follow = hashed(seed, (A, B, C))
    scores = every_sequence(follow, alpha, limit)
    (n_best,) = search(follow, search_options(slots, alpha, limit, min(count, len(scores))))
    expected = sorted(scores.values(), reverse=True)[:count]
    assert [hypothesis.score for hypothesis in n_best] == pytest.approx(expected, rel=1e-6)
    assert len({tuple(hypothesis.ids) for hypothesis in n_best}) == len(n_best)
    assert all(
        scores[tuple(hypothesis.ids)] == pytest.approx(hypothesis.score, rel=1e-6)
        for hypothesis in n_best
    )


@given(st.integers(0), st.integers(1, 6), st.data(), st.sampled_from([0.0, 0.6, 2.0]))
def test_the_first_of_n_best_is_the_single_best(
    seed: int, beams: int, data: st.DataObject, alpha: float
) -> None:
    count = data.draw(st.integers(1, beams))
    follow = hashed(seed, (A, B, C, D), end_from=data.draw(st.integers(0, 4)))
    (one,) = search(follow, search_options(beams, alpha))
    (several,) = search(follow, search_options(beams, alpha, n_best=count))
    assert several[0] == one[0]
    assert len(several) == count
    finished = [
        hypothesis.score
        for hypothesis in several
        if len(hypothesis.token_scores) > len(hypothesis.ids)
    ]
    assert finished == sorted(finished, reverse=True)


def test_open_hypotheses_fill_up_the_n_best_list() -> None:
    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return {A: math.log(0.5), B: math.log(0.3), END_ID: math.log(0.6) if history else -math.inf}

    (hypotheses,) = search(follow, search_options(3, limit=2, n_best=3))
    assert [hypothesis.ids for hypothesis in hypotheses] == [[A], [B], [A, A]]
    assert [len(hypothesis.token_scores) - len(hypothesis.ids) for hypothesis in hypotheses] == [
        1,
        1,
        0,
    ]


@given(st.integers(0), st.integers(1, 4))
def test_token_scores_come_from_the_model(seed: int, beams: int) -> None:
    follow = hashed(seed, (A, B, C), end_from=2)
    for hypothesis in search(follow, search_options(beams, n_best=beams))[0]:
        path = [*hypothesis.ids, END_ID][: len(hypothesis.token_scores)]
        expected = [
            follow(SOURCE, tuple(path[:position]))[path[position]] for position in range(len(path))
        ]
        assert hypothesis.token_scores == pytest.approx(expected)
        assert hypothesis.score == pytest.approx(sum(expected))


# rules


def test_min_length() -> None:
    for beams in (1, 3):
        for least in (0, 1, 5):
            rules = (partial(require_length, least),) if least else ()
            options = search_options(beams, min_length=least)
            (hypotheses,) = search(
                lambda source, history: {A: -3.0, END_ID: -0.1}, options, None, None, rules
            )
            assert hypotheses[0].ids == [A] * least


def test_min_length_raises_the_length_limit() -> None:
    options = SearchOptions(
        beam_size=2,
        length_penalty=0.0,
        max_length=50,
        length_ratio=1.0,
        length_extra=0,
        min_length=9,
    )  # without min_length, the limit would be 2
    (hypotheses,) = search(
        lambda source, history: {A: -3.0, END_ID: -0.1},
        options,
        processors=(partial(require_length, 9),),
    )
    assert hypotheses[0].ids == [A] * 9
    assert len(hypotheses[0].token_scores) == 10


@given(st.integers(0), st.integers(1, 4), st.integers(1, 4))
def test_no_ngram_occurs_twice(seed: int, beams: int, size: int) -> None:
    follow = hashed(seed, (A, B, C), end_from=12)
    for ids in (
        hypothesis.ids
        for hypothesis in search(
            follow,
            search_options(beams, limit=20, n_best=beams),
            processors=(partial(forbid_repeats, size),),
        )[0]
    ):
        ngrams = [tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)]
        # A hypothesis without allowed continuations is accepted unfinished.
        assert len(set(ngrams)) == len(ngrams)


def test_repetition_penalty_follows_the_paper() -> None:
    (penalized,) = (
        processor
        for processor in processors_of(search_options(repetition_penalty=1.5), CHARACTERS.target)
    )
    log_probs = np.log(np.array([[[0.1, 0.2, 0.3, 0.4]]], np.float32))
    penalized(log_probs, np.array([[[3, 3, 1]]], np.int32))
    expected = [math.log(0.1), 1.5 * math.log(0.2), math.log(0.3), 1.5 * math.log(0.4)]
    assert log_probs[0, 0].tolist() == pytest.approx(expected)
    (follow_a,) = search(
        lambda s, h: {A: -0.5, B: -0.7, END_ID: -5.0},
        search_options(1, limit=3),
        None,
        None,
        (penalized,),
    )
    assert follow_a[0].ids == [A, B, A]  # -0.5; then A would be -0.75; then both are penalized


SURFACES = [b"", b"", b"", b"", b" cat", b" c", b"at", b"s", b" dog", b"a", b"t", b" New", b" York"]
CAT, C_, AT, S, DOG, A_, T, NEW, YORK = range(4, 13)


@pytest.mark.parametrize(
    ("past", "banned"),
    [
        ([], set()),
        ([C_], {AT}),
        ([C_, A_], {T}),
        ([DOG, C_, A_], {T}),
        ([DOG], set()),
        ([NEW], {YORK}),
        ([DOG, NEW], {YORK}),
        ([A_], set()),
    ],
)
def test_a_word_is_suppressed_in_every_segmentation(past: list[int], banned: set[int]) -> None:
    rule = Suppress(["cat", " New   York "], SURFACES)
    log_probs = np.zeros((1, 1, len(SURFACES)), np.float32)
    rule(log_probs, np.array([[past]], np.int32))
    suppressed = set(np.flatnonzero(log_probs[0, 0] == -np.inf).tolist())
    assert suppressed == banned | {CAT}  # this token is the whole word


@given(st.integers(0), st.integers(1, 4))
def test_suppressed_words_do_not_appear(seed: int, beams: int) -> None:
    follow = hashed(seed, tuple(range(4, 13)), end_from=10)
    rule = Suppress(["cat", "New York", "dog"], SURFACES)
    for hypothesis in search(
        follow, search_options(beams, limit=14, n_best=beams), processors=(rule,)
    )[0]:
        text = b"".join(SURFACES[id_] for id_ in hypothesis.ids) + b" "
        assert not any(word in text for word in (b" cat", b" New York", b" dog"))


def test_unk_avoid_never_chooses_the_unknown_token() -> None:
    rules = processors_of(search_options(unk="avoid"), CHARACTERS.target)

    def follow(source, history):
        return {UNK_ID: -0.1, A: -2.0, END_ID: -9.0 + 4 * len(history)}

    assert UNK_ID in search(follow, search_options(2))[0][0].ids
    assert UNK_ID not in search(follow, search_options(2), processors=rules)[0][0].ids


# prefixes and phrases


@given(st.integers(0), st.integers(1, 4), st.lists(st.sampled_from([A, B, C, D]), max_size=5))
def test_a_prefix_is_forced_and_the_rest_is_searched(
    seed: int, beams: int, prefix: list[int]
) -> None:
    follow = hashed(seed, (A, B, C, D), end_from=3)
    request = Segment(prefix=tuple(prefix))
    (hypotheses, free) = search(follow, search_options(beams), [request, Segment()])
    assert hypotheses[0].ids[: len(prefix)] == prefix
    assert free == search(follow, search_options(beams))[0]

    # The rest equals the search result of a model that starts after the prefix.
    def continued(source, history):
        return follow(source, (*prefix, *history))

    options = SearchOptions(
        beam_size=beams,
        length_penalty=0.0,
        max_length=8 + len(prefix),
        length_ratio=1.0,
        length_extra=6,
    )
    (hypotheses,), (rest,) = (
        search(follow, options, [request]),
        search(continued, search_options(beams)),
    )
    assert hypotheses[0].ids == [*prefix, *rest[0].ids]


def test_processors_do_not_forbid_a_prefix_or_phrase() -> None:
    rule = Suppress(["cat"], SURFACES)

    def follow(source, history):
        return {CAT: -1.0, DOG: -0.5, END_ID: -2.0 + len(history)}

    prefixed, phrased, plain = search(
        follow,
        search_options(2),
        [Segment(prefix=(CAT,)), Segment(phrases=((CAT,),)), Segment()],
        processors=(rule,),
    )
    assert prefixed[0].ids[0] == CAT
    assert CAT in phrased[0].ids
    assert CAT not in plain[0].ids


tokens = st.sampled_from([A, B, C, D])
phrases = st.lists(st.lists(tokens, min_size=1, max_size=3).map(tuple), max_size=3, unique=True)


def contains(ids: list[int], phrase: tuple[int, ...]) -> bool:
    return any(tuple(ids[start : start + len(phrase)]) == phrase for start in range(len(ids)))


@settings(max_examples=100)
@given(
    st.integers(0),
    st.integers(1, 6),
    st.lists(st.tuples(phrases, st.lists(tokens, max_size=2).map(tuple)), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_every_phrase_appears_in_its_translation(
    seed: int, beams: int, drawn: list, end_from: int
) -> None:
    follow = hashed(seed, (A, B, C, D), end_from=end_from)
    segments = [Segment(prefix=prefix, phrases=tuple(phrases)) for phrases, prefix in drawn]
    options = SearchOptions(
        beam_size=beams,
        length_penalty=0.6,
        max_length=60,
        length_ratio=1.0,
        length_extra=3,
    )
    together = search(follow, options, segments)
    for request, hypotheses in zip(segments, together, strict=True):
        assert all(contains(hypotheses[0].ids, phrase) for phrase in request.phrases)
        assert tuple(hypotheses[0].ids[: len(request.prefix)]) == request.prefix
        assert hypotheses == search(follow, options, [request])[0]  # the same in any batch


@settings(max_examples=15)
@given(st.integers(0), st.integers(2, 4), phrases)
def test_a_wide_enough_beam_finds_the_best_with_the_phrases(
    seed: int, limit: int, required: list
) -> None:
    required = [phrase for phrase in required if D not in phrase]
    follow = hashed(seed, (A, B, C))
    scores = {
        ids: score
        for ids, score in every_sequence(follow, 0.0, limit).items()
        if all(contains(list(ids), phrase) for phrase in required)
    }
    if not scores:
        return
    every = 3**limit + sum(3**length for length in range(limit))
    banks = sum(map(len, required)) + 1  # each has an equal share of the beam
    options = SearchOptions(
        beam_size=every * banks,
        length_penalty=0.0,
        max_length=limit,
        length_ratio=0.0,
        length_extra=limit,
    )
    best = search(follow, options, [Segment(phrases=tuple(required))])[0][0]
    assert best.score == pytest.approx(max(scores.values()), rel=1e-6)


def test_progress_counts_tokens_and_returns_the_next_ones() -> None:
    required = [(A, B, C), (B, D)]
    assert progress([], required) == (0, {A, B})
    assert progress([A], required) == (1, {B})
    assert progress([A, B], required) == (2, {C})  # also starts (B, D), but that is less progress
    assert progress([A, B, D], required) == (2, {A})
    assert progress([A, B, D, A], required) == (3, {B})
    assert progress([A, B, C, B, D, C], required) == (5, set())
    assert progress([C, C], required) == (0, {A, B})


# samples


def test_sample_frequencies_match_probabilities() -> None:
    chances = {A: 0.5, B: 0.3, C: 0.15, END_ID: 0.05}

    def follow(source, history):
        return {t: math.log(p) for t, p in chances.items()} if not history else {END_ID: 0.0}

    count = 4000
    options = search_options(4, n_best=4, sample=True, seed=3)  # type: ignore[arg-type]
    samples = search(follow, options, [Segment(number=number) for number in range(count // 4)])
    drawn = [one.ids[0] if one.ids else END_ID for four in samples for one in four]
    for token, chance in chances.items():
        deviation = math.sqrt(count * chance * (1 - chance))
        assert abs(drawn.count(token) - count * chance) < 4 * deviation


@settings(max_examples=30)
@given(
    st.integers(0),
    st.integers(1, 4),
    st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True),
)
def test_samples_depend_only_on_seed_and_sentence_number(
    seed: int, count: int, numbers: list[int]
) -> None:
    follow = normalize(hashed(seed, (A, B, C, D), end_from=1))
    options = search_options(count, n_best=count, sample=True, seed=seed % 1000, top_p=0.9)  # type: ignore[arg-type]
    together = search(follow, options, [Segment(number=number) for number in numbers])
    for number, samples in zip(numbers, together, strict=True):
        assert samples == search(follow, options, [Segment(number=number)])[0]
        assert len(samples) == count
        assert all(START_ID not in hypothesis.ids for hypothesis in samples)


@pytest.mark.parametrize("sampling", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-3}])
def test_samples_with_only_one_likely_token_are_greedy(sampling: dict[str, float]) -> None:
    follow = normalize(hashed(5, (A, B, C, D), end_from=2))
    (greedy,) = search(follow, search_options(1))
    (samples,) = search(follow, search_options(3, n_best=3, sample=True, **sampling))  # type: ignore[arg-type]
    assert [hypothesis.ids for hypothesis in samples] == [greedy[0].ids] * 3


def test_top_k_and_top_p_keep_the_most_probable() -> None:
    chances = {A: 0.4, B: 0.3, C: 0.2, D: 0.1}

    def follow(source, history):
        return {t: math.log(p) for t, p in chances.items()} if not history else {END_ID: 0.0}

    for sampling, kept in (
        ({"top_k": 2}, {A, B}),
        ({"top_p": 0.65}, {A, B}),
        ({"top_p": 0.75}, {A, B, C}),
        ({"top_k": 3, "top_p": 0.5}, {A, B}),
        ({}, {A, B, C, D}),
    ):
        options = search_options(50, n_best=50, sample=True, **sampling)  # type: ignore[arg-type]
        (samples,) = search(follow, options)
        assert {hypothesis.ids[0] for hypothesis in samples} == kept


# ranking, forced decoding, ensembles and coverage


@given(st.integers(0), st.integers(1, 4), st.sampled_from([1, 16]))
def test_ranking_all_tokens_matches_the_model_s_ranking(seed: int, beams: int, grain: int) -> None:
    follow = hashed(seed, (A, B, C, D), grain, end_from=2)

    def nothing(log_probs, past):
        return None

    assert search(follow, search_options(beams)) == search(
        follow, search_options(beams), processors=(nothing,)
    )


def test_top_candidates_order_ties_by_token_id() -> None:
    log_probs = np.array([[[-1.0, -0.5, -0.5, -np.inf, -0.5, 0.0]]], np.float32)
    candidates = top_candidates(log_probs, 4)
    assert candidates.ids.tolist() == [[[5, 1, 2, 4]]]
    assert candidates.scores.tolist() == [[[0.0, -0.5, -0.5, -0.5]]]
    assert top_candidates(log_probs, 99).ids.tolist() == [[[5, 1, 2, 4, 0, 3]]]


@given(st.integers(0), st.integers(1, 4))
def test_forced_decoding_gives_the_score_of_the_search(seed: int, beams: int) -> None:
    follow = hashed(seed, (A, B, C), 7, end_from=2)
    sources = [(A, END_ID), (B, B, END_ID), (C, END_ID)]
    options = search_options(beams)
    hypotheses = [best for best, *_ in search(follow, options, None, sources)]
    source = np.array([[A, END_ID, 0], [B, B, END_ID], [C, END_ID, 0]], np.int32)
    forced = force(
        FakeStepModel(follow), source, [hypothesis.ids for hypothesis in hypotheses], attention=True
    )
    for hypothesis, scored in zip(hypotheses, forced, strict=True):
        if len(hypothesis.token_scores) > len(hypothesis.ids):
            assert scored.score == hypothesis.score
        assert scored.token_scores[: len(hypothesis.ids)] == pytest.approx(
            hypothesis.token_scores[: len(hypothesis.ids)], abs=1e-6
        )
        assert scored.attention is not None
        assert scored.attention.shape == (len(hypothesis.ids) + 1, 3)


def test_an_ensemble_averages_probabilities() -> None:
    def one(source, history):
        return {
            A: math.log(0.9),
            B: math.log(0.1),
            END_ID: -9.0 + 8 * len(history),
        }

    def other(source, history):
        return {
            A: math.log(0.2),
            B: math.log(0.8),
            END_ID: -9.0 + 8 * len(history),
        }

    model = EnsembleStepModel([FakeStepModel(one), FakeStepModel(other)])
    source = np.array([SOURCE], np.int32)
    state = model.encode(source)
    start = np.full((1, 1), START_ID, np.int32)
    log_probs, state = model.log_probs(state, start, np.ones((1, 1, 1), np.bool_))
    assert math.exp(log_probs[0, 0, A]) == pytest.approx(0.55)
    assert math.exp(log_probs[0, 0, B]) == pytest.approx(0.45)
    candidates, _ = model.step(model.encode(source), start, np.ones((1, 1, 1), np.bool_))
    assert candidates.ids.tolist() == [[[A]]]


@settings(max_examples=20)
@given(st.integers(0), st.integers(1, 4))
def test_an_ensemble_of_a_model_with_itself_matches_that_model(seed: int, beams: int) -> None:
    follow = normalize(hashed(seed, (A, B, C, D), end_from=1))
    twice = EnsembleStepModel([FakeStepModel(follow), FakeStepModel(follow)])
    source = np.array([SOURCE, (B, END_ID)], np.int32)
    ensemble = beam_search(twice, source, search_options(beams))
    single = beam_search(FakeStepModel(follow), source, search_options(beams))
    for hypotheses, expected in zip(ensemble, single, strict=True):
        assert hypotheses[0].score == pytest.approx(expected[0].score, rel=1e-5)


def test_coverage_penalty_is_equation_15() -> None:
    assert coverage_penalty(np.array([1.0, 2.0, 1.5], np.float32), 0.5) == 0.0
    expected = 0.5 * (math.log(0.5) + math.log(0.25))
    assert coverage_penalty(np.array([0.5, 0.25, 3.0], np.float32), 0.5) == pytest.approx(expected)


def test_coverage_penalty_prefers_translations_of_the_whole_source() -> None:
    # The fake attends to one source token per step: [A] leaves three of five uncovered.
    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return {A: -0.6, END_ID: {1: -0.7, 4: -0.2}.get(len(history), -30.0)}

    source = (A, B, C, D, END_ID)
    short, long = (
        search(follow, search_options(3, coverage_penalty=beta), None, [source, (A, END_ID)])
        for beta in (0.0, 0.2)
    )
    assert [hypotheses[0].ids for hypotheses in short] == [[A], [A]]
    assert [hypotheses[0].ids for hypotheses in long] == [[A] * 4, [A]]
    assert long[0][0].score == pytest.approx(-4 * 0.6 - 0.2)
