"""Models go from Marian to nmt and back with the same translations and scores."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.export.importing.marian import import_marian
from nmt_cli.models import open as open_model
from nmt_cli.search.options import DecodingOptions
from tests.harness import nmt
from tests.marian.conftest import SHAPES, Decoded, decode, score

pytestmark = pytest.mark.slow
LANGUAGES = ("pt", "en")
LINES, LONGEST = 150, 17  # the longest reference has 16 words


@pytest.fixture(scope="module")
def lines(phrases: Path) -> list[str]:
    return (phrases / "test.pt").read_text(encoding="utf-8").splitlines()[:LINES]


def translated(run: Path, lines: list[str], beam: int) -> list[Decoded]:
    """What a run translates lines to, as Marian does it: without the unknown token."""
    options = DecodingOptions(
        beam_size=beam, length_penalty=0.0, no_repeat_ngram=0, unk="avoid", split_sentences=False
    )
    with open_model(run) as model:
        translator = model.translator(options)
        plain = replace(translator, path=replace(translator.path, edits=False))
        return [Decoded(each.text, each.score) for each in plain.translate(lines)]


def assert_same(ours: list[Decoded], theirs: list[Decoded]) -> None:
    """Compare translations, but not those that repeat themselves: Marian cuts them where the
    longest sentence of the batch has its limit."""
    pairs = zip(ours, theirs, strict=True)
    compared = [(one, other) for one, other in pairs if len(one.text.split()) < LONGEST]
    assert [one.text for one, _ in compared] == [other.text for _, other in compared]
    assert len(compared) > 0.95 * len(ours)
    for one, other in compared:
        assert one.score == pytest.approx(other.score, abs=1e-4)


def assert_same_scores(run: Path, folder: Path, phrases: Path, tmp_path: Path) -> None:
    """Compare the log-probabilities of references.

    Marian decodes such models wrongly: it normalizes the keys and values of the decoder's
    self-attention in training, and not in search (LayerAttention in its models/transformer.h).
    """
    sides = []
    for side in LANGUAGES:
        lines = (phrases / f"test.{side}").read_text(encoding="utf-8").splitlines()[:LINES]
        sides.append(tmp_path / side)
        sides[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    texts = [path.read_text(encoding="utf-8").splitlines() for path in sides]
    with open_model(run) as model:
        ours = [each.score for each in model.score(*texts)]
    assert ours == pytest.approx(score(folder, *sides), abs=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_there_and_back(
    name: str, trained: Callable[[str], Path], lines: list[str], phrases: Path, tmp_path: Path
) -> None:
    """The same texts and scores in Marian, in a run made of its model, and in Marian again."""
    folder = trained(name)
    run = import_marian(folder, tmp_path / "run", suppress_unknown=False)
    if name == "pre-norm":
        assert_same_scores(run, folder, phrases, tmp_path)
        done = nmt("export", run, "--marian", "-o", tmp_path / "exported", cwd=tmp_path)
        assert done.code == 1
        assert (
            "Marian cannot represent model.norm = 'pre' with attention in the decoder" in done.err
        )
        return
    for beam in (1, 4):
        assert_same(translated(run, lines, beam), decode(folder, lines, beam))
    # As the command makes it: no probability for the unknown token, so that the rest has more.
    assert nmt("import", folder, "-o", tmp_path / "plain", cwd=tmp_path).code == 0
    plain = translated(tmp_path / "plain", lines, 1)
    assert [each.text for each in plain] == [each.text for each in translated(run, lines, 1)]
    exported = tmp_path / "exported"
    done = nmt("export", tmp_path / "plain", "--marian", "-o", exported, cwd=tmp_path)
    assert done.code == 0, done.err
    for beam in (1, 4):
        assert_same(translated(tmp_path / "plain", lines, beam), decode(exported, lines, beam))
