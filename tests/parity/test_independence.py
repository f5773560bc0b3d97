"""A sentence's translation and exact score depend only on the sentence.

Random weights are a strict test: the best candidates are always near-ties.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.runtime.load import Threads
from tests.conftest import Once
from tests.systems import export_bundle, untrained_run
from tests.translators import real_sentences, translate

SENTENCES = 500
# A size as in real models, and one that is not a multiple of a processor's vector width.
MODELS = {
    "d 64, SSRU": {"d_model": 64, "feed_forward": 128, "heads": 4, "decoder": "ssru"},
    "d 36": {"d_model": 36, "feed_forward": 52, "heads": 3, "norm": "post"},
}


@pytest.fixture(scope="module")
def folder_of(once: Once) -> Callable[[str], Path]:
    """A function that returns the folder of a model's bundles."""

    def made(name: str) -> Path:
        def fill(folder: Path) -> None:
            decoding = {"max_length": 20, "length_ratio": 1.0, "length_extra": 1}
            run = untrained_run(folder, model=MODELS[name], decoding=decoding)
            for precision in ("float32", "int8"):
                export_bundle(run, folder / precision, precision)

        return once(f"independence-{name}", fill)

    return made


@pytest.mark.parametrize("beams", [4, 1])
@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("d 36", 40),
        *(pytest.param(model_name, SENTENCES, marks=pytest.mark.slow) for model_name in MODELS),
    ],
)
def test_batches_order_and_threads_change_nothing(
    folder_of: Callable[[str], Path], name: str, precision: str, beams: int, count: int
) -> None:
    bundle, lines = folder_of(name) / precision, real_sentences(count)
    expected = translate(bundle, lines, beams, Threads(2, 1), 4096)
    assert translate(bundle, lines, beams, Threads(1, 1), 512) == expected
    assert translate(bundle, lines, beams, Threads(2, 1), 1) == expected  # one by one
    backwards = translate(bundle, lines[::-1], beams, Threads(1, 2), 2048)
    assert backwards[::-1] == expected
