"""Counts per sentence give sacreBLEU's scores for any set of sentences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from nmt_cli.evaluate import scores as module
from nmt_cli.evaluate.scores import METRICS, count
from tests.evaluate.samples import REFERENCE, SECOND, SYSTEMS

TEXT = st.text("ab c.,'", max_size=20)
TRIPLES = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8)


def score(counts: module.Counts) -> float:
    return counts.score_of()


@settings(max_examples=60)
@given(triples=TRIPLES, data=st.data())
def test_counts_give_the_score_of_any_subset(triples, data) -> None:
    chosen = data.draw(
        st.lists(st.integers(0, len(triples) - 1), min_size=1, max_size=len(triples), unique=True)
    )
    texts = [list(text) for text in zip(*triples, strict=True)]
    some = [[text[row] for row in chosen] for text in texts]
    metrics = (BLEU(), CHRF(word_order=2), TER())
    expected = [each.corpus_score(some[0], some[1:]).score for each in metrics]
    scores = [each.score_of(chosen) for each in count(texts[0], texts[1:])]
    assert scores == pytest.approx(expected, abs=1e-9)


def test_counting_in_chunks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = count(SYSTEMS["bad"], [REFERENCE, SECOND])
    monkeypatch.setattr(module, "_CHUNK", 7)
    for one, other in zip(at_once, count(SYSTEMS["bad"], [REFERENCE, SECOND]), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        assert str(one.metric.get_signature()) == str(other.metric.get_signature())


def test_names_and_signatures() -> None:
    counted = count(["a b"], [["a b"], ["b a"]])
    assert tuple(counts.name for counts in counted) == METRICS
    bleu, chrf, ter = (str(counts.metric.get_signature()) for counts in counted)
    assert bleu.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert chrf.startswith("nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")
    assert ter.startswith("nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")


def test_by_hand() -> None:
    # BLEU: 5/6, 3/5, 2/4, 1/3, no brevity. TER: one word of six is replaced.
    bleu, _, ter = count(["the cat sat on a mat"], [["the cat sat on the mat"]])
    assert score(bleu) == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert score(ter) == pytest.approx(100 / 6)
    # A phrase that moved is one edit: 1 of 4 words.
    assert score(count(["c d a b"], [["a b c d"]])[2]) == pytest.approx(25)
    # chrF++ of "ab" for "a": precision and recall of character 1-grams are 1/2 and 1 (the
    # reference has no longer ones), of words 0 and 0; the means are 1/4 and 1/2, and F2 is 5/12.
    assert score(count(["ab"], [["a"]])[1]) == pytest.approx(500 / 12)


def test_several_references() -> None:
    # TER: the edits to the closer reference, divided by the mean length of both.
    assert score(count(["a b c"], [["x y z w w"], ["a b c"]])[2]) == 0
    assert score(count(["a b x"], [["x y z w w"], ["a b c"]])[2]) == pytest.approx(100 / 4)
    assert score(count(["a b c d"], [["z"], ["a b c d"]])[0]) == pytest.approx(100)


def test_blank_lines_add_nothing() -> None:
    filled = [score(counts) for counts in count(["a b c d", ""], [["a b c e", ""]])]
    assert filled == [score(counts) for counts in count(["a b c d"], [["a b c e"]])]
