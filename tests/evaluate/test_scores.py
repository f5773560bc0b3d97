"""Confidence intervals and significance: equal to sacreBLEU's, and reproducible."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from nmt_cli.evaluate import scores as module
from nmt_cli.evaluate.scores import DRAWS, METRICS, Result, System, compare, count
from tests.evaluate.samples import REFERENCE, SECOND, SYSTEMS


def compared(texts: dict[str, list[str]], *references: list[str]) -> dict[str, list[Result]]:
    """Compare systems; return the results by metric."""
    results = compare([System(name, text, count(text, references)) for name, text in texts.items()])
    assert [result.metric for result in results] == [name for name in METRICS for _ in texts]
    return {name: [result for result in results if result.metric == name] for name in METRICS}


@pytest.mark.parametrize("references", [[REFERENCE], [REFERENCE, SECOND]], ids=["one", "two"])
def test_results_match_sacrebleu(references: list[list[str]]) -> None:
    metrics = {"BLEU": BLEU(), "chrF2++": CHRF(word_order=2), "TER": TER()}
    signatures, expected = PairedTest(list(SYSTEMS.items()), metrics, references, "bs", DRAWS)()
    results = compared(SYSTEMS, *references)
    for name, key in zip(METRICS, metrics, strict=True):
        assert [ours.system for ours in results[name]] == list(SYSTEMS)
        for found_result, result in zip(results[name], expected[key], strict=True):
            assert found_result.score == pytest.approx(result.score)
            # sacreBLEU sums in float32.
            assert (found_result.high - found_result.low) / 2 == pytest.approx(result.ci, abs=1e-4)
            assert found_result.p == (
                result.p_value and pytest.approx(result.p_value, abs=1.5 / DRAWS)
            )
            assert found_result.signature == str(signatures[key])


def test_results_are_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    results = compared(SYSTEMS, REFERENCE)
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    np.random.seed(7)
    assert compared(SYSTEMS, REFERENCE) == results


def test_a_systems_scores_do_not_depend_on_other_systems() -> None:
    single = compared({"bad": SYSTEMS["bad"]}, REFERENCE)
    for name, results in compared(SYSTEMS, REFERENCE).items():
        of_all = next(result for result in results if result.system == "bad")
        (of_one,) = single[name]
        assert (of_one.score, of_one.low, of_one.high) == (of_all.score, of_all.low, of_all.high)
        assert of_one.p is None


def test_p_values_separate_chance_from_real_differences() -> None:
    texts = {**SYSTEMS, "same": SYSTEMS["good"]}
    for results in compared(texts, REFERENCE).values():
        good, similar, bad, same = results
        assert good.p is None
        assert similar.p is not None
        assert similar.p > 0.05
        assert bad.p == pytest.approx(1 / (DRAWS + 1))
        assert same.p == 1  # sacreBLEU itself reports 0.001
        assert (same.low, same.high) == (good.low, good.high)


def test_a_score_lies_in_its_interval() -> None:
    for results in compared(SYSTEMS, REFERENCE).values():
        assert all(result.low < result.score < result.high for result in results)


def test_an_interval_is_the_central_95_percent() -> None:
    scores = np.random.default_rng(0).permutation(np.arange(1000.0))
    assert module._interval(scores) == (25, 974)


def test_p_by_hand() -> None:
    # Differences of 0, 1, 2, 5, with mean 2: one exceeds it by 3 or more, two by 0 or more.
    scores, baseline = np.array([1.0, 2, 5, 1]), np.array([1.0, 1, 3, 6])
    assert module.p_value(scores, baseline, 3) == (1 + 1) / 5
    assert module.p_value(scores, baseline, 3.1) == 1 / 5
    assert module.p_value(scores, baseline, 0) == (2 + 1) / 5
