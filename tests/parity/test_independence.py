"""A sentence's translation and exact score depend only on the sentence.

Random weights are a strict test: the best candidates are always near-ties.
"""

import ast
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.runtime.device import Threads
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translation
from tests.conftest import Once
from tests.systems import export_bundle, untrained_run
from tests.translators import load_bundle

SENTENCES = 500
# A size as in real models, and one that is not a multiple of a processor's vector width.
MODELS = {
    "d 64, SSRU": {"d_model": 64, "feed_forward": 128, "heads": 4, "decoder": "ssru"},
    "d 36": {"d_model": 36, "feed_forward": 52, "heads": 3, "norm": "post"},
}


PARAMS = [pytest.param(each, marks=[] if each == "d 36" else [pytest.mark.slow]) for each in MODELS]


def real_sentences(count: int) -> list[str]:
    """Return first lines of the standard library's docstrings: real text on any machine."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = (ast.get_docstring(node) or "").split("\n")[0]
                if 8 < len(first) < 80:
                    found[first] = None
        if len(found) >= count:
            break
    assert len(found) >= count
    return list(found)[:count]


@pytest.fixture(scope="module", params=PARAMS)
def folder(request: pytest.FixtureRequest, once: Once) -> Path:
    def fill(folder: Path) -> None:
        decoding = {"max_length": 20, "length_ratio": 1.0, "length_extra": 1}
        run = untrained_run(folder, model=MODELS[request.param], decoding=decoding)
        for precision in ("float32", "int8"):
            export_bundle(run, folder / precision, precision)

    return once(f"independence-{request.param}", fill)


def translate(
    bundle: Path, lines: list[str], beams: int, threads: Threads, tokens: int
) -> list[Translation]:
    translator = load_bundle(
        bundle, DecodingOptions(beam_size=beams), threads.workers * threads.each, threads.workers
    )
    return list(replace(translator, batch_tokens=tokens).translate(lines))


@pytest.mark.parametrize("beams", [4, 1])
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize(
    "count", [40, pytest.param(SENTENCES, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_batches_order_and_threads_change_nothing(
    folder: Path, precision: str, beams: int, count: int
) -> None:
    bundle, lines = folder / precision, real_sentences(count)
    expected = translate(bundle, lines, beams, Threads(2, 1), 4096)
    assert translate(bundle, lines, beams, Threads(1, 1), 512) == expected
    assert translate(bundle, lines, beams, Threads(2, 1), 1) == expected  # one by one
    backwards = translate(bundle, lines[::-1], beams, Threads(1, 2), 2048)
    assert backwards[::-1] == expected
