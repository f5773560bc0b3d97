"""The tests of DeepL's own client (github.com/DeepLcom/deepl-python), if they are here.

DEEPL_PYTHON_FOLDER names a checkout, and DEEPL_PYTHON_BIN a Python with requests, pytest, click and
pydantic below 2, which its tests need.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.serve.phrasebook import KEY

CHECKOUT = os.environ.get("DEEPL_PYTHON_FOLDER")
PYTHON = os.environ.get("DEEPL_PYTHON_BIN", sys.executable)
# Formality, rephrasing, style rules and instructions need models that can be told what to do.
FAILING = {
    "test_cli.py::test_text",  # with --formality more
    "test_general.py::test_language",  # expects German to have degrees of formality
    "test_rephrase_text.py::test_business_style",
    "test_rephrase_text.py::test_single_text",
    "test_style_rules.py::test_style_rule_accepts_style_rule_info",
    "test_style_rules.py::test_style_rule_crud",
    "test_translate_document.py::test_translate_document_formality",
    "test_translate_text.py::test_custom_instructions",
    "test_translate_text.py::test_formality",
}


@pytest.mark.slow
@pytest.mark.skipif(not CHECKOUT, reason="DEEPL_PYTHON_FOLDER names no checkout of deepl-python")
def test_the_tests_of_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "tests.serve.phrasebook", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[2])
    try:
        for _ in range(300):
            with suppress(OSError):
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            time.sleep(0.1)
        result = subprocess.run(
            [PYTHON, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "tests"],
            cwd=CHECKOUT,
            env={**os.environ, "DEEPL_SERVER_URL": url, "DEEPL_AUTH_KEY": KEY},
            capture_output=True,
            text=True,
            timeout=600,
        )
    finally:
        server.terminate()
        server.wait(30)
    assert set(re.findall(r"^FAILED tests/([\w.:]+)", result.stdout, re.MULTILINE)) == FAILING
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed
    assert int(passed[1]) >= 136
