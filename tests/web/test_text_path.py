"""The text path in JavaScript and in docs/clients/, by the examples of Python's tests."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from nmt_cli.export import web
from nmt_cli.recipe.model import DecodingConfig
from tests.test_docs import ROOT
from tests.web.test_page import HERE, PAGE, needs_node, node

VECTORS = json.loads((ROOT / "tests/vectors/text_path.json").read_text(encoding="utf-8"))
EXAMPLES, TOKENIZER = VECTORS["examples"], ROOT / VECTORS["tokenizer"]
EXPECTED = [{"ids": example["ids"], "final": example["final"]} for example in EXAMPLES]


@needs_node
def test_the_page() -> None:
    given = json.dumps([web.text_settings(DecodingConfig()), EXAMPLES])
    assert json.loads(node(HERE / "text_path.js", PAGE, TOKENIZER, given=given)) == EXPECTED


def test_the_python_client() -> None:
    path: Path = ROOT / "docs" / "clients" / "python.py"
    spec = spec_from_file_location("client", path)
    assert spec is not None
    assert spec.loader is not None
    client = module_from_spec(spec)
    spec.loader.exec_module(client)
    tokenizer = SentencePieceProcessor(model_file=str(TOKENIZER))
    results = []
    for example in EXAMPLES:
        ids, write = client.TextPath(example["settings"], tokenizer).read(example["line"])
        results.append({"ids": ids, "final": write(example["model_writes"])})
    assert results == EXPECTED
