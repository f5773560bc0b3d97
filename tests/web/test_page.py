"""The page of nmt export --web, in Node and in a browser."""

import http.server
import json
import random
import shutil
import subprocess
import threading
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from nmt_cli.data.corpus import sentence_pairs
from nmt_cli.errors import NmtError, OptionError
from nmt_cli.export import web
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.onnx import single_file
from nmt_cli.files import write_json
from nmt_cli.runtime.check import HARD_LINES
from nmt_cli.search.translator import translator_for
from nmt_cli.training.run import Run
from tests.cli.test_plot import CHROMIUM
from tests.npm import needs_node, needs_npm, npm_packages
from tests.systems import untrained_run
from tests.test_docs import ROOT

HERE = Path(__file__).parent
PAGE = Path(str(files("nmt_cli"))) / "web" / "export"


@pytest.fixture(scope="session")
def node_modules() -> Path:
    return npm_packages(HERE)


def node(script: Path, *words: object, given: str) -> str:
    command = ["node", str(script), *map(str, words)]
    done = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_npm_package_is_missing(
    tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = (
        "^no npm package onnxruntime-web in .* or a folder above; npm install onnxruntime-web$"
    )
    with pytest.raises(NmtError, match=message):
        EXPORTERS["web"].export(tiny_run, ExportOptions())
    with pytest.raises(OptionError, match="^`quantize=float16` needs `onnx` or `single_file` or"):
        EXPORTERS["web"].check(ExportOptions(precision="float16"))


def test_the_service_worker_has_its_placeholders() -> None:
    script = (PAGE / "service-worker.js").read_text(encoding="utf-8")
    assert (script.count("{version}"), script.count("{files}")) == (1, 1)


HOSTILE = [
    *HARD_LINES,
    "▁▁ a ▁",
    "<s> </s> <unk> <0x41> ▁<BT> um <BT>",
    "\u200bze\u200bro \ufeff\ufffd\U0010ffff a\0b\x01\x7f",
    "ﬁ ﷺ ①½㎏ Ａ～Ｂ İıß a\u0301\u0302 한\u1161\u11ab  \u3000\u00a0x\u2028",
]


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("kind", ["unigram", "bpe", "tag", "characters", "raw"])
def test_tokenizing_as_sentencepiece(kind: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "unigram": {"byte_fallback": True},
        "bpe": {"byte_fallback": True, "model_type": "bpe"},
        "tag": {"model_type": "bpe", "user_defined_symbols": ["▁<BT>"]},
        "characters": {
            "model_type": "char",
            "byte_fallback": True,
            "user_defined_symbols": ["▁<BT>"],
        },
        "raw": {
            "user_defined_symbols": ["▁<BT>", "as"],
            "remove_extra_whitespaces": False,
            "add_dummy_prefix": False,
            "normalization_rule_name": "identity",
        },
    }[kind]
    text = [side for pair in sentence_pairs("test") for side in pair.values()]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_prefix=str(tmp_path / "text"),
        vocab_size=700,
        minloglevel=2,
        **settings,
    )
    expected = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "text.model"))
    rng, lines = random.Random(1), [*HOSTILE, *text]
    points = [*range(0xD800), *range(0xE000, 0x20000)]
    lines += ["".join(chr(rng.choice(points)) for _ in range(20)) for _ in range(300)]
    sequences = [
        [rng.randrange(expected.get_piece_size()) for _ in range(rng.randrange(9))]
        for _ in range(500)
    ]
    given = json.dumps([lines, sequences])
    script = PAGE / "sentencepiece.js"
    results = json.loads(node(HERE / "tokenize.js", script, tmp_path / "text.model", given=given))
    assert results == [expected.encode(lines), expected.decode(sequences)]


CAPITALS = [
    "UM GATO, SOL!",
    "ÁGUA É SOL",
    "GATO",
    "UM {GATO} SOL",
    "SEE Á.Ç NOW",
    "UM gATO",
    "ÇÇÇÇÇ",
]
LINES = [*HARD_LINES, "um gato. " * 60, "dois três " * 90, "sol\u2028água", "", "café"]


@pytest.mark.slow
@needs_npm
def test_node_and_a_browser_translate_alike(
    tiny_run: Run, tmp_path: Path, node_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node_modules").symlink_to(node_modules)
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "page"
    options = ExportOptions(output=target, checkpoint=tiny_run.last)
    EXPORTERS["web"].export(tiny_run, options)
    card = (target / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "xx to yy, as a web page\n" in card
    assert "python -m http.server -d THIS_FOLDER\n" in card

    tokenizers = tiny_run.tokenizers()
    search = single_file.FileSearch(single_file.load_file(target), tokenizers)
    translator = translator_for(search, tokenizers, tiny_run.recipe.decoding)
    expected = [translation.text for translation in translator.translate(LINES)]
    once = replace(translator, options=replace(translator.options, no_repeat_ngram=0))
    assert expected != [translation.text for translation in once.translate(LINES)]
    for name in ("package.json", "translate.js"):
        shutil.copy(ROOT / "docs" / "clients" / "node" / name, tmp_path)
    given = "".join(f"{line}\n" for line in LINES)
    assert node(tmp_path / "translate.js", target, given=given).split("\n")[:-1] == expected

    settings = json.loads((target / web.SETTINGS).read_text(encoding="utf-8"))
    settings["text"]["fold_capitals"] = True
    (tmp_path / "folding").mkdir()
    for path in target.iterdir():
        (tmp_path / "folding" / path.name).symlink_to(path)
    (tmp_path / "folding" / web.SETTINGS).unlink()
    write_json(tmp_path / "folding" / web.SETTINGS, settings)
    decoding = replace(tiny_run.recipe.decoding, fold_capitals=True)
    folding = translator_for(search, tokenizers, decoding)
    capitals = [translation.text for translation in folding.translate(CAPITALS)]
    given = "".join(f"{line}\n" for line in CAPITALS)
    assert node(tmp_path / "translate.js", tmp_path / "folding", given=given) == "".join(
        f"{line}\n" for line in capitals
    )

    if not CHROMIUM:
        pytest.skip("needs chromium; Node's translations were the same")
    result = browse(target, "\n".join(LINES))
    assert result.pop("shown").split("\n") == expected
    assert result.pop("offline").split("\n") == expected
    assert result == {"title": "Translate xx to yy", "foreign": [], "problems": []}


def browse(folder: Path, text: str) -> dict[str, Any]:
    """What a browser shows of a page; see browse.js."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=folder)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            return json.loads(node(HERE / "browse.js", CHROMIUM, url, given=text))
        finally:
            server.shutdown()


@pytest.mark.slow
def test_only_sentencepiece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.export.exporter.node_package", lambda name: tmp_path)
    run = untrained_run(tmp_path, tokenizer={"kind": "wordpiece", "vocab_size": 200})
    options = ExportOptions(output=tmp_path / "out", checkpoint=run.last)
    message = (
        "^`web`: .* has a wordpiece tokenizer, and the page only reads SentencePiece's subwords"
    )
    with pytest.raises(NmtError, match=message):
        EXPORTERS["web"].export(run, options)
