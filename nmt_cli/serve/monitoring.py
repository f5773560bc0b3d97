"""Metrics, the log, and limits on what a client may send; texts are neither logged nor counted."""

import asyncio
import json
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# How long a client may take for each part of its request.
_RECEIVE_SECONDS = 30.0
# A character of JSON can take twelve bytes: two escapes for one above U+FFFF.
_BYTES_PER_CHARACTER, _OTHER_BYTES = 12, 65_536


class Metrics:
    """Prometheus counters of one server; no request text is recorded."""

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
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class Monitor:
    """Middleware that limits, logs and counts each request.

    Args:
        max_characters: of a request's texts.
        log: receives one line of JSON per request.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, max_characters: int, log: Callable[[str], None]
    ) -> None:
        self._app, self._metrics, self._log = app, metrics, log
        self._max_bytes = max_characters * _BYTES_PER_CHARACTER + _OTHER_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection, as ASGI applications do."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, received, complete = time.monotonic(), 499, 0, False

        async def limited_receive() -> Message:
            nonlocal received, complete
            if complete:  # only the end of the connection can follow
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), _RECEIVE_SECONDS)
            except TimeoutError:
                raise HTTPException(408, "the request did not arrive in time") from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._max_bytes:
                raise HTTPException(413, "the request is too large")
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, limited_receive, watched_send)
        finally:
            self._record(scope, status, time.monotonic() - began, received)

    def _record(self, scope: Scope, status: int, seconds: float, received: int) -> None:
        path = scope.get("root_path", "") + getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        line = {
            "time": round(time.time(), 3),
            "method": scope["method"],
            "path": path,
            "status": status,
            "seconds": round(seconds, 4),
            "bytes": received,
        }
        self._log(json.dumps(line))
