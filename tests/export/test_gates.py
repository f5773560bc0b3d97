"""Quality gates of quantized exports, checked on constructed translations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import Gates, compare_quality
from nmt_cli.training.run import Run

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


WEAK = "the verification is weak with {} held-out lines: "
HINT = "; give 1,000 lines that the training did not see with `dev=PREFIX`"


def test_a_loss_that_passes_on_few_lines_warns(caplog: pytest.LogCaptureFixture) -> None:
    """As an int8 export that lost 0.43 BLEU on 300 lines, with p = 0.097."""
    original, quantized = with_errors(10), with_errors(10, first=5)
    quantized[1] = quantized[2] = "x y z"
    losses = measure(original, quantized, lines=300)
    assert losses["BLEU lost on 300 lines"] > GATES.bleu
    smallest = losses["smallest loss of BLEU that would be significant"]
    assert smallest > GATES.bleu
    (message,) = caplog.messages
    start, _, rest = message.removesuffix(HINT).partition(" a loss of about ")
    value, _, end = rest.partition(" BLEU ")
    assert (f"{start} ", end) == (WEAK.format(300), "can pass (the limit is 0.2)")
    assert float(value) == pytest.approx(smallest, abs=0.01)


def test_few_lines_that_would_show_the_limit_do_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    quantized = [*REFERENCES]
    quantized[0] = quantized[0].rpartition(" ")[0] + " x"
    assert measure(REFERENCES, quantized, lines=300)["BLEU lost on 300 lines"] > 0
    assert measure(REFERENCES, REFERENCES, lines=200)["BLEU lost on 200 lines"] == 0
    assert not caplog.messages


def test_as_many_lines_as_are_used_do_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    original, quantized = with_errors(4), with_errors(4, first=2)
    losses = measure(original, quantized)
    assert losses["smallest loss of BLEU that would be significant"] > GATES.bleu
    assert not caplog.messages
    measure(original, quantized, lines=999)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("lines", [0, 1, 58, 199])
def test_lines_that_are_too_few_for_bleu_warn(caplog: pytest.LogCaptureFixture, lines: int) -> None:
    texts = REFERENCES[: lines or 8]  # without held-out text, hard lines
    compare_quality(texts, texts, REFERENCES[:lines], GATES, "int8")
    problem = "they are too few to measure a loss of BLEU"
    assert caplog.messages == [f"{WEAK.format(lines)}{problem}{HINT}"]


def test_the_smallest_loss_is_one_that_is_significant() -> None:
    """Losses above it fail, if they are as even as those that it was measured on."""
    quantized = with_errors(20)
    checks = compare_quality(REFERENCES, quantized, REFERENCES, Gates(bleu=9, chrf=80), "int8")
    values = {check.name.split(" (p")[0]: check.value for check in checks}
    smallest = values["smallest loss of BLEU that would be significant"]
    assert 0 < smallest < values["BLEU lost on 1,000 lines"]


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


def test_other_text_replaces_the_held_out_lines(
    tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the current folder, whatever data.root was in the training."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "news.xx").write_text("um gato\nsol\n", encoding="utf-8")
    (tmp_path / "news.yy").write_text("a cat\nsun\n", encoding="utf-8")
    (tmp_path / "more.tsv").write_text("um\tone\n", encoding="utf-8")
    data = replace(tiny_run.recipe.data, root="corpora")
    run = replace(tiny_run, recipe=replace(tiny_run.recipe, data=data))

    def held_out(dev: str | None) -> tuple[list[str], list[str]]:
        return TrainedModel.open(run, ExportOptions(dev=dev, checkpoint=run.last)).held_out

    assert held_out("news") == (["um gato", "sol"], ["a cat", "sun"])
    assert held_out("more.tsv") == (["um"], ["one"])
    assert held_out(None) == run.held_out()
    (tmp_path / "news.yy").write_text("a cat\n", encoding="utf-8")
    hint = "; give a PREFIX: the text is in PREFIX.xx and PREFIX.yy$"
    with pytest.raises(NmtError, match=f"^news.xx has 2 lines, news.yy has 1{hint}"):
        held_out("news")
    with pytest.raises(NmtError, match=f"^absent.xx: no such file{hint}"):
        held_out("absent")
