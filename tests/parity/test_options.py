"""A Keras model and its ONNX bundle give the same results with all search options."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.step_model import EnsembleStepModel
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.conftest import Once
from tests.systems import WORDS, export_bundle, untrained_run
from tests.translators import load_bundle

LINES = [" ".join(WORDS[start : start + 1 + start % 5]) for start in range(12)] + ["", "casa " * 40]
PHRASES = [
    Line("um gato", ("casa",)),
    Line("dois", ("sol pão", "água")),
    "três",
    Line("", ("sol",)),
]


@pytest.fixture(scope="module", params=["transformer", "rnn"])
def sides(request: pytest.FixtureRequest, once: Once) -> list[Translator]:
    def fill(folder: Path) -> None:
        run = untrained_run(folder, model={"architecture": request.param})
        export_bundle(run, folder / "bundle", attention="cross")

    folder = once(f"options-{request.param}", fill)
    run, bundle = Run.open(folder / "run"), folder / "bundle"
    model, _ = trained_model(run, run.checkpoint(1))
    decoding = replace(run.recipe.decoding, max_source=20)
    exported, keras_model = load_bundle(bundle), KerasStepModel(model)
    # The export has chosen them.
    keras_model.alignment_heads = exported.model.alignment_heads
    assert exported.model.alignment_heads
    return [
        translator_for(keras_model, run.tokenizers(), decoding),
        replace(exported, path=replace(exported.path, max_source=20)),
    ]


def assert_alike(left: list[Translation], right: list[Translation]) -> None:
    for one, other in zip(left, right, strict=True):
        assert one.text == other.text
        assert one.ids == other.ids
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert one.alignment == other.alignment
        assert one.tokens == other.tokens
        assert one.token_scores == pytest.approx(other.token_scores, abs=1e-3)
        assert_alike(one.others, other.others)


@pytest.mark.parametrize(
    "values",
    [
        {"n_best": 4},
        {"min_length": 6, "no_repeat_ngram": 2},
        {"repetition_penalty": 1.7, "n_best": 2},
        {"coverage_penalty": 0.4, "n_best": 2},
        {"unk": "avoid"},
        {"max_length": 5},
        {"sample": True, "seed": 4, "top_p": 0.9, "temperature": 0.7, "beam_size": 3, "n_best": 3},
    ],
    ids=lambda values: " ".join(values),
)
def test_options(sides: list[Translator], values: dict) -> None:
    translations = []
    for side in sides:
        options = replace(side.options, suppress=("gato",), prefix="sol", alignments=True, **values)
        translator = replace(side, options=options)
        translations.append(list(translator.translate(LINES)))
    assert_alike(*translations)
    assert len(translations[0][0].others) == values.get("n_best", 1) - 1
    for translation in (one for line in translations[0] for one in (line, *line.others)):
        assert "gato" not in translation.text.split()
        assert translation.text.startswith("sol") or not translation.text


def test_phrases(sides: list[Translator]) -> None:
    translations = [list(side.translate(PHRASES)) for side in sides]
    assert_alike(*translations)
    first, second, third, blank = translations[0]
    assert "casa" in first.text
    assert "sol pão" in second.text
    assert "água" in second.text
    assert_alike([third], list(sides[0].translate(["três"])))
    assert blank.text == ""


def test_an_ensemble_of_both(sides: list[Translator]) -> None:
    ensemble = EnsembleStepModel([side.model for side in sides])
    both = replace(sides[0], search=BeamSearch(ensemble, sides[0].tokenizers))
    assert_alike(list(both.translate(LINES)), list(sides[0].translate(LINES)))


def test_forced_decoding_gives_the_scores_of_the_search(sides: list[Translator]) -> None:
    for side in sides:
        pieces = [
            side.tokenizers.source.with_special_tokens(ids)
            for ids in side.tokenizers.source.encode(LINES[:12])
        ]
        results = list(side.translate(LINES[:12]))
        forced = side.force(
            [(piece, result.ids) for piece, result in zip(pieces, results, strict=True)]
        )
        for given, result in zip(forced, results, strict=True):
            scores = result.token_scores
            assert given.token_scores[: len(scores)] == pytest.approx(scores, abs=1e-4)
        texts = [result.text for result in results]
        encoded = side.tokenizers.target.encode(texts)
        scored = list(side.score(zip(LINES[:12], texts, strict=True)))
        same_ids = [
            (score.score, result.score)
            for score, result, ids in zip(scored, results, encoded, strict=True)
            if ids == result.ids and len(result.token_scores) > len(ids)
        ]
        assert all(one == pytest.approx(other, abs=1e-4) for one, other in same_ids)
    pairs = [(LINES[0], "um dois"), ("", ""), (LINES[1], "")]
    first, second = ([result.score for result in side.score(pairs)] for side in sides)
    assert first == pytest.approx(second, abs=1e-3)
    assert first[1] == 0
