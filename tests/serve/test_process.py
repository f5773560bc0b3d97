"""nmt serve as a process."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
            line = next(each for each in process.stderr if each.startswith("serving "))
            assert line.startswith("serving pt-en at http://127.0.0.1:")
            yield process, line.split()[-1]
        finally:
            process.kill()


def ask(url: str, text: str) -> str:
    fields = json.dumps({"q": text, "source": "pt", "target": "en"}).encode()
    request = urllib.request.Request(
        f"{url}/translate", fields, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["translatedText"])


def test_a_signal_ends_it_after_the_last_answer(bundle: Path) -> None:
    text = "\n".join(f"o gato {number}" for number in range(200))
    with running(bundle, "--threads", "1") as (process, url):
        expected = ask(url, text)
        maps = Path(f"/proc/{process.pid}/maps")
        if maps.exists():
            assert "tensorflow" not in maps.read_text()
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, url, text.upper())
            while b'"POST"' not in os.read(process.stdout.fileno(), 1 << 16):  # type: ignore[union-attr]
                pass  # the log of the first request
            process.send_signal(signal.SIGTERM)
            assert len(answer.result(60).split("\n")) == 200
        assert expected.count("\n") == 199
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "203.0.113.1"], "203.0.113.1, port 5000: Cannot assign requested address"),
        (["--api-keys", "keys"], "keys, line 1: not a key; give KEY or KEY REQUESTS_PER_MINUTE"),
        (["--api-keys", "none"], "none: has no key; write one key a line"),
    ],
)
def test_bad_options(bundle: Path, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "keys").write_text("one two\n")
    (tmp_path / "none").write_text("# none\n")
    result = nmt("serve", bundle, *words, cwd=tmp_path)
    assert result.code == 1
    assert message in result.message
