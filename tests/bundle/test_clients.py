"""The client that docs/reference/bundle-format.md names finds what `nmt translate` finds."""

import ast
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_cli.runtime.check import HARD_LINES
from tests.harness import nmt
from tests.test_docs import ROOT

CLIENT = ROOT / "docs" / "clients" / "python.py"
SENTENCE = "um gato, dois pães e o café."
LINES = [*HARD_LINES, SENTENCE, "\u200b", " ".join([SENTENCE] * 12), "sol" * 150, "água"]


def assert_same_client(folder: Path, beam_size: int, lines: Sequence[str] = LINES) -> None:
    """Compare the client, a process of its own, with nmt."""
    given = "".join(f"{line}\n" for line in lines).encode()
    options = ["--beam-size", str(beam_size)]
    command = [sys.executable, str(CLIENT), str(folder), *options]
    client = subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=300)
    assert (client.returncode, client.stderr) == (0, b"")  # ONNX Runtime has no warnings
    words = ["translate", "-m", folder, *options, "--no-repeat-ngram", 0]
    assert client.stdout.decode() == nmt(*words, cwd=folder, stdin=given).out.decode()


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


def test_the_client_edits_text_like_nmt() -> None:
    lines = ["ABRA A PORTA, POR FAVOR!", "Chame item_count() com $HOME agora.", "▁", "\u2060"]
    assert_same_client(ROOT / "exports" / "pt-en", 4, lines)


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
