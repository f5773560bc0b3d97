"""A real server on the loopback, with a small random model."""

import json
import shutil
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.bundle.manifest import manifest_digest
from nmt_cli.models import TranslationModel
from nmt_cli.models import open as open_model
from nmt_cli.serve.app import create_app
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.server import Server as HttpServer
from nmt_cli.serve.service import Service
from tests.serve.phrasebook import phrase_service


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass(frozen=True)
class Server:
    url: str
    service: Service
    log: list[str]

    def get(self, path: str) -> Answer:
        return self._send(urllib.request.Request(self.url + path))

    def post(
        self, path: str, body: Any, headers: dict[str, str] | None = None, method: str = "POST"
    ) -> Answer:
        """Post text as a form, all else as JSON."""
        kind = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return self.send(path, data, {"Content-Type": kind, **(headers or {})}, method)

    def delete(self, path: str) -> Answer:
        return self._send(urllib.request.Request(self.url + path, method="DELETE"))

    def send(self, path: str, data: bytes, headers: dict[str, str], method: str = "POST") -> Answer:
        return self._send(urllib.request.Request(self.url + path, data, headers, method=method))

    def _send(self, request: urllib.request.Request) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                raw, status, headers = response.read(), response.status, response.headers
        except urllib.error.HTTPError as error:
            raw, status, headers = error.read(), error.code, error.headers
        is_json = headers.get("Content-Type", "").startswith("application/json")
        return Answer(status, json.loads(raw) if is_json else raw, dict(headers))


@contextmanager
def serving(
    *bundles: Path, make: Callable[[ServeOptions], Service] | None = None, **settings: Any
) -> Iterator[Server]:
    options = ServeOptions(threads=1, cache=0, **settings)
    service = make(options) if make else Service(bundles, options)
    log: list[str] = []
    app = create_app(service, log.append)
    listener = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(app, options)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{listener.getsockname()[1]}", service, log)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that says it translates from Portuguese to English."""
    return renamed(tiny_bundle("float32"), tmp_path_factory.mktemp("served") / "pt-en", "pt", "en")


def renamed(bundle: Path, folder: Path, source: str, target: str) -> Path:
    """Copy a bundle and change its languages."""
    shutil.copytree(bundle, folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"source_language": source, "target_language": target}
    manifest["manifest_sha256"] = manifest_digest(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(bundle: Path) -> Iterator[Server]:
    with serving(bundle) as running:
        yield running


@pytest.fixture(scope="module")
def phrasebook() -> Iterator[Server]:
    with serving(make=phrase_service) as running:
        yield running


@pytest.fixture(scope="module")
def model(bundle: Path) -> Iterator[TranslationModel]:
    with open_model(bundle) as opened:
        yield opened
