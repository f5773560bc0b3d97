"""The client that docs/reference/bundle-format.md names finds what `nmt translate` finds."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.runtime.check import HARD_LINES
from nmt_cli.search.options import DecodingOptions
from tests.harness import nmt
from tests.test_docs import ROOT
from tests.translators import load_bundle

CLIENT = ROOT / "docs" / "clients" / "python.py"
SENTENCE = "Um gato, dois pães e o café."
# Sentences that the client and nmt read alike, and their places in a text.
LINES = [line for line in HARD_LINES if len(line) < 100]
LINES += [SENTENCE, "\u200b", "água", f"{SENTENCE} {SENTENCE}"]


def assert_same_client(folder: Path, beam_size: int) -> None:
    """Compare the client, a process of its own, with nmt without further steps of the text path."""
    translator = load_bundle(folder, DecodingOptions(beam_size=beam_size, no_repeat_ngram=0))
    path = replace(translator.path, edits=False)
    texts = [re.split(r"(?<=\.) (?=U)", line) for line in LINES]
    lengths = [max(map(len, path.tokenizers.source.encode(parts))) for parts in texts]
    texts = [x for x, size in zip(texts, lengths, strict=True) if size <= path.max_source]
    assert len(texts) > 8
    expected = [
        " ".join(part.text for part in replace(translator, path=path).translate(parts))
        for parts in texts
    ]
    given = "".join(f"{' '.join(parts)}\n" for parts in texts).encode()
    command = [sys.executable, str(CLIENT), str(folder), "--beam-size", str(beam_size)]
    client = subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=300)
    assert (client.returncode, client.stderr) == (0, b"")  # ONNX Runtime has no warnings
    assert client.stdout.decode().split("\n")[:-1] == expected


def slow(*values: object) -> object:
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("precision", "beam_size"),
    [
        ("float32", 1),
        pytest.param("int8", 4, marks=pytest.mark.train),  # the test exports the bundle
        *(slow(*case) for case in [("float32", 4), ("int8", 1), ("float16", 4)]),
    ],
)
def test_the_client_translates_like_nmt(
    tiny_bundle: Callable[[str], Path], precision: str, beam_size: int
) -> None:
    assert_same_client(tiny_bundle(precision), beam_size)


def test_the_client_splits_and_folds_text_like_nmt() -> None:
    folder = ROOT / "exports" / "pt-en"
    lines = ["ABRA A PORTA, POR FAVOR!", "A casa é azul. O gato dorme!", "\u2060"]
    given = "".join(f"{line}\n" for line in lines).encode()
    command = [sys.executable, str(CLIENT), str(folder), "--beam-size", "4"]
    client = subprocess.run(command, input=given, capture_output=True, timeout=300)
    words = ["translate", "-m", folder, "--beam-size", 4]
    assert client.stdout.decode() == nmt(*words, cwd=ROOT, stdin=given).out.decode()


def test_the_client_translates_with_an_older_recurrent_bundle(older_bundles: Path) -> None:
    assert_same_client(older_bundles / "rnn", 4)


def test_the_client_needs_three_packages() -> None:
    imported = set()
    for node in ast.walk(ast.parse(CLIENT.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or alias.name for alias in node.names]
            imported |= {name.partition(".")[0] for name in names}
    assert imported - sys.stdlib_module_names == {"numpy", "onnxruntime", "sentencepiece"}


def test_the_client_refuses_a_damaged_bundle(bundle: Path) -> None:
    (bundle / "MODEL_CARD.md").write_text("edited")
    done = subprocess.run([sys.executable, str(CLIENT), str(bundle)], capture_output=True)
    message = f"{bundle / 'MODEL_CARD.md'}: is not the file that was exported\n"
    assert (done.returncode, done.stderr.decode()) == (1, message)
