"""The record of a search: a manual example, and agreement with the search itself."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmt_cli
from nmt_cli.errors import OptionError
from nmt_cli.search.beam import beam_search
from nmt_cli.search.hypotheses import Hypothesis
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.trace import Candidate, Search, Trace
from nmt_cli.text.tokenizer import END_ID
from tests.harness import nmt
from tests.search.fakes import FakeStepModel, Follow, hashed, options
from tests.search.test_beam import GARDEN_PATH, A, B, C, D

NAMES = {END_ID: "</s>", A: "A", B: "B", C: "C", D: "D"}


def tokens(ids: Sequence[int]) -> list[str]:
    return [NAMES.get(id_, str(id_)) for id_ in ids]


def traced(follow: Follow, settings: SearchOptions) -> tuple[Hypothesis, Search]:
    side: Any = SimpleNamespace(tokens=tokens)
    trace = Trace(SimpleNamespace(source=side, target=side))  # type: ignore[arg-type]
    source = np.array([[A, END_ID, 0]], np.int32)
    ((best,),) = beam_search(FakeStepModel(follow), source, settings, trace=trace)
    (search,) = trace.searches
    assert search.source == ["A", "</s>"]
    return best, search


def rows(candidates: list[Candidate]) -> list[tuple[str, float, int | None]]:
    return [(one.token, round(math.exp(one.total), 4), one.beam) for one in candidates]


def test_each_step_of_a_manual_example() -> None:
    best, search = traced(GARDEN_PATH, options(2))
    one, two = search.steps
    assert [(beam.number, beam.tokens) for beam in one.beams] == [(1, [])]
    assert rows(one.beams[0].candidates) == [("A", 0.6, 1), ("B", 0.4, 2)]
    assert one.finished == []
    assert [(beam.number, beam.tokens) for beam in two.beams] == [(1, ["A"]), (2, ["B"])]
    assert rows(two.beams[0].candidates) == [("C", 0.3, 2), ("</s>", 0.18, None)]
    assert rows(two.beams[1].candidates) == [("</s>", 0.36, 1), ("C", 0.04, None)]
    (ended,) = two.finished
    assert (ended.beam, ended.tokens, ended.score) == (1, ["B"], best.score)
    # The open beam, A C, has 0.3 < 0.36 already.
    assert search.stopped.startswith("no open beam can score better than -1.022")
    assert search.stopped.endswith("the best would reach -1.204")


def test_the_length_penalty_is_shown() -> None:
    _, search = traced(GARDEN_PATH, options(2, 1.0))
    ended = search.steps[1].finished[0]
    assert ended.length_penalty == pytest.approx(7 / 6)
    assert ended.score == pytest.approx(math.log(0.36) / (7 / 6))


def test_the_reasons_for_which_a_search_stops() -> None:
    def always(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return {END_ID: -1.0, A: -2.0} if len(history) > 1 else {A: -0.5, B: -0.6}

    def never(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return {A: -0.5, B: -0.6}

    assert traced(always, options(1))[1].stopped == "every beam has finished"
    limited = replace(options(2), max_length=5)
    assert traced(never, limited)[1].stopped == "the maximum length, 5 tokens, is reached"


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0]))
def test_the_record_agrees_with_the_search(seed: int, beams: int, alpha: float) -> None:
    follow, settings = hashed(seed, (A, B, C, D)), replace(options(beams, alpha), max_length=12)
    source = np.array([[A, END_ID, 0]], np.int32)
    ((expected,),) = beam_search(FakeStepModel(follow), source, settings)
    best, search = traced(follow, settings)
    assert best == expected
    assert search.stopped
    finished = [beam for step in search.steps for beam in step.finished]
    if finished:
        top = max(finished, key=lambda beam: beam.score)
        assert (top.tokens, top.score) == (tokens(best.ids), pytest.approx(best.score))
    # A beam is what its parent became.
    for before, after in zip(search.steps, search.steps[1:], strict=False):
        became = {
            candidate.beam: ([*beam.tokens, candidate.token], candidate.total)
            for beam in before.beams
            for candidate in beam.candidates
            if candidate.beam
        }
        assert len(became) <= beams
        for beam in after.beams:
            made, total = became[beam.number]
            assert (made, pytest.approx(total)) == (beam.tokens, beam.total)


class TestCommand:
    def test_every_line_has_its_searches_and_translation(self, tiny_bundle: Any) -> None:
        folder: Path = tiny_bundle("float32")
        text = b"the cat\n\n"
        words = ("translate", "-m", folder, "--beam-size", "3", "--no-repeat-ngram", "0")
        plain = nmt(*words, cwd=folder, stdin=text).out.decode().splitlines()
        shown = nmt(*words, "--trace", cwd=folder, stdin=text).out.decode().splitlines()
        ends = [line for line in shown if line.startswith("translation: ")]
        assert [line.rpartition("  ")[0] for line in ends] == [
            f"translation: {line}" for line in plain
        ]
        assert shown[1:3] == ["step 1", "  beam 1: (start)  0.000"]
        assert sum(line.startswith("stopped: ") for line in shown) == 1  # none of the blank line
        record, blank = nmt(*words, "--trace", "--json", cwd=folder, stdin=text).out.splitlines()
        trace = json.loads(record)
        assert trace["text"] == plain[0]
        assert len(trace["searches"][0]["steps"][0]["beams"][0]["candidates"]) == 3
        assert json.loads(blank) == {"text": "", "score": 0.0, "searches": []}

    def test_a_second_search_is_shown(self, tiny_bundle: Any, monkeypatch: Any) -> None:
        monkeypatch.setattr("nmt_cli.search.segments.TOKEN_LOOP", re.compile(""))
        monkeypatch.setattr("nmt_cli.search.segments.repeats", lambda target, source: True)
        with nmt_cli.open(tiny_bundle("float32")) as model:
            assert len(model.trace("the cat")[1]) == 3

    def test_samples_have_no_search(self, tiny_bundle: Any) -> None:
        folder: Path = tiny_bundle("float32")
        result = nmt("translate", "--trace", "--sample", "-m", folder, cwd=folder)
        assert (result.code, result.message) == (
            2,
            "Error: --trace and --sample cannot be combined",
        )
        with (
            nmt_cli.open(folder) as model,
            pytest.raises(OptionError, match="`trace` and `sample` cannot be combined"),
        ):
            model.trace("the cat", DecodingOptions(sample=True))
