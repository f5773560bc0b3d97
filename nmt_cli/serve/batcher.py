"""The models of a server, and the queue that collects sentences of all requests for them."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import prometheus_client as prometheus
from starlette.exceptions import HTTPException

from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.models import TranslationModel, kind_of
from nmt_cli.models import open as open_model
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import FIRST_SPEED, Translation, Translator

logger = logging.getLogger(__name__)

# How long the first sentence waits for others, if a thread is free for it.
WINDOW_SECONDS = 0.002
# Sentences that a thread takes at a time: with more, a short one would wait too long.
MAX_SENTENCES = 64
# Approximate overhead of a cached text, in characters.
_OVERHEAD = 500
_BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64]  # buckets of a metric

Answer = Future[Translation]
_CacheKey = tuple[str, DecodingOptions, str]


class ServedModel:
    """A bundle and the languages it translates between.

    Attributes:
        source, target: codes of the languages, in lower case.
        has_attention: whether its translations can have alignments.
        version: of its files; a replaced bundle has another one.
        size: bytes of its files.
        used: when it last translated.
    """

    def __init__(self, folder: Path) -> None:
        if kind_of(folder) != "bundle":
            hint = "export it with nmt export --onnx"
            raise ModelError(f"{folder}: only bundles can be served", hint)
        self.folder = folder
        self._lock = threading.Lock()
        self._file = _manifest_file(folder)
        self._set(open_model(folder, threads=1, workers=1))
        self.used = 0.0

    def _set(self, model: TranslationModel) -> None:
        self._model, self._translators = model, dict[DecodingOptions, Translator]()
        self.has_attention, self.beam_size = model.has_attention, model.decoding.beam_size
        self.source, self.target = (code.lower() for code in model.languages)
        self.version = " ".join(model.fingerprint())
        self.size = sum(path.stat().st_size for path in self.folder.glob("*") if path.is_file())

    @property
    def is_loaded(self) -> bool:
        """Whether its graphs are in memory."""
        return bool(self._translators)

    def translator(self, options: DecodingOptions) -> Translator:
        """Return a translator with these options; the model is loaded if it is not."""
        self.used = time.monotonic()
        with self._lock:
            if options not in self._translators:
                self._translators[options] = self._model.translator(options)
            return self._translators[options]

    def release(self) -> None:
        """Free its memory once no batch uses it; the next one loads it again."""
        with self._lock:
            self._translators.clear()
            self._model.close()

    def reload_if_changed(self) -> None:
        """Open the bundle again if it was replaced and can be read.

        Batches that are being translated keep the old one.
        """
        file = _manifest_file(self.folder)
        if file == self._file:
            return
        try:
            model = open_model(self.folder, threads=1, workers=1)
            if tuple(code.lower() for code in model.languages) != (self.source, self.target):
                raise ModelError(f"{self.folder}: now translates between other languages")
        except NmtError as error:
            if file is not None:
                logger.warning(f"{error.args[0]}; still serving the previous bundle")
        else:
            with self._lock:
                self._set(model)
            logger.warning(f"{self.folder}: reloaded")
        self._file = file


class Models:
    """All models of a server.

    Args:
        folders: of the bundles.
        memory: bytes of models that may be loaded at the same time; 0 for no limit. The least
            recently used model is unloaded.

    Attributes:
        sources, all_targets, languages: codes of the source languages, of the target languages
            and of both, sorted.
    """

    def __init__(self, folders: Sequence[Path], memory: int) -> None:
        self._memory = memory
        self.served = [ServedModel(folder) for folder in dict.fromkeys(folders)]
        by_languages: dict[tuple[str, str], Path] = {}
        for model in self.served:
            other = by_languages.setdefault((model.source, model.target), model.folder)
            if other != model.folder:
                reason = f"both translate from {model.source} to {model.target}"
                raise ModelError(f"{other} and {model.folder} {reason}", "serve one of them")
        self.sources = sorted({model.source for model in self.served})
        self.all_targets = sorted({model.target for model in self.served})
        self.languages = sorted({*self.sources, *self.all_targets})

    def targets(self, source: str) -> list[str]:
        """Return the codes of the languages that a language can be translated to, sorted."""
        return sorted(model.target for model in self.served if model.source == source)

    def find(self, source: str, target: str) -> ServedModel | None:
        """Return the model for two languages.

        A code with a region also finds the language without it, and the reverse.
        """
        near = [
            model
            for model in self.served
            if (_base(model.source), _base(model.target)) == (_base(source), _base(target))
        ]
        exact = source.lower(), target.lower()
        return max(
            near,
            key=lambda model: (model.source == exact[0]) + (model.target == exact[1]),
            default=None,
        )

    def make_room(self, needed: ServedModel) -> None:
        """Unload the least recently used models until there is room for this one."""
        loaded = [model for model in self.served if model.is_loaded and model is not needed]
        excess = sum(model.size for model in [needed, *loaded]) - self._memory
        for model in sorted(loaded, key=lambda model: model.used) if self._memory else ():
            if excess > 0:
                model.release()
                excess -= model.size


def _base(code: str) -> str:
    return code.lower().replace("_", "-").partition("-")[0]


def _manifest_file(folder: Path) -> tuple[int, int] | None:
    """Identify the manifest's file, which differs once a bundle is replaced; None without one."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


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


# Sentences with the same model and options may share a batch.
_Group = tuple[ServedModel, DecodingOptions]


@dataclass(eq=False)
class _Sentence:
    text: str
    answer: Answer = field(default_factory=Future)
    arrived: float = field(default_factory=time.monotonic)


class Batcher:
    """Collects sentences of many requests, and hands them to translators in a few threads.

    A free thread takes the oldest sentence and those of a similar length that need the same model
    and options; the translator makes the batches. A translation depends only on its sentence, so
    neither batches nor the cache change one.

    Args:
        threads: translators that run at the same time.
        max_waiting: characters in the queue, beyond which requests are refused.
        cache: size of the cache, in characters of sentences and translations; 0 for none.
    """

    def __init__(self, threads: int, max_waiting: int, cache: int, metrics: Metrics) -> None:
        self._max_waiting, self._metrics = max_waiting, metrics
        self._cache = _Cache(cache)
        self._queues: OrderedDict[_Group, list[_Sentence]] = OrderedDict()
        self._waiting = self._idle = 0  # characters, threads
        metrics.waiting.set_function(lambda: self._waiting)
        self._speed = FIRST_SPEED  # characters per second of all threads
        self._closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"translate-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, model: ServedModel, options: DecodingOptions, texts: Sequence[str]
    ) -> list[Answer]:
        """Queue sentences, or refuse all; return their translations, which can be cancelled."""
        answers, new = list[Answer](), list[_Sentence]()
        for text in texts:
            sentence = _Sentence(text)
            if cached := self._cache.get((model.version, options, text)):
                sentence.answer.set_result(cached)
            else:
                new.append(sentence)
            answers.append(sentence.answer)
        size = _characters(new)
        self._metrics.cached.inc(len(texts) - len(new))
        with self._changed:
            # One request may be larger than the queue, if nothing waits before it.
            if new and self._waiting and self._waiting + size > self._max_waiting:
                seconds = 1 + int(self._waiting / self._speed)
                raise TooManyRequests("too many sentences are waiting", seconds)
            if new:
                self._queues.setdefault((model, options), []).extend(new)
                self._waiting += size
                self._changed.notify(len(new))
        return answers

    def close(self) -> None:
        """Translate what is queued, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while work := self._next():
            (model, options), sentences = work
            began = time.monotonic()
            self._translate(model, options, sentences)
            seconds = max(time.monotonic() - began, 1e-6)
            speed = _characters(sentences) / seconds * len(self._threads)
            self._speed += 0.2 * (speed - self._speed)

    def _next(self) -> tuple[_Group, list[_Sentence]] | None:
        """Wait for sentences and take some; return None once closed and empty."""
        with self._changed:
            self._idle += 1
            try:
                while self._queues or not self._closed:
                    if not self._queues:
                        self._changed.wait()
                        continue
                    group, queue = min(self._queues.items(), key=lambda item: item[1][0].arrived)
                    seconds = WINDOW_SECONDS - (time.monotonic() - queue[0].arrived)
                    if seconds > 0 and len(queue) < MAX_SENTENCES and not self._closed:
                        self._changed.wait(seconds)
                    elif sentences := self._take(group, queue):
                        return group, sentences
                return None
            finally:
                self._idle -= 1

    def _take(self, group: _Group, queue: list[_Sentence]) -> list[_Sentence]:
        """Take the oldest sentence and those nearest to it in length: one idle thread's share."""
        oldest, *others = queue
        others.sort(key=lambda sentence: abs(len(sentence.text) - len(oldest.text)))
        count = min(MAX_SENTENCES, -(-len(queue) // self._idle))
        chosen = {oldest, *others[: count - 1]}
        taken = [sentence for sentence in queue if sentence in chosen]
        rest = [sentence for sentence in queue if sentence not in chosen]
        if rest:
            self._queues[group] = rest
        else:
            del self._queues[group]
        self._waiting -= _characters(taken)
        # Sentences of clients that disconnected are cancelled.
        return [sentence for sentence in taken if sentence.answer.set_running_or_notify_cancel()]

    def _translate(
        self, model: ServedModel, options: DecodingOptions, sentences: list[_Sentence]
    ) -> None:
        version = model.version
        try:
            texts = [sentence.text for sentence in sentences]
            translations = list(model.translator(options).translate(texts))
        except Exception as error:
            if len(sentences) > 1:  # find the sentence that fails; the others succeed
                for sentence in sentences:
                    self._translate(model, options, [sentence])
                return
            sentences[0].answer.set_exception(error)
            return
        self._metrics.batches.observe(len(sentences))
        self._metrics.tokens.inc(sum(len(translation.ids) for translation in translations))
        for sentence, translation in zip(sentences, translations, strict=True):
            self._cache.put((version, options, sentence.text), translation)
            sentence.answer.set_result(translation)


def _characters(sentences: Iterable[_Sentence]) -> int:
    return sum(len(sentence.text) for sentence in sentences)


class _Cache:
    """Translations of the most recently used sentences, up to a number of characters."""

    def __init__(self, max_size: int) -> None:
        self._max_size, self._size = max_size, 0
        self._translations: OrderedDict[_CacheKey, Translation] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _CacheKey) -> Translation | None:
        with self._lock:
            if key in self._translations:
                self._translations.move_to_end(key)
            return self._translations.get(key)

    def put(self, key: _CacheKey, translation: Translation) -> None:
        with self._lock:
            if key not in self._translations:
                self._translations[key] = translation
                self._size += _cache_size(key, translation)
            while self._size > self._max_size:
                self._size -= _cache_size(*self._translations.popitem(last=False))


def _cache_size(key: _CacheKey, translation: Translation) -> int:
    texts = (key[2], *(hypothesis.text for hypothesis in translation.n_best))
    return sum(len(text) + _OVERHEAD for text in texts)
