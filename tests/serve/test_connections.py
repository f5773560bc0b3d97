"""Time limits and numbers of connections."""

import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import nmt_cli.serve.server as module
from tests.serve.conftest import Server, serving


def connected(server: Server, data: bytes = b"") -> socket.socket:
    url = urlsplit(server.url)
    connection = socket.create_connection((url.hostname, url.port), timeout=20)
    connection.sendall(data)
    return connection


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_header_must_arrive_in_time(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CLIENT_SECONDS", 0.5)
    with serving(bundle) as server:
        for data in (b"", b"GET /health HTTP/1.1\r\nHost"):
            connection = connected(server, data)
            assert is_closed(connection)
        connection = connected(server, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(1000)
        assert answer.startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /health")  # the next one must, too
        assert is_closed(connection)


def test_who_does_not_read_is_disconnected(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CLIENT_SECONDS", 0.5)
    with serving(bundle) as server:
        connection = connected(server, 3000 * b"GET /app.js HTTP/1.1\r\nHost: a\r\n\r\n")
        answered = -1
        while not answered or len(server.log) > answered:  # until it has to wait
            answered = len(server.log)
            time.sleep(2)
        received = 0
        try:
            while part := connection.recv(1 << 20):
                received += part.count(b"HTTP/1.1 200")
        except ConnectionError:
            pass
        assert received < 3000


def test_new_connections_end_the_oldest_that_sent_no_request(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 4)
    with serving(bundle) as server:
        header = "POST /detect HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        slow = connected(server, f"{header}Content-Length: 9\r\n\r\n".encode())  # it waits for 9
        idle = [connected(server) for _ in range(6)]
        assert is_closed(slow)
        assert is_closed(idle[0])
        assert server.get("/health").status == 200
        idle[-1].sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle[-1].recv(1000).startswith(b"HTTP/1.1 200")
