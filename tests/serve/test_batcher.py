"""The queue, with a model whose answers and speed the tests choose."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translation
from nmt_cli.serve.batcher import Batcher, Metrics, TooManyRequests

PLAIN = DecodingOptions()


class Model:
    """Translates to upper case, once it may; fails for batches that contain "bad"."""

    def __init__(self, version: str = "1") -> None:
        self.version, self.batches, self.may = version, list[list[str]](), threading.Event()
        self.started = threading.Semaphore(0)
        self.may.set()

    def translator(self, options: DecodingOptions) -> "Model":
        return self

    def translate(self, lines: Sequence[str]) -> Iterator[Translation]:
        self.batches.append(list(lines))
        self.started.release()
        self.may.wait(10)
        if "bad" in lines:
            raise NmtError("a bad line")
        return (Translation(line.upper(), 0.0, [1]) for line in lines)


@contextmanager
def batching(
    max_waiting: int = 1000, cache: int = 0, threads: int = 1, metrics: Metrics | None = None
) -> Iterator[Batcher]:
    batcher = Batcher(threads, max_waiting, cache, metrics or Metrics())
    yield batcher
    batcher.close()


def blocked(batcher: Batcher, model: Any) -> None:
    """Keep the only thread busy, so that what follows waits."""
    model.may.clear()
    batcher.submit(model, PLAIN, ["first"])
    assert model.started.acquire(timeout=10)


def test_what_waits_together_is_translated_together() -> None:
    model: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        answers = [batcher.submit(model, PLAIN, [text])[0] for text in ("a", "ccc", "bb")]
        model.may.set()
        assert [answer.result(10).text for answer in answers] == ["A", "CCC", "BB"]
    assert model.batches == [["first"], ["a", "ccc", "bb"]]


def test_other_models_and_options_have_other_batches() -> None:
    model: Any = Model()
    other: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        batcher.submit(model, PLAIN, ["a"])
        batcher.submit(model, DecodingOptions(n_best=2), ["b"])
        batcher.submit(other, PLAIN, ["c"])
        model.may.set()
    assert (model.batches, other.batches) == ([["first"], ["a"], ["b"]], [["c"]])


def test_a_large_batch_takes_the_oldest_and_those_of_its_length() -> None:
    model: Any = Model()
    lines = ["x" * 9, *(letter * size for size in (1, 9) for letter in map(chr, range(97, 147)))]
    with batching(10_000) as batcher:
        blocked(batcher, model)
        batcher.submit(model, PLAIN, lines)
        model.may.set()
    first, second = model.batches[1:]
    assert len(first) == 64
    assert first[0] == "x" * 9
    assert sorted(first + second) == sorted(lines)
    assert sum(len(line) == 9 for line in first) == 51


def test_one_bad_sentence_fails_alone() -> None:
    model: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        good, bad, fine = batcher.submit(model, PLAIN, ["good", "bad", "fine"])
        model.may.set()
        assert [answer.result(10).text for answer in (good, fine)] == ["GOOD", "FINE"]
        with pytest.raises(NmtError, match="a bad line"):
            bad.result(10)


def test_a_full_queue_refuses_whole_requests() -> None:
    model: Any = Model()
    metrics = Metrics()
    with batching(max_waiting=10, metrics=metrics) as batcher:
        blocked(batcher, model)
        waiting = batcher.submit(model, PLAIN, ["123456"])
        with pytest.raises(TooManyRequests, match="too many sentences are waiting") as caught:
            batcher.submit(model, PLAIN, ["12", "345"])
        assert int((caught.value.headers or {})["Retry-After"]) >= 1
        assert "nmt_waiting_characters 6.0" in metrics.page().decode()
        waiting += batcher.submit(model, PLAIN, ["1234"])
        model.may.set()
        assert [answer.result(10).text for answer in waiting] == ["123456", "1234"]


def test_cancelled_sentences_are_not_translated() -> None:
    model: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        gone, stays = batcher.submit(model, PLAIN, ["gone", "stays"])
        assert gone.cancel()
        model.may.set()
        assert stays.result(10).text == "STAYS"
        with pytest.raises(CancelledError):
            gone.result()
    assert model.batches == [["first"], ["stays"]]


def test_the_cache_knows_the_model_and_its_options_and_is_bounded() -> None:
    model: Any = Model()
    with batching(cache=2500) as batcher:
        for text in ("a", "a", "b", "c", "a"):  # two fit
            batcher.submit(model, PLAIN, [text])[0].result(10)
        assert model.batches == [["a"], ["b"], ["c"], ["a"]]
        batcher.submit(model, DecodingOptions(n_best=2), ["a"])[0].result(10)
        model.version = "2"
        batcher.submit(model, PLAIN, ["a"])[0].result(10)
    assert model.batches[4:] == [["a"], ["a"]]


def test_closing_finishes_what_waits() -> None:
    model: Any = Model()
    batcher = Batcher(2, 1000, 0, Metrics())
    model.may.clear()
    answers = batcher.submit(model, PLAIN, list("abcdefgh"))
    threading.Timer(0.1, model.may.set).start()
    batcher.close()
    assert [answer.result(0).text for answer in answers] == list("ABCDEFGH")
