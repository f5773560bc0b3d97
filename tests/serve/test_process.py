"""nmt serve as a process."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.harness import nmt


@contextmanager
def running(bundle: Path, *words: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server and its address."""
    command = [sys.executable, "-m", "nmt_cli", "serve", str(bundle), "--port", "0", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


def test_a_signal_ends_it_after_the_last_answer(bundle: Path) -> None:
    fields = body("\n".join(f"o gato {number}" for number in range(200)))
    with running(bundle, "--threads", "1") as (process, url):
        host = url.removeprefix("http://")
        connection = HTTPConnection(host, timeout=60)
        connection.putrequest("POST", "/translate")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(fields)))
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        # It is sent when the server begins to answer, so it has accepted the request.
        assert connection.sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        maps = Path(f"/proc/{process.pid}/maps")
        if maps.exists():
            assert "tensorflow" not in maps.read_text()
        process.send_signal(signal.SIGTERM)
        while accepts(host):
            assert process.poll() is None
        connection.send(fields)
        answer = json.load(connection.getresponse())
        assert answer["translatedText"].count("\n") == 199
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "203.0.113.1"], "203.0.113.1, port 5000: Cannot assign requested address"),
        (["--api-keys", "keys"], "keys, line 1: not a key; write KEY or KEY REQUESTS_PER_MINUTE"),
        (["--api-keys", "none"], "none: has no key; write one key per line"),
    ],
)
def test_bad_options(bundle: Path, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "keys").write_text("one two\n")
    (tmp_path / "none").write_text("# none\n")
    result = nmt("serve", bundle, *words, cwd=tmp_path)
    assert result.code == 1
    assert message in result.message
