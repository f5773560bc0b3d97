"""Quality gates of quantized exports, checked on constructed translations."""

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.verification import Gates, compare_quality

GATES = Gates(bleu=0.2, chrf=80)
REFERENCES = [
    " ".join(np.random.default_rng(number).choice(["gato", "casa", "sol", "pão", "água"], 12))
    for number in range(1000)
]


def with_errors(every: int, first: int = 0) -> list[str]:
    """Return the references with the last three words of every n-th line replaced."""
    return [
        " ".join([*line.split()[:-3], "x", "y", "z"]) if number % every == first else line
        for number, line in enumerate(REFERENCES)
    ]


def measure(original: list[str], quantized: list[str], lines: int = 1000) -> dict[str, float]:
    checks = compare_quality(original[:lines], quantized[:lines], REFERENCES[:lines], GATES, "int8")
    assert all(check.passed for check in checks)
    return {check.name.split(" (p =")[0]: check.value for check in checks}


def test_a_significant_loss_above_the_limit_is_refused() -> None:
    with pytest.raises(NmtError, match=r"^int8 verification failed: BLEU falls by \d") as caught:
        measure(REFERENCES, with_errors(20))
    assert "on 1,000 lines, from 100.00 to " in caught.value.message
    assert "at most 0.2 allowed" in caught.value.message


def test_an_insignificant_loss_above_the_limit_passes() -> None:
    # The errors are in different lines and nearly cancel out, except for three more bad lines.
    original, quantized = with_errors(10), with_errors(10, first=5)
    quantized[1] = quantized[2] = quantized[3] = "x y z"
    losses = measure(original, quantized)
    assert losses["BLEU lost on 1,000 lines"] > 0.2
    assert losses["BLEU lost beyond chance (p < 0.05)"] == 0


def test_a_significant_loss_below_the_limit_passes() -> None:
    quantized = list(REFERENCES)
    for number in range(8):
        quantized[number] = quantized[number].rpartition(" ")[0] + " x"
    losses = measure(REFERENCES, quantized)
    assert 0 < losses["BLEU lost beyond chance (p < 0.05)"] < 0.2


def test_a_gain_passes() -> None:
    losses = measure(with_errors(10), REFERENCES)
    assert losses["BLEU lost on 1,000 lines"] < 0
    assert losses["BLEU lost beyond chance (p < 0.05)"] < 0


def test_few_lines_are_gated_on_chrf() -> None:
    losses = measure(REFERENCES, with_errors(4), lines=199)
    assert losses["BLEU lost on 199 lines"] > 0.2
    assert "BLEU lost beyond chance (p < 0.05)" not in losses
    with pytest.raises(NmtError) as caught:
        measure(REFERENCES, ["x y z"] * 1000, lines=58)
    assert caught.value.message.startswith(
        "int8 verification failed: translations differ too much from the trained model's (chrF "
    )
    assert caught.value.message.endswith(" on 58 lines; at least 80 required)")


def test_without_references_only_the_translations_are_compared() -> None:
    checks = compare_quality(["a b c"] * 3, ["a b c"] * 3, [], GATES, "int8")
    assert [check.value for check in checks] == [0.0]
