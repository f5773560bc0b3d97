"""The queue, with a model whose answers and speed the tests choose."""

import pickle
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.batcher import Answer, Batcher, Flow, Metrics, TooManyRequests, _Cache

PLAIN = DecodingOptions()


class Model:
    """Translates to upper case, once it may; fails for batches that contain "bad"."""

    def __init__(self, version: str = "1") -> None:
        self.version, self.batches, self.may = version, list[list[str]](), threading.Event()
        self.started = threading.Semaphore(0)
        self.may.set()

    def translator(self, options: DecodingOptions, pause: Callable[[], None]) -> "Model":
        self.pause = pause
        return self

    def translate(self, lines: Sequence[Line]) -> Iterator[Translation]:
        texts = [line.text for line in lines]
        self.batches.append(texts)
        self.started.release()
        self.may.wait(10)
        if "bad" in texts:
            raise NmtError("a bad line")
        return (Translation(text.upper(), 0.0, [1]) for text in texts)


@contextmanager
def batching(
    max_waiting: int = 1000,
    cache: int = 0,
    threads: int = 1,
    metrics: Metrics | None = None,
    timeout: float = 100.0,
) -> Iterator[Batcher]:
    batcher = Batcher(threads, max_waiting, cache, metrics or Metrics(), timeout)
    yield batcher
    batcher.close()


def submit(
    batcher: Batcher, model: Any, texts: Sequence[str], options: DecodingOptions = PLAIN
) -> list[Answer]:
    return batcher.submit(model, options, [Line(text) for text in texts], Flow())


def blocked(batcher: Batcher, model: Any) -> None:
    """Keep the only thread busy, so that what follows waits."""
    model.may.clear()
    submit(batcher, model, ["first"])
    assert model.started.acquire(timeout=10)


def test_what_waits_together_is_translated_together() -> None:
    model: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        answers = [submit(batcher, model, [text])[0] for text in ("a", "ccc", "bb")]
        model.may.set()
        assert [answer.result(10).text for answer in answers] == ["A", "CCC", "BB"]
    assert model.batches == [["first"], ["a", "ccc", "bb"]]


def test_other_models_and_options_have_other_batches() -> None:
    model: Any = Model()
    other: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        submit(batcher, model, ["a"])
        submit(batcher, model, ["b"], DecodingOptions(n_best=2))
        submit(batcher, other, ["c"])
        model.may.set()
    assert (model.batches, other.batches) == ([["first"], ["a"], ["b"]], [["c"]])


def test_a_large_batch_takes_the_oldest_and_those_of_its_length() -> None:
    model: Any = Model()
    lines = ["x" * 9, *(letter * size for size in (1, 9) for letter in map(chr, range(97, 147)))]
    with batching(10_000) as batcher:
        blocked(batcher, model)
        submit(batcher, model, lines)
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
        good, bad, fine = submit(batcher, model, ["good", "bad", "fine"])
        model.may.set()
        assert [answer.result(10).text for answer in (good, fine)] == ["GOOD", "FINE"]
        with pytest.raises(NmtError, match="a bad line"):
            bad.result(10)


def test_a_full_queue_refuses_whole_requests() -> None:
    model: Any = Model()
    metrics = Metrics()
    with batching(max_waiting=10, metrics=metrics) as batcher:
        blocked(batcher, model)
        waiting = submit(batcher, model, ["123456"])
        with pytest.raises(TooManyRequests, match="too many sentences are waiting") as caught:
            submit(batcher, model, ["12", "345"])
        assert int((caught.value.headers or {})["Retry-After"]) >= 1
        assert "nmt_waiting_characters 6.0" in metrics.page().decode()
        waiting += submit(batcher, model, ["1234"])
        model.may.set()
        assert [answer.result(10).text for answer in waiting] == ["123456", "1234"]


def test_cancelled_sentences_are_not_translated() -> None:
    model: Any = Model()
    with batching() as batcher:
        blocked(batcher, model)
        gone, stays = submit(batcher, model, ["gone", "stays"])
        assert gone.cancel()
        model.may.set()
        assert stays.result(10).text == "STAYS"
        with pytest.raises(CancelledError):
            gone.result()
    assert model.batches == [["first"], ["stays"]]


def test_the_cache_knows_the_model_and_its_options_and_is_bounded() -> None:
    model: Any = Model()
    size = len(pickle.dumps(Translation("A", 0.0, [1]))) + 300
    with batching(cache=5 * size // 2) as batcher:
        for text in ("a", "a", "b", "c", "a"):  # two fit
            submit(batcher, model, [text])[0].result(10)
        assert model.batches == [["a"], ["b"], ["c"], ["a"]]
        submit(batcher, model, ["a"], DecodingOptions(n_best=2))[0].result(10)
        model.version = "2"
        submit(batcher, model, ["a"])[0].result(10)
    assert model.batches[4:] == [["a"], ["a"]]


def test_closing_finishes_what_waits() -> None:
    model: Any = Model()
    batcher = Batcher(2, 1000, 0, Metrics(), 100.0)
    model.may.clear()
    answers = submit(batcher, model, list("abcdefgh"))
    threading.Timer(0.1, model.may.set).start()
    batcher.close()
    assert [answer.result(0).text for answer in answers] == list("ABCDEFGH")


def test_the_cache_holds_what_it_counts() -> None:
    limit = 1_000_000
    cache = _Cache(limit)
    tracemalloc.start()
    for number in range(2000):
        words = [f"word{number}-{index}" for index in range(number % 100)]
        spans = [(1000 * index, 1000 * index + 9) for index, _ in enumerate(words)]
        translation = Translation(" ".join(words), 0.5, [], words, source_words=spans)
        cache.put(("1", PLAIN, Line(f"text {number}")), translation)
    assert cache.get(("1", PLAIN, Line("text 1999"))) == translation
    del translation, words, spans
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert limit / 1.2 < held < limit * 1.2


def test_a_long_request_lets_single_lines_pass() -> None:
    model: Any = Model()
    with batching(100_000) as batcher:
        blocked(batcher, model)
        submit(batcher, model, [f"{number} {'x' * 50}" for number in range(640)])
        submit(batcher, model, ["single"])
        model.may.set()
    assert any("single" in batch for batch in model.batches[1:4])


def test_single_lines_do_not_stop_a_long_request() -> None:
    """Every second batch begins with the oldest sentence."""
    model: Any = Model()
    with batching(100_000) as batcher:
        blocked(batcher, model)
        submit(batcher, model, [f"{number} {'x' * 1990}" for number in range(4)])
        for number in range(20):
            submit(batcher, model, [f"{number} {'y' * 1500}"])
        model.may.set()
    long = [number for number, batch in enumerate(model.batches) if "x" in "".join(batch)]
    assert long[-1] <= 9


def test_the_oldest_request_is_finished_first() -> None:
    """If all took turns only, none would be finished before almost all are."""
    model: Any = Model()
    with batching(1_000_000, timeout=1000.0) as batcher:
        blocked(batcher, model)
        for request in range(5):
            submit(batcher, model, [f"{request} {line} {'x' * 50}" for line in range(300)])
        model.may.set()
    last = max(n for n, batch in enumerate(model.batches) if any(t[:2] == "0 " for t in batch))
    assert last < len(model.batches) / 2


def test_a_long_line_lets_others_pass() -> None:
    """Its translator pauses before each batch of its sentences."""
    model: Any = Model()
    with batching(100_000) as batcher:
        blocked(batcher, model)
        submit(batcher, model, ["x" * 10_000])
        (answer,) = submit(batcher, model, ["single"], DecodingOptions(n_best=2))
        translate = model.translate

        def paused(lines: Sequence[Line]) -> Iterator[Translation]:
            if lines[0].text.startswith("x"):
                model.pause()
                assert answer.result(0).text == "SINGLE"
            return translate(lines)

        model.translate = paused
        model.may.set()
    assert model.batches[1:] == [["single"], ["x" * 10_000]]


def test_work_stops_when_nobody_waits_for_it() -> None:
    model: Any = Model()
    flow = Flow(ends=-1.0)
    model.translate = lambda lines: model.pause()
    with batching() as batcher:
        (answer,) = batcher.submit(model, PLAIN, [Line("late")], flow)
        with pytest.raises(TimeoutError):
            answer.result(10)


def test_what_would_take_too_long_is_refused_at_once() -> None:
    model: Any = Model()
    with batching(max_waiting=1_000_000, timeout=10.0) as batcher:
        blocked(batcher, model)
        submit(batcher, model, ["x" * 70_000])  # alone, it is accepted
        with pytest.raises(TooManyRequests) as caught:
            submit(batcher, model, ["y" * 20_000])
        assert int((caught.value.headers or {})["Retry-After"]) > 5
        submit(batcher, model, ["single"])  # its turn comes early
        model.may.set()
