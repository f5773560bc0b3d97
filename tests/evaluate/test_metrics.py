"""Scores and their signatures."""

import pytest

from nmt_cli.errors import InputError
from nmt_cli.evaluate.scores import evaluate

TEXT = ["The cat sat on the mat, didn't it?", "There is a house over there.", ""]


def bleu(hypotheses: list[str], references: list[str]) -> float:
    return evaluate(hypotheses, references)[0].value


def test_identical_texts_score_100_on_every_metric() -> None:
    scores = evaluate(TEXT, TEXT)
    assert [score.name for score in scores] == ["BLEU", "chrF"]
    assert [score.value for score in scores] == pytest.approx([100.0, 100.0])


def test_signatures_describe_the_metric() -> None:
    first, second = evaluate(TEXT, TEXT)
    for part in ("nrefs:1", "case:mixed", "tok:13a", "smooth:exp", "version:"):
        assert part in first.signature
    for part in ("nrefs:1", "nc:6", "nw:0", "version:"):
        assert part in second.signature


def test_bleu_by_hand() -> None:
    # Precisions 5/6, 3/5, 2/4, 1/3, no brevity: (5/6 * 3/5 * 1/2 * 1/3) ** (1/4) = 0.5373.
    hypothesis, reference = ["the cat sat on a mat"], ["the cat sat on the mat"]
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert bleu(hypothesis, reference) == pytest.approx(expected)


def test_scores_depend_on_case_order_and_side() -> None:
    assert bleu(["THE CAT SAT ON THE MAT"], ["the cat sat on the mat"]) < 5
    swapped = evaluate([TEXT[1], TEXT[0], ""], TEXT)
    assert all(score.value < 50 for score in swapped)
    short, long = ["the cat sat on"], ["the cat sat on the mat"]
    assert bleu(short, long) == pytest.approx(100 * 2.718281828 ** (1 - 6 / 4))  # brevity only
    assert bleu(long, short) != pytest.approx(bleu(short, long))


def test_empty_texts_are_refused() -> None:
    with pytest.raises(InputError, match="nothing to evaluate: the files are empty"):
        evaluate([], [])
