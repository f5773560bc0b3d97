"""LibreTranslate's own tests of its API, against this server.

Set LIBRETRANSLATE_TESTS to their folder, libretranslate/tests/test_api of LibreTranslate's
repository. They use the test client of Flask; a fixture of the same name sends their requests over
HTTP. All pass.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.conftest import renamed, serving

FOLDER = os.environ.get("LIBRETRANSLATE_TESTS", "")
CLIENT = """
import pytest
import requests


class Response:
    def __init__(self, response):
        self.data, self.status_code, self.json = response.content, response.status_code, None
        if response.headers["content-type"] == "application/json":
            self.json = response.json()


class Client:
    def get(self, path):
        return Response(requests.get(URL + path))

    def post(self, path, **body):
        return Response(requests.post(URL + path, **body))


@pytest.fixture
def client():
    return Client()
"""


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="needs LIBRETRANSLATE_TESTS, the folder of its tests")
def test_its_own_tests(bundle: Path, tmp_path: Path) -> None:
    modules = sorted(Path(FOLDER).glob("test_*.py"))
    assert modules
    for module in modules:
        (tmp_path / module.name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
    pairs = [("en", "es"), ("es", "en")]
    bundles = [renamed(bundle, tmp_path / "-".join(pair), *pair) for pair in pairs]
    with serving(*bundles) as server:
        (tmp_path / "conftest.py").write_text(f"URL = {server.url!r}\n{CLIENT}", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout
