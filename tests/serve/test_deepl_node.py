"""DeepL's client for Node (deepl-node on npm)."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.npm import needs_npm, npm_packages
from tests.serve.conftest import Server
from tests.serve.phrasebook import KEY

HERE = Path(__file__).parent / "node"


@pytest.mark.slow
@needs_npm
def test_deepl_node(phrasebook: Server, tmp_path: Path) -> None:
    npm_packages(HERE)
    command = ["node", "client.mjs", phrasebook.url, KEY, str(tmp_path)]
    done = subprocess.run(
        command, cwd=HERE, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "text": {
            "text": "Protonenstrahl",
            "detectedSourceLang": "en",
            "billedCharacters": 11,
        },
        "list": [["faisceau de protons", "en", 11], ["faisceau de protons", "pt", 16]],
        "markup": ["<p>Meine erste Überschrift</p>", "latency_optimized"],
        "usage": True,
        "sources": ["ar", "bg", "cs"],
        "formality": False,
        "pairs": True,
        "glossary": ["node", 1, "en", "de"],
        "entries": {"proton": "Proton"},
        "listed": ["node"],
        "terms": "Proton",
        "deleted": "GlossaryNotFoundError: Glossary not found, message: Glossary not found",
        "both": ["beam", "proton"],
        "left": ["renamed", [["en", 1]]],
        "document": ["done", "Protonenstrahl\n"],
        "wrong": "DeepLError: Bad request, message: Value for 'target_lang' not supported.",
    }
