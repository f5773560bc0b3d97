"""API keys, limits of requests, and counts of what was translated."""

import time
from collections import Counter
from functools import partial
from pathlib import Path

import prometheus_client as prometheus
from starlette.exceptions import HTTPException

from nmt_cli.errors import InputError
from nmt_cli.text.lines import read_lines

# Clients whose requests are counted; beyond it, the least recent ones are forgotten.
_MAX_CLIENTS = 10_000
_BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64]  # buckets of a metric


class TooManyRequests(HTTPException):
    """A refused request, with the seconds after which to try again."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(429, message, {"Retry-After": str(seconds)})


class Access:
    """Keys, limits of requests, and characters used.

    Attributes:
        keys: each with its limit, or None for the default limit; without keys, everyone may use
            the server.
        used: characters translated with each key.
    """

    def __init__(self, keys: dict[str, int | None], limit: int) -> None:
        """Set the keys, and the requests per minute for each key or address; 0 for no limit."""
        self.keys, self._limit = keys, limit
        self.used: Counter[str] = Counter()
        self._allowances: dict[str, tuple[float, float]] = {}  # requests left, and at what time

    @classmethod
    def read(cls, path: Path | None, limit: int) -> "Access":
        """Read keys from a file: one per line, optionally followed by its requests per minute."""
        keys: dict[str, int | None] = {}
        for number, line in enumerate(read_lines(path) if path else [], start=1):
            key, *limits = line.partition("#")[0].split() or [""]
            if not key:
                continue
            if len(limits) > 1 or not all(word.isdecimal() and int(word) for word in limits):
                raise InputError(
                    f"{path}, line {number}: not a key", "write KEY or KEY REQUESTS_PER_MINUTE"
                )
            keys[key] = int(limits[0]) if limits else None
        if path and not keys:
            raise InputError(f"{path}: has no key", "write one key per line")
        return cls(keys, limit)

    def admit(self, key: str, address: str) -> None:
        """Count a request of a known key or, without a key, of an address; or refuse it."""
        limit = self.keys.get(key) or self._limit
        if not limit:
            return
        client, now = key or address, time.monotonic()
        left, updated = self._allowances.pop(client, (float(limit), now))
        left = min(limit, left + (now - updated) * limit / 60)
        self._allowances[client] = (left - 1 if left >= 1 else left, now)
        if len(self._allowances) > _MAX_CLIENTS:
            self._allowances.pop(next(iter(self._allowances)))
        if left < 1:
            raise TooManyRequests(f"{limit} per minute", 1 + int((1 - left) * 60 / limit))


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
