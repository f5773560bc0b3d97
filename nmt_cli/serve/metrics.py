"""What the server counts, in the format of Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """Counters of one server; none of them has any text."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("nmt_requests", "Requests.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "nmt_request_seconds", "Seconds to answer a request.", ["path"], registry=registry
        )
        self.characters = Counter(
            "nmt_characters", "Characters to translate.", ["source", "target"], registry=registry
        )
        self.tokens = Counter("nmt_tokens", "Tokens of translations.", registry=registry)
        self.cached = Counter("nmt_cached_sentences", "Sentences in the cache.", registry=registry)
        self.batches = Histogram(
            "nmt_batch_sentences",
            "Sentences translated together.",
            buckets=[1, 2, 4, 8, 16, 32, 64],
            registry=registry,
        )
        self.waiting = Gauge(
            "nmt_waiting_characters", "Characters in the queue.", registry=registry
        )

    def page(self) -> bytes:
        """All of them, as text."""
        return generate_latest(self._registry)
