"""The queue that collects sentences of all requests, the cache, and the metrics."""

import hashlib
import math
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, islice
from operator import attrgetter

import prometheus_client as prometheus
from starlette.exceptions import HTTPException

from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.models import Direction

# How long the first sentence waits for others, if a thread is free for it.
WINDOW_SECONDS = 0.002
# Sentences that a thread takes at a time, and their work: with more, others would wait too long.
# The work of a sentence is its characters and these further ones.
MAX_SENTENCES, MAX_WORK, _SENTENCE_WORK = 64, 4000, 30
# The work of a request that is as urgent as single sentences, and of the batches that begin with
# what is urgent.
_FREE_WORK = _URGENT_WORK = 1500
# Every third batch is taken by turns, the others by age.
_TURNS = 3
# Sentences among which a thread looks for some of similar length.
_LOOK_AHEAD = 128
# Work per second that a thread is assumed to do until it was measured, and by how much a batch
# makes earlier measurements count less.
_FIRST_SPEED, _DECAY = 2000.0, 0.8
# Bytes that Python takes for an entry of the cache, beside its pickled translation.
_OVERHEAD = 300
_BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64]  # buckets of a metric

Answer = Future[Translation]
_CacheKey = tuple[str, DecodingOptions, Line]


class TooManyRequests(HTTPException):
    """A refused request, with the seconds after which to try again."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(429, message, {"Retry-After": str(seconds)})


class Metrics:
    """Prometheus counters of one server; no request text is recorded."""

    def __init__(self) -> None:
        self._registry = registry = prometheus.CollectorRegistry()
        counter = partial(prometheus.Counter, registry=registry)
        histogram = partial(prometheus.Histogram, registry=registry)
        self.requests = counter("nmt_requests", "Requests.", ["path", "status"])
        self.seconds = histogram("nmt_request_seconds", "Seconds to answer a request.", ["path"])
        self.characters = counter(
            "nmt_characters", "Characters to translate.", ["source", "target"]
        )
        self.tokens = counter("nmt_tokens", "Tokens of translations.")
        self.cached = counter("nmt_cached_sentences", "Sentences in the cache.")
        self.batches = histogram(
            "nmt_batch_sentences", "Sentences translated together.", buckets=_BATCH_SIZES
        )
        self.waiting = prometheus.Gauge(
            "nmt_waiting_characters", "Characters in the queue.", registry=registry
        )

    def page(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return prometheus.generate_latest(self._registry)


@dataclass(eq=False)
class Flow:
    """The sentences of a request, which take turns with those of others until its time is over.

    Attributes:
        ends: the monotonic time after which nobody waits for them.
        start: of its next sentence, in work that each flow may have had done.
        waiting: its sentences in the queue.
        waits: whether it waits for room in the queue.
    """

    ends: float = math.inf
    start: float = -math.inf
    waiting: int = 0
    waits: bool = False

    def check(self) -> None:
        """Raise TimeoutError if its time is over."""
        if time.monotonic() > self.ends:
            raise TimeoutError


@dataclass(eq=False)
class _Sentence:
    line: Line
    flow: Flow
    queue: "_Queue"
    start: float = 0.0  # when it is its turn; see Flow
    answer: Answer = field(default_factory=Future)
    arrived: float = field(default_factory=time.monotonic)

    @property
    def work(self) -> int:
        return len(self.line.text) + _SENTENCE_WORK


@dataclass(eq=False)
class _Queue:
    """Sentences with the same model and options, which may share a batch, by turns.

    Attributes:
        work: of all its sentences.
        done, seconds: work of batches and what it took, the latest counting most.
    """

    model: Direction
    options: DecodingOptions
    sentences: list[_Sentence] = field(default_factory=list)
    work: int = 0
    done: float = _FIRST_SPEED
    seconds: float = 1.0


class Batcher:
    """Collects sentences of many requests, and hands them to translators in a few threads.

    A free thread takes a sentence and those of a similar length that need the same model and
    options; the translator makes the batches. That is the oldest sentence or, in every third batch,
    the next of the request of which least was done: single sentences do not wait for long texts,
    which are translated in one and a half times the time at most. A translation depends only on its
    sentence, so neither batches nor the cache change one.

    Args:
        threads: translators that run at the same time.
        max_waiting: characters in the queue, beyond which requests are refused.
        cache: bytes of the cache; 0 for none.
        timeout: seconds in which a request must be translated, or it is refused.
    """

    def __init__(
        self, threads: int, max_waiting: int, cache: int, metrics: Metrics, timeout: float
    ) -> None:
        self._max_waiting, self._metrics, self._timeout = max_waiting, metrics, timeout
        self._cache = _Cache(cache)
        self._queues = dict[tuple[Direction, DecodingOptions], _Queue]()
        self._by_age: OrderedDict[_Sentence, None] = OrderedDict()
        self._flows = set[Flow]()  # that have sentences in queues
        self._waiting = self._idle = 0  # characters, threads
        metrics.waiting.set_function(lambda: self._waiting)
        self._start = 0.0  # of the sentence whose turn was last
        self._turn, self._closed = 0, False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"translate-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, model: Direction, options: DecodingOptions, lines: Sequence[Line], flow: Flow
    ) -> list[Answer]:
        """Queue sentences, or refuse all; return their translations, which can be cancelled."""
        answers, new = list[Answer](), list[_Sentence]()
        with self._changed:
            queue = self._queues.setdefault((model, options), _Queue(model, options))
        for line in lines:
            sentence = _Sentence(line, flow, queue)
            if cached := self._cache.get((model.version, options, line)):
                sentence.answer.set_result(cached)
            else:
                new.append(sentence)
            answers.append(sentence.answer)
        self._metrics.cached.inc(len(lines) - len(new))
        if not new:
            return answers
        with self._changed:
            work = sum(sentence.work for sentence in new)
            self._admit(work, _characters(new), queue, flow)
            for sentence in new:
                flow.start = max(flow.start, self._start - _FREE_WORK)
                sentence.start = max(flow.start, self._start)
                flow.start += sentence.work
            queue.sentences += new
            queue.sentences.sort(key=attrgetter("start"))
            queue.work += work
            self._by_age.update(dict.fromkeys(new))
            self._waiting += _characters(new)
            flow.waiting += len(new)
            self._flows.add(flow)
            self._changed.notify(len(new))
        return answers

    def _admit(self, work: int, characters: int, queue: _Queue, flow: Flow) -> None:
        """Refuse work that could not be done in time, or that is too much, unless none waits."""
        if not self._by_age:
            return
        threads = len(self._threads)
        before = sum(other.work * other.seconds / other.done for other in self._queues.values())
        own = work * queue.seconds / queue.done
        by_turns = _TURNS * own * len({*self._flows, flow})
        seconds = min((before + own) * _TURNS / (_TURNS - 1), by_turns) / threads
        if self._waiting + characters > self._max_waiting or seconds > self._timeout:
            raise TooManyRequests("too many sentences are waiting", 1 + int(before / threads))

    def close(self) -> None:
        """Translate what is queued, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while sentences := self._next():
            self._translate(sentences)

    def _next(self) -> list[_Sentence] | None:
        """Wait for sentences and take some; return None once closed and empty."""
        with self._changed:
            self._idle += 1
            try:
                while self._by_age or not self._closed:
                    if not self._by_age:
                        self._changed.wait()
                        continue
                    candidates = self._candidates()
                    seconds = WINDOW_SECONDS - (time.monotonic() - candidates[0].arrived)
                    is_full = len(candidates) >= MAX_SENTENCES
                    if seconds > 0 and not is_full and not self._closed:
                        self._changed.wait(seconds)
                        continue
                    limit = MAX_WORK if self._turn else _URGENT_WORK
                    self._turn = (self._turn + 1) % _TURNS
                    if sentences := self._take(candidates, self._idle, limit):
                        return sentences
                return None
            finally:
                self._idle -= 1

    def _candidates(self) -> list[_Sentence]:
        """Return sentences that may share a batch, the first of which must be in it."""
        queues = [queue for queue in self._queues.values() if queue.sentences]
        queue = min(queues, key=lambda queue: queue.sentences[0].start)
        self._start = max(self._start, queue.sentences[0].start)
        if not self._turn:
            return queue.sentences[:_LOOK_AHEAD]
        queue = next(iter(self._by_age)).queue
        oldest = (sentence for sentence in self._by_age if sentence.queue is queue)
        return list(islice(oldest, _LOOK_AHEAD))

    def _take(self, candidates: list[_Sentence], threads: int, limit: int) -> list[_Sentence]:
        """Take the first sentence and those nearest to it in length: a thread's share."""
        first, *others = candidates
        queue = first.queue
        share = min(MAX_SENTENCES, -(-len(queue.sentences) // threads))
        others.sort(key=lambda other: abs(other.work - first.work))
        works = accumulate((other.work for other in others[: share - 1]), initial=first.work)
        count = sum(work <= limit for work in works)
        chosen = {first, *others[: max(count - 1, 0)]}
        taken = [sentence for sentence in candidates if sentence in chosen]
        queue.sentences = [sentence for sentence in queue.sentences if sentence not in chosen]
        for sentence in taken:
            del self._by_age[sentence]
            sentence.flow.waiting -= 1
            if not sentence.flow.waiting:
                self._flows.discard(sentence.flow)
        queue.work -= sum(sentence.work for sentence in taken)
        self._waiting -= _characters(taken)
        # Sentences of clients that disconnected are cancelled.
        return [sentence for sentence in taken if sentence.answer.set_running_or_notify_cancel()]

    def _translate(self, sentences: list[_Sentence], is_nested: bool = False) -> None:
        queue = sentences[0].queue
        work, paused = sum(sentence.work for sentence in sentences), 0.0

        def pause() -> None:
            """Stop if nobody waits any more; let others pass a line that takes long."""
            nonlocal paused
            now = time.monotonic()
            if all(sentence.flow.ends < now for sentence in sentences):
                raise TimeoutError
            if work > MAX_WORK and not is_nested:
                self._let_pass()
                paused += time.monotonic() - now

        version = queue.model.version
        try:
            translator = queue.model.translator(queue.options, pause)
            began = time.monotonic()
            translations = list(translator.translate([sentence.line for sentence in sentences]))
        except Exception as error:
            if len(sentences) > 1:  # find the sentence that fails; the others succeed
                for sentence in sentences:
                    self._translate([sentence], is_nested)
                return
            sentences[0].answer.set_exception(error)
            return
        if not self._idle:  # one thread by itself is faster
            queue.done = _DECAY * queue.done + work
            queue.seconds = _DECAY * queue.seconds + time.monotonic() - began - paused
        self._metrics.batches.observe(len(sentences))
        self._metrics.tokens.inc(sum(len(translation.ids) for translation in translations))
        for sentence, translation in zip(sentences, translations, strict=True):
            self._cache.put((version, queue.options, sentence.line), translation)
            sentence.answer.set_result(translation)

    def _let_pass(self) -> None:
        """Translate a few shorter sentences, if any wait."""
        with self._changed:
            short = [
                [other for other in queue.sentences[:_LOOK_AHEAD] if other.work <= MAX_WORK]
                for queue in self._queues.values()
            ]
            if not any(short):
                return
            candidates = min(filter(None, short), key=lambda others: others[0].start)
            sentences = self._take(candidates, 1, _URGENT_WORK)
        if sentences:
            self._translate(sentences, is_nested=True)


def _characters(sentences: Iterable[_Sentence]) -> int:
    return sum(len(sentence.line.text) for sentence in sentences)


class _Cache:
    """Translations of the most recently used sentences, up to a number of bytes.

    They are pickled, which makes them small and their sizes known.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size, self._size = max_size, 0
        self._pickled: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _CacheKey) -> Translation | None:
        digest = _digest(key)
        with self._lock:
            if pickled := self._pickled.get(digest):
                self._pickled.move_to_end(digest)
        return pickle.loads(pickled) if pickled else None

    def put(self, key: _CacheKey, translation: Translation) -> None:
        digest, pickled = _digest(key), pickle.dumps(translation)
        with self._lock:
            if digest not in self._pickled:
                self._pickled[digest] = pickled
                self._size += len(pickled) + _OVERHEAD
            while self._size > self._max_size:
                self._size -= len(self._pickled.popitem(last=False)[1]) + _OVERHEAD


def _digest(key: _CacheKey) -> bytes:
    return hashlib.sha256(repr(key).encode(errors="surrogatepass")).digest()
