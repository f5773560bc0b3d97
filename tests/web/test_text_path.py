"""The text path in JavaScript and in docs/clients/, by the examples of Python's tests."""

import hashlib
import json
import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor

from nmt_cli.export import web
from nmt_cli.recipe.model import DecodingConfig
from tests.npm import needs_node
from tests.test_docs import ROOT
from tests.vectors import TOKENIZER, VECTORS, translate
from tests.web.test_page import HERE, HOSTILE, PAGE, node

EXAMPLES = VECTORS["examples"]
CLIENT = [example for example in EXAMPLES if example["client"]]


def of_page(cases: list[tuple[Any, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return json.loads(node(HERE / "text_path.js", PAGE, TOKENIZER, given=json.dumps(cases)))


def settings_of(settings: dict[str, Any], languages: tuple[str, str]) -> Any:
    return web.text_settings(DecodingConfig(**settings), languages)


@needs_node
def test_the_page() -> None:
    cases = [
        (settings_of(x["settings"], tuple(x["languages"])), x["line"], x["model"]) for x in EXAMPLES
    ]
    for example, result in zip(EXAMPLES, of_page(cases), strict=True):
        assert result == {"reads": example["reads"], "final": example["final"]}, example["about"]


def hostile(text: str) -> tuple[str, float]:
    """Drop, repeat and misspell words and digits of a text, always in the same way."""
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    words = list[str]()
    for word in text.split(" "):
        kind = rng.random()
        if kind < 0.1:
            continue
        letters = [letter for letter in word if kind > 0.3 or rng.random() > 0.2]
        words += ["".join(letters)] * (2 if kind > 0.97 else 1)
    return " ".join(words) if rng.random() > 0.1 else "...", -rng.random() / 2


@needs_node
@pytest.mark.parametrize("languages", [("pt", "en"), ("en", "pt"), ("en", "ru"), ("xx", "")])
def test_the_page_does_what_nmt_does_with_a_hostile_model(languages: tuple[str, str]) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    lines = [*random.Random(languages[0]).sample(lines, 300), *HOSTILE]
    lines += [example["line"] for example in EXAMPLES]
    settings = {"fold_capitals": True, "repair_code": True, "set_off_signs": True, "max_source": 40}
    expected, cases = [], []
    for line in lines:
        final, reads = translate(line, settings, languages, hostile)
        model = {text: hostile(text) for text, _ in reads}
        expected.append({"reads": dict(reads), "final": final})
        cases.append((settings_of(settings, languages), line, model | {"": hostile("")}))
    results = of_page(cases)
    assert [
        (line, result, right)
        for line, result, right in zip(lines, results, expected, strict=True)
        if result != right
    ] == []


def test_the_python_client() -> None:
    path: Path = ROOT / "docs" / "clients" / "python.py"
    spec = spec_from_file_location("client", path)
    assert spec is not None
    assert spec.loader is not None
    client = module_from_spec(spec)
    spec.loader.exec_module(client)
    tokenizer = SentencePieceProcessor(model_file=str(TOKENIZER))
    for example in CLIENT:
        settings = {"max_source": 128, "fold_capitals": False, **example["settings"]}
        text_path = client.TextPath(settings, tokenizer)
        written = {tuple(ids): example["model"][text][0] for text, ids in example["reads"].items()}
        final = text_path.translate(
            example["line"], lambda ids, written=written: written[tuple(ids)]
        )
        assert final == example["final"], example["about"]
