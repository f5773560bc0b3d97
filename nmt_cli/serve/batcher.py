"""One queue for the sentences of all requests: those that wait together are translated together."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translation import Translation
from nmt_cli.serve.access import TooMany
from nmt_cli.serve.metrics import Metrics
from nmt_cli.serve.models import Direction

# How long the first sentence of a batch waits for others, if a thread is free for it.
WINDOW_SECONDS = 0.002
# Sentences of a batch: more would keep a short one waiting for too long.
BATCH = 64
# Beside its text, what a sentence in the cache takes in memory, in characters.
_OVERHEAD = 500

Answer = Future[Translation]


@dataclass(frozen=True)
class _Kind:
    """What the sentences of a batch have in common."""

    direction: Direction
    options: DecodingOptions


@dataclass(eq=False)
class _Sentence:
    text: str
    answer: Answer = field(default_factory=Future)
    arrived: float = field(default_factory=time.monotonic)


class Batcher:
    """Translates sentences of many requests in a few threads.

    A thread that becomes free takes the sentence that has waited longest and those of a similar
    length that need the same model and options. A translation depends on its sentence alone, so
    neither batches nor the cache change one.

    Args:
        threads: batches translated at the same time.
        most_waiting: characters in the queue, beyond which requests are refused.
        cache: characters of sentences and translations that are remembered; 0 for none.
    """

    def __init__(self, threads: int, most_waiting: int, cache: int, metrics: Metrics) -> None:
        self._most_waiting, self._metrics = most_waiting, metrics
        self._cache = _Cache(cache)
        self._queues: OrderedDict[_Kind, list[_Sentence]] = OrderedDict()
        self._waiting = self._idle = 0
        self._speed = 1000.0  # characters a second, before anything was measured
        self._closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"translate-{at}", daemon=True)
            for at in range(threads)
        ]
        for each in self._threads:
            each.start()

    def submit(
        self, direction: Direction, options: DecodingOptions, texts: Sequence[str]
    ) -> list[Answer]:
        """Queue sentences, all or none; return their translations to come, which can be cancelled.

        Raises:
            TooMany: too many characters are waiting.
        """
        kind, answers, new = _Kind(direction, options), list[Answer](), list[_Sentence]()
        for text in texts:
            known = self._cache.get((direction.version, options, text))
            if known is None:
                new.append(_Sentence(text))
            answers.append(new[-1].answer if known is None else _finished(known))
        size = sum(len(each.text) for each in new)
        self._metrics.cached.inc(len(texts) - len(new))
        with self._changed:
            # One request may be larger than the queue, if nothing waits before it.
            if new and self._waiting and self._waiting + size > self._most_waiting:
                seconds = 1 + int(self._waiting / self._speed)
                raise TooMany("too many sentences are waiting", seconds)
            if new:
                self._queues.setdefault(kind, []).extend(new)
                self._waiting += size
                self._changed.notify(len(new))
        return answers

    def close(self) -> None:
        """Translate what is queued, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for each in self._threads:
            each.join()

    def _work(self) -> None:
        while batch := self._next():
            kind, sentences = batch
            began = time.monotonic()
            self._translate(kind, sentences)
            seconds = max(time.monotonic() - began, 1e-6)
            rate = sum(len(each.text) for each in sentences) / seconds * len(self._threads)
            self._speed += 0.2 * (rate - self._speed)

    def _next(self) -> tuple[_Kind, list[_Sentence]] | None:
        """Wait for sentences and take a batch; None once closed and empty."""
        with self._changed:
            self._idle += 1
            try:
                while True:
                    if not self._queues:
                        if self._closed:
                            return None
                        self._changed.wait()
                        continue
                    kind, queue = min(self._queues.items(), key=lambda each: each[1][0].arrived)
                    left = WINDOW_SECONDS - (time.monotonic() - queue[0].arrived)
                    if left > 0 and len(queue) < BATCH and not self._closed:
                        self._changed.wait(left)
                        continue
                    chosen = self._take(kind, queue)
                    if chosen:
                        return kind, chosen
            finally:
                self._idle -= 1

    def _take(self, kind: _Kind, queue: list[_Sentence]) -> list[_Sentence]:
        """Take the oldest sentence and its share of those nearest to it in length."""
        size = min(BATCH, -(-len(queue) // self._idle))
        length = len(queue[0].text)
        nearest = sorted(
            range(len(queue)), key=lambda at: (at > 0, abs(len(queue[at].text) - length))
        )
        chosen = set(nearest[:size])
        taken = [queue[at] for at in sorted(chosen)]
        rest = [each for at, each in enumerate(queue) if at not in chosen]
        if rest:
            self._queues[kind] = rest
        else:
            del self._queues[kind]
        self._waiting -= sum(len(each.text) for each in taken)
        # Those of clients that went away are cancelled.
        return [each for each in taken if each.answer.set_running_or_notify_cancel()]

    def _translate(self, kind: _Kind, sentences: list[_Sentence]) -> None:
        version = kind.direction.version
        try:
            with kind.direction.translator(kind.options) as translator:
                found = list(translator.translate([each.text for each in sentences]))
        except Exception as error:
            if len(sentences) > 1:  # one sentence must not take the others with it
                for each in sentences:
                    self._translate(kind, [each])
                return
            sentences[0].answer.set_exception(error)
            return
        self._metrics.batches.observe(len(sentences))
        self._metrics.tokens.inc(sum(len(each.ids) for each in found))
        for sentence, translation in zip(sentences, found, strict=True):
            self._cache.put((version, kind.options, sentence.text), translation)
            sentence.answer.set_result(translation)

    @property
    def waiting(self) -> int:
        """Characters in the queue."""
        return self._waiting


def _finished(translation: Translation) -> Answer:
    answer = Answer()
    answer.set_result(translation)
    return answer


_Key = tuple[str, DecodingOptions, str]


class _Cache:
    """Translations of the sentences that were used last."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._found: OrderedDict[_Key, Translation] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> Translation | None:
        with self._lock:
            if (found := self._found.get(key)) is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: _Key, found: Translation) -> None:
        with self._lock:
            if key not in self._found:
                self._found[key] = found
                self._size += _size(key, found)
            while self._size > self._most:
                self._size -= _size(*self._found.popitem(last=False))


def _size(key: _Key, found: Translation) -> int:
    texts: Iterable[str] = (key[2], *(each.text for each in found.n_best))
    return sum(len(each) + _OVERHEAD for each in texts)
