"""nmt serve as a process."""

import json
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.harness import nmt

MAIN = "from nmt_cli.cli import main; main()"


@contextmanager
def running(
    bundle: Path, *words: str, code: str = MAIN, files: int | None = None
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server, which may open only some files, and its address."""

    def limit() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-c", code, "serve", str(bundle), "--port", "0", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit
    ) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if line.startswith("serving "))
            assert line.startswith("serving pt-en at http://127.0.0.1:")
            yield process, line.split()[-1]
        finally:
            process.kill()


def body(text: str) -> bytes:
    return json.dumps({"q": text, "source": "pt", "target": "en"}).encode()


def accepts(host: str) -> bool:
    """Whether the server takes new connections."""
    connection = HTTPConnection(host, timeout=60)
    try:
        connection.connect()
    except ConnectionError:
        return False
    finally:
        connection.close()
    return True


def begun(host: str, size: int) -> HTTPConnection:
    """A request that the server has accepted and whose body it waits for."""
    connection = HTTPConnection(host, timeout=60)
    connection.putrequest("POST", "/translate")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(size))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    # Sent when the server begins to read the body.
    assert connection.sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    return connection


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_after_the_last_answer(bundle: Path, number: signal.Signals) -> None:
    fields = body("\n".join(f"o gato {number}" for number in range(200)))
    with running(bundle, "--threads", "1") as (process, url):
        host = url.removeprefix("http://")
        connection = begun(host, len(fields))
        maps = Path(f"/proc/{process.pid}/maps")
        if maps.exists():
            assert "tensorflow" not in maps.read_text()
        process.send_signal(number)
        while accepts(host):
            assert process.poll() is None
        connection.send(fields)
        answer = json.load(connection.getresponse())
        assert answer["translatedText"].count("\n") == 199
        assert process.wait(30) == 0


def test_a_second_signal_ends_it_at_once(bundle: Path) -> None:
    with running(bundle) as (process, url):
        host = url.removeprefix("http://")
        connection = begun(host, 100)
        process.send_signal(signal.SIGTERM)
        while accepts(host):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 130
        connection.close()


def test_its_end_does_not_wait_for_documents_whose_time_is_over(bundle: Path) -> None:
    code = (
        "import time, nmt_cli.serve.service as service; "
        f"service.translate_document = lambda *document: time.sleep(60); {MAIN}"
    )
    with running(bundle, "--timeout", "1", code=code) as (process, url):
        connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
        texts = ["<p>o gato</p>"] * 9  # more than are translated at a time
        fields = {"text": texts, "target_lang": "EN", "tag_handling": "html"}
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v2/translate", json.dumps(fields), headers)
        answer = connection.getresponse()
        assert answer.status == 500
        assert json.load(answer) == {"message": "the translation took too long"}
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_it_answers_although_idle_connections_take_all_files(bundle: Path) -> None:
    with running(bundle, files=100) as (process, url):
        host, port = url.removeprefix("http://").split(":")
        idle = [socket.create_connection((host, int(port)), timeout=30) for _ in range(400)]
        connection = HTTPConnection(host, int(port), timeout=30)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert len(process.stderr.read().splitlines()) <= 2
        for other in idle:
            other.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "203.0.113.1"], "203.0.113.1, port 5000: Cannot assign requested address"),
        (["--api-keys", "keys"], "keys, line 1: not a key; write KEY, KEY REQUESTS_PER_MINUTE, or"),
        (["--api-keys", "none"], "none: has no key; write one key per line"),
    ],
)
def test_bad_options(bundle: Path, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "keys").write_text("one two\n")
    (tmp_path / "none").write_text("# none\n")
    result = nmt("serve", bundle, *words, cwd=tmp_path)
    assert result.code == 1
    assert message in result.message
