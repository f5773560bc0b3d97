"""Bundles with vocabulary shortlists."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.bundle.manifest import require_passed
from nmt_cli.errors import NmtError
from nmt_cli.runtime.check import check_bundle
from nmt_cli.runtime.load import Bundle, Threads
from nmt_cli.runtime.step_model import Shortlists
from nmt_cli.search.options import DecodingOptions
from nmt_cli.text.tokenizer import END_ID, PAD_ID
from tests.bundle import harm
from tests.translators import load_bundle, real_sentences, translate


@pytest.fixture(scope="session")
def folder(tiny_bundle: Callable[[str], Path]) -> Path:
    """A bundle with shortlists, made before any test, since some Pythons cannot export."""
    return tiny_bundle("shortlist")


def test_a_shortlist_has_what_is_frequent_then_translations_then_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nmt_cli.runtime.step_model.ALWAYS", 2)
    table = np.array([[0, 0], [1, 1], [2, 2], [3, 9], [8, 3], [8, 7]], np.int32)
    lists = Shortlists(np.array([3, 1, 4, 5, 6], np.int32), table, vocab_size=10)
    source = np.array([[4, 5, PAD_ID], [4, 4, 3], [3, PAD_ID, PAD_ID]], np.int32)
    # The best translation of each token comes before the second ones; none counts twice.
    assert lists.of(source).tolist() == [[1, 3, 4, 7, 8], [1, 3, 4, 8, 9], [1, 3, 4, 5, 9]]


@pytest.mark.parametrize("beams", [4, 1])
def test_batches_order_and_threads_change_nothing(folder: Path, beams: int) -> None:
    lines = real_sentences(24)
    expected = translate(folder, lines, beams, Threads(2, 1), 4096)
    assert translate(folder, lines, beams, Threads(2, 1), 1) == expected  # one by one
    backwards = translate(folder, lines[::-1], beams, Threads(1, 2), 2048)
    assert backwards[::-1] == expected
    bundle = Bundle(folder)
    lists = Shortlists.read(folder, bundle.manifest)
    # A second search, of translations that repeat themselves, uses the whole vocabulary.
    once = load_bundle(folder, DecodingOptions(beam_size=beams, no_repeat_ngram=0))
    for line, translation in zip(lines, once.translate(lines), strict=True):
        framed = bundle.tokenizers.source.with_special_tokens(
            bundle.tokenizers.source.encode([line])[0]
        )
        assert {*translation.ids} <= {*lists.of(np.array([framed], np.int32))[0].tolist()}


def test_the_step_ranks_as_the_whole_vocabulary_does(folder: Path) -> None:
    checks = check_bundle(Bundle(folder))
    require_passed(checks, "bundle", "")
    (check,) = (candidate for candidate in checks if "shortlists" in candidate.name)
    assert check.value < 1e-5
    assert " in float32 with vocabulary shortlists of 40 tokens, " in (
        folder / "MODEL_CARD.md"
    ).read_text(encoding="utf-8")


def test_phrases_that_no_shortlist_has_are_still_possible(
    folder: Path, tiny_bundle: Callable[[str], Path]
) -> None:
    model = load_bundle(folder, DecodingOptions(beam_size=2))
    plain = load_bundle(tiny_bundle("float32"), DecodingOptions(beam_size=2))
    for translator in (model, plain):
        state = translator.model.encode(np.array([[5, 6, END_ID]], np.int32))
        tokens, ancestry = np.array([[2, 2]], np.int32), np.eye(2, dtype=bool)[None]
        log_probs, state = translator.model.log_probs(state, tokens, ancestry)
        if translator is model:
            expected = log_probs
            translator.model.step(state, tokens, np.tile(ancestry, 2))  # they may alternate
    assert log_probs.tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [0xFF, 5])
def test_ids_that_are_no_tokens(folder: Path, tmp_path: Path, value: int) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "bundle"))
    path = folder / "shortlist.bin"
    path.write_bytes(bytes([value]) * path.stat().st_size)
    harm.hide(folder)
    with pytest.raises(NmtError, match=r"shortlist.bin: not a list of tokens; export the bundle"):
        Bundle(folder).model.encode(np.array([[END_ID]], np.int32))
