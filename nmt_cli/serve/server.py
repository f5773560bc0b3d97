"""The HTTP server: signals, and time limits and numbers of connections."""

import asyncio
import errno
import logging
import os
import resource
import signal
import socket
import threading
import time
from collections import OrderedDict
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from nmt_cli.serve.options import ServeOptions

logger = logging.getLogger(__name__)

# How long a client may take to send the header of a request, or to read more of its answer.
_CLIENT_SECONDS = 30.0
# Beyond half of the files that the process may have open, others could not be opened.
_MAX_CONNECTIONS = 1000
# Connections accepted at a time; more wait in the kernel. asyncio tries this often each second
# while the process may open no more files.
_ACCEPTED, _WAITING = 100, 2048
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_WARNING_SECONDS = 60.0


class Server(uvicorn.Server):
    """Serves an application until a signal, and then finishes pending requests."""

    def __init__(self, app: Starlette, options: ServeOptions) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Connection,
                ws="none",
                backlog=_ACCEPTED,
                log_level="error",  # invalid requests are no news
                access_log=False,
                server_header=False,
                proxy_headers=bool(options.proxy),
                forwarded_allow_ips=options.proxy,
                timeout_graceful_shutdown=int(options.timeout) + 1,
            )
        )
        self._warned, self._ends = -_WARNING_SECONDS, False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it
            signal.signal(signal.SIGHUP, self.handle_exit)
        asyncio.get_running_loop().set_exception_handler(self._report)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_WAITING)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish pending requests; at a second signal, end the process at once."""
        if self._ends and sig != signal.SIGHUP:  # which a terminal may send twice
            os._exit(130)
        self._ends = self.should_exit = True
        self.server_state.__dict__["ends"] = True

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
            loop.default_exception_handler(context)
        elif time.monotonic() - self._warned > _WARNING_SECONDS:
            self._warned = time.monotonic()
            logger.warning(f"new connections have to wait: {error.strerror}")


class _Connection(H11Protocol):
    """Ends if the client neither sends a header nor reads in time, or to make room for others."""

    def __init__(self, config: Any, server_state: Any, *others: Any, **settings: Any) -> None:
        super().__init__(config, server_state, *others, **settings)
        # Connections of the server without a complete request, the oldest first.
        self._incomplete: OrderedDict[_Connection, None]
        self._incomplete = vars(server_state).setdefault("incomplete", OrderedDict())
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if "ends" in vars(self.server_state):  # the server has closed those that it knew
            transport.abort()
            return
        self._watch()
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if len(self.connections) > min(_MAX_CONNECTIONS, files // 2):
            self._incomplete.popitem(last=False)[0].transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._incomplete.pop(self, None)
        if self._timer:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        """Note whether a request has begun and is complete, and wait for the client, or no more."""
        has_header = self.cycle is not None and not self.cycle.response_complete
        if has_header and not self.cycle.more_body:
            self._incomplete.pop(self, None)
        else:
            self._incomplete.setdefault(self)
        if has_header and not self.flow.write_paused:
            if self._timer:
                self._timer.cancel()
            self._timer = None
        elif not self._timer:
            self._timer = self.loop.call_later(_CLIENT_SECONDS, self.transport.abort)
