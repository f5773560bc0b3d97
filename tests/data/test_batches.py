"""Batches: every pair once per epoch, bounded shapes, and positions to resume from."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.batches import WIDTHS, Batch, Batches, Epochs, Position
from nmt_cli.data.prepared import TokenArray
from nmt_cli.errors import ModelError
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID


def batches_of(lengths: list[tuple[int, int]], budget: int = 200, seed: int = 3) -> Batches:
    """Return batches of pairs of given lengths; every token of pair i is 10 + i."""
    source = [[10 + row] * (length - 1) + [END_ID] for row, (length, _) in enumerate(lengths)]
    target = [[10 + row] * length for row, (_, length) in enumerate(lengths)]
    return Batches(TokenArray.of(source), TokenArray.of(target), budget, seed)


def epochs(lengths: list[tuple[int, int]], budget: int = 200, seed: int = 3) -> Epochs:
    return Epochs(lambda epoch: batches_of(lengths, budget, seed))


def rows(batch: Batch) -> list[int]:
    """Return the pairs in a batch, without padding rows."""
    return [int(row[0]) - 10 for row in batch.source if row[0] != PAD_ID]


def same(one: Batch, other: Batch) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("source", "target_in", "target_out")
    )


# Source lengths count END; targets may be empty.
pairs = st.lists(st.tuples(st.integers(2, 140), st.integers(0, 140)), min_size=1, max_size=40)


@given(pairs, st.integers(200, 600), st.integers(0, 2**40), st.integers(0, 3))
def test_an_epoch_has_every_pair_once_in_known_shapes(
    lengths: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    batches = batches_of(lengths, budget, seed)
    order = batches.order(epoch)
    made = [batches.make(*each) for each in order]
    assert sorted(row for batch in made for row in rows(batch)) == list(range(len(lengths)))
    for batch in made:
        count, width = batch.source.shape
        assert batch.target_in.shape == batch.target_out.shape == (count, width)
        assert width in (*WIDTHS, max(8, max(max(each[0], each[1] + 1) for each in lengths)))
        assert count == budget // width  # full, including padding rows
        longest = max(max(lengths[row][0], lengths[row][1] + 1) for row in rows(batch))
        narrower = [each for each in WIDTHS if each < width]
        assert (narrower[-1] if narrower else 0) < longest <= width


def test_padding_start_and_end() -> None:
    batches = batches_of([(3, 2), (5, 0)], budget=24)
    ((width, order),) = batches.order(0)
    assert width == 8
    batch = batches.make(8, np.array([0, 1]))
    assert {array.dtype for array in (batch.source, batch.target_in)} == {np.dtype(np.int32)}
    blank = [PAD_ID] * 8
    assert batch.source.tolist() == [
        [10, 10, END_ID, *blank[3:]],
        [11, 11, 11, 11, END_ID, *blank[5:]],
        blank,  # the budget has room for a third row
    ]
    assert batch.target_in.tolist() == [
        [START_ID, 10, 10, *blank[3:]],
        [START_ID, *blank[1:]],
        blank,
    ]
    assert batch.target_out.tolist() == [[10, 10, END_ID, *blank[3:]], [END_ID, *blank[1:]], blank]
    assert sorted(order) == [0, 1]


def test_the_width_includes_start_and_end() -> None:
    # A target of 8 needs 9 cells, a framed source of 8 needs 8. The last width is the longest
    # pair (60 here).
    def width(pair: tuple[int, int]) -> int:
        batches = batches_of([pair, (60, 1)])
        return next(width for width, row in batches.order(0) if 0 in row)

    assert [width(pair) for pair in ((8, 7), (8, 8), (9, 1), (57, 2))] == [8, 12, 12, 60]
    assert list(batches_of([(161, 1)]).widths) == [*WIDTHS, 160, 161]


def test_shapes_are_few_and_within_the_budget() -> None:
    rng = np.random.default_rng(0)
    batches = batches_of([tuple(each) for each in rng.integers(2, 127, (2000, 2))], budget=4096)
    shapes = {batches.make(*each).source.shape for each in batches.order(0)}
    assert len(shapes) <= len(WIDTHS)
    assert all(count * width <= 4096 < (count + 1) * width for count, width in shapes)


def test_the_order_depends_only_on_seed_and_epoch() -> None:
    lengths = [(5, 5)] * 50

    def order(seed: int, epoch: int) -> list[int]:
        batches = batches_of(lengths, 80, seed)
        return [row for planned in batches.order(epoch) for row in rows(batches.make(*planned))]

    assert order(1, 0) == order(1, 0)
    assert len({tuple(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4
    # The batches of all buckets are shuffled.
    mixed = batches_of([(5, 5)] * 40 + [(30, 30)] * 40, 64)
    widths = [width for width, _ in mixed.order(0)]
    assert sorted(widths) != widths != sorted(widths, reverse=True)


@given(pairs, st.integers(0, 3), st.integers(0, 30))
def test_resuming_gives_the_uninterrupted_sequence(
    lengths: list[tuple[int, int]], epoch: int, steps: int
) -> None:
    uninterrupted = list(islice(epochs(lengths).starting_at(Position(epoch)), steps + 6))
    position = uninterrupted[steps][2]
    resumed = list(islice(epochs(lengths).starting_at(position), 5))
    assert [step[0] for step in resumed] == [step[0] for step in uninterrupted[steps + 1 :]]
    assert all(same(a[1], b[1]) for a, b in zip(uninterrupted[steps + 1 :], resumed, strict=True))
    assert resumed[0][0] == position


def test_an_epoch_ends_and_the_next_begins() -> None:
    batches = batches_of([(5, 5)] * 50, 80)  # 5 batches of 10
    assert len(batches.order(0)) == 5
    stream = list(islice(epochs([(5, 5)] * 50, 80).starting_at(Position()), 10))
    places = [Position(position // 5, position % 5) for position in range(11)]
    assert [(position, following) for position, _, following in stream] == list(pairwise(places))
    chosen = [tuple(rows(batch)) for _, batch, _ in stream]
    first, second = chosen[:5], chosen[5:]
    assert sorted(sum(first, ())) == sorted(sum(second, ())) == list(range(50))
    assert first != second
    assert [tuple(rows(batch)) for _, batch, _ in batches.once()] == first
    assert list(epochs([(5, 5)] * 50, 80).order(1)[2][1]) == list(second[2])


def test_two_copies_of_each_pair_within_the_budget() -> None:
    source = TokenArray.of([[10 + row, END_ID] for row in range(5)])
    target = TokenArray.of([[20 + row] for row in range(5)])
    batches = Batches(source, target, 64, 0, copies=2)  # 8 rows of 8: 4 pairs
    assert len(batches.order(0)) == 2
    for width, chosen in batches.order(0):
        batch = batches.make(width, chosen)
        assert batch.source.shape == (8, 8)
        for side in (batch.source, batch.target_in, batch.target_out):
            np.testing.assert_array_equal(side[0::2], side[1::2])
        assert rows(batch)[0::2] == list(chosen)


def test_threads_share_one_computation_per_epoch() -> None:
    computed: list[int] = []

    def slowly(epoch: int) -> Batches:
        computed.append(epoch)
        time.sleep(0.05)
        return batches_of([(5, 5)])

    course = Epochs(slowly)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(course.batches, [3] * 4))
    assert computed == [3]


def test_a_curriculum_starts_with_the_shortest_pairs() -> None:
    lengths = [(length, 1) for length in range(2, 102)]
    batches = batches_of(lengths)
    course = Epochs(lambda epoch: batches, curriculum=4)
    shares = [course.share(epoch) for epoch in range(6)]
    # sqrt(e / 4 * 0.99 + 0.01)
    assert shares == pytest.approx([0.1, 0.507445, 0.710634, 0.867468, 1, 1], rel=1e-5)
    for epoch, share in enumerate(shares):
        trained = sorted(row for _, chosen in course.order(epoch) for row in chosen)
        assert trained == list(range(-(-int(share * 1e6) * 100 // 10**6)))


def test_weights_are_numbers_of_draws_in_an_epoch() -> None:
    plain = batches_of([(5, 4)] * 400)
    weights = np.repeat(np.array([1, 2, 0.25, 1.5], np.float32), 100)
    weighted = Batches(plain.source, plain.target, plain.batch_tokens, seed=3, weights=weights)

    def draws(batches: Batches, epoch: int) -> np.ndarray:
        drawn = np.concatenate([rows for _, rows in batches.order(epoch)])
        return np.bincount(drawn, minlength=400).reshape(4, 100)

    first, second = draws(weighted, 0), draws(weighted, 1)
    assert (first[0] == 1).all()
    assert (first[1] == 2).all()
    assert set(first[2]) == {0, 1}
    assert set(first[3]) == {1, 2}
    assert 10 < first[2].sum() < 40
    assert 130 < first[3].sum() < 170
    assert (first[2] != second[2]).any()
    weighted.weights = np.ones(400, np.float32)
    assert (draws(weighted, 0) == draws(plain, 0)).all()
    cells = sum(weighted.pairs_of(width) * width for width, _ in weighted.order(0))
    assert weighted.efficiency() == 400 * 5 / cells


def test_efficiency_is_the_share_of_cells_with_tokens() -> None:
    # Three targets of 5 tokens (4 and END), in a batch of 3 x 8 cells.
    assert batches_of([(5, 4)] * 3, budget=24).efficiency() == pytest.approx(15 / 24)
    assert batches_of([(5, 4)] * 3, budget=48).efficiency() == pytest.approx(15 / 48)


def test_an_empty_corpus_has_no_batches() -> None:
    empty = batches_of([])
    assert list(empty.once()) == []


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5)))
def test_arrays_can_be_saved_and_opened(
    tmp_path_factory: pytest.TempPathFactory, sequences: list[list[int]]
) -> None:
    stem = tmp_path_factory.getbasetemp() / "train.source"
    TokenArray.of(sequences).save(stem)
    array = TokenArray.open(stem)
    assert [array[row].tolist() for row in range(len(array))] == sequences
    assert array.lengths.tolist() == [len(sequence) for sequence in sequences]


def test_damaged_arrays_are_refused(tmp_path: Path) -> None:
    stem = tmp_path / "train.source"
    with pytest.raises(ModelError, match=r"cannot be read .*; run nmt prepare --force"):
        TokenArray.open(stem)
    TokenArray.of([[1, 2, 3], [4]]).save(stem)
    path = Path(f"{stem}.ids.npy")
    whole = path.read_bytes()
    for content in (whole[:-4], whole[:20], b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"train\.source\.\*\.npy: .*--force"):
            TokenArray.open(stem)
    for ids, offsets in (
        (np.zeros(3, np.int32), np.array([0, 3, 4])),
        (np.zeros(4, np.int64), np.array([0, 3, 4])),
        (np.zeros(4, np.int32), np.array([0.0, 3, 4])),
        (np.zeros(0, np.int32), np.zeros(0, np.int64)),
        (np.int32(4), np.array([0, 4])),
    ):
        np.save(path, ids)
        np.save(f"{stem}.offsets.npy", offsets)
        with pytest.raises(ModelError, match="not token arrays"):
            TokenArray.open(stem)
