"""The public Python API: one interface for runs and bundles."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nmt_cli
from nmt_cli.errors import InputError, ModelError, NmtError, OptionError
from nmt_cli.models import TranslationModel
from nmt_cli.training.run import Run

LINES = ["um dois três", "", "casa gato", "sol"]


@pytest.fixture(scope="module")
def run(tiny_run: Run) -> Iterator[TranslationModel]:
    with nmt_cli.open(str(tiny_run.folder)) as model:
        yield model


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Callable[[str], Path]) -> Iterator[TranslationModel]:
    with nmt_cli.open(tiny_bundle("float32")) as model:
        yield model


@pytest.fixture(params=[pytest.param("run", marks=pytest.mark.train), "bundle"])
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return request.getfixturevalue(request.param)


def test_both_kinds_have_one_interface(model: TranslationModel) -> None:
    assert model.languages == ("xx", "yy")
    assert model.tokenizers.source.vocab_size == model.describe()["vocabulary"]["source"]
    assert model.describe()["kind"] == model.kind
    translations = list(model.translate(LINES))
    assert [bool(translation.text) for translation in translations] == [True, False, True, True]
    assert isinstance(translations[0], nmt_cli.Translation)
    assert translations[0].tokens[-1] == "</s>" or len(translations[0].ids) == len(
        translations[0].tokens
    )
    assert len(translations[0].tokens) == len(translations[0].token_scores)
    assert translations[0].score < 0
    assert translations[1].tokens == []


@pytest.mark.train
def test_a_run_and_its_bundle_give_the_same_translations(
    run: TranslationModel, bundle: TranslationModel
) -> None:
    assert run.languages == bundle.languages
    for options in ({}, {"beam_size": 1}, {"n_best": 3}, {"prefix": "sol", "min_length": 3}):
        from_run, from_bundle = (list(model.translate(LINES, **options)) for model in (run, bundle))
        assert [translation.text for translation in from_run] == [
            translation.text for translation in from_bundle
        ]
        for one, other in zip(from_run, from_bundle, strict=True):
            assert [translation.text for translation in one.n_best] == [
                translation.text for translation in other.n_best
            ]
    from_run, from_bundle = (list(model.score(LINES, LINES)) for model in (run, bundle))
    assert [translation.tokens for translation in from_run] == [
        translation.tokens for translation in from_bundle
    ]
    np.testing.assert_allclose(
        [translation.score for translation in from_run],
        [translation.score for translation in from_bundle],
        atol=1e-3,
    )


def test_options_and_overrides(model: TranslationModel) -> None:
    options = nmt_cli.DecodingOptions(beam_size=2, n_best=2)
    two = next(model.translate(LINES, options))
    assert len(two.n_best) == 2
    assert two.n_best[0] is two
    (one,) = next(model.translate(LINES, options, n_best=1)).n_best
    assert one.text == two.text
    with pytest.raises(OptionError, match="`n_best=9` needs a beam of that size"):
        model.translate(LINES, n_best=9, beam_size=4)
    with pytest.raises(OptionError, match="`beam_size` must be between 1 and 256, not 0"):
        model.translate(LINES, beam_size=0)
    with pytest.raises(OptionError, match="`top_k` needs `sample`"):
        model.translate(LINES, top_k=3)


def test_constraints(model: TranslationModel) -> None:
    phrases = [["casa"], [], ["gato", "sol um"], []]
    translations = list(model.translate(LINES, constraints=phrases))
    assert all(phrase in translations[row].text for row in range(4) for phrase in phrases[row])
    assert translations[3].text == next(model.translate(LINES[3:])).text
    with pytest.raises(NmtError, match="constraints: ends before line 2, lines does not"):
        list(model.translate(LINES, constraints=phrases[:1]))
    with pytest.raises(NmtError, match="line 1: ' ' is blank"):
        list(model.translate(["um"], constraints=[[" "]]))
    with pytest.raises(OptionError, match="`constraints` and `sample` cannot be combined"):
        model.translate(LINES, constraints=phrases, sample=True)


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("dois", {}, "lines: 'dois' is a text, not a list of texts; put it in a list"),
        (["dois"], {"constraints": ["two"]}, "the constraints of a line: 'two' is a text"),
        (["dois"], {"suppress": "two"}, "`suppress` must be a list of strings, not 'two'"),
    ],
)
def test_a_text_is_no_list(
    model: TranslationModel, lines: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(NmtError, match=re.escape(message)):
        list(model.translate(lines, **options))
    with pytest.raises(NmtError, match="targets: 'two' is a text, not a list"):
        model.score(["dois"], "two")


@pytest.mark.parametrize("options", [{"threads": 0}, {"workers": -1}, {"device": "gpu"}])
def test_hardware_that_cannot_be(
    tiny_bundle: Callable[[str], Path], options: dict[str, Any]
) -> None:
    with pytest.raises(OptionError):
        nmt_cli.open(tiny_bundle("float32"), **options)


def test_translation_is_lazy_and_in_order(model: TranslationModel) -> None:
    read: list[str] = []

    def endless():
        while True:
            read.append("um dois")
            yield f"{'um ' * (len(read) % 3 + 1)}"

    translations = model.translate(endless(), beam_size=1)
    assert read == []
    next(translations)
    assert 0 < len(read) <= 2048


def test_scores_of_sides_with_different_line_counts(model: TranslationModel) -> None:
    with pytest.raises(NmtError, match="target: ends before line 2, source does not"):
        list(model.score(["um", "dois"], ["um"]))
    with pytest.raises(NmtError, match="source: ends before line 2, target does not"):
        list(model.score(["um"], ["um", "dois"]))


@pytest.mark.train
def test_attention_of_a_run(run: TranslationModel) -> None:
    maps = run.attention("um dois", "dois um")
    assert maps.cross.shape[2:] == (len(maps.target), len(maps.source))
    np.testing.assert_allclose(maps.cross.sum(axis=-1), 1, atol=1e-5)
    aligned = next(run.translate(["um dois"], alignments=True)).alignment
    assert aligned is not None
    for source, target in (("", None), ("um", " "), ("um", "dois " * 100), ("dois " * 900, "um")):
        with pytest.raises(InputError, match="is blank, or has more than"):
            run.attention(source, target)


def test_a_bundle_without_attention(bundle: TranslationModel) -> None:
    for call in (lambda: bundle.attention("um"), lambda: bundle.translate(LINES, alignments=True)):
        with pytest.raises(ModelError):
            call()


@pytest.mark.train
def test_an_ensemble(
    run: TranslationModel, tiny_run: Run, tiny_bundle: Callable[[str], Path]
) -> None:
    single = [translation.text for translation in run.translate(LINES)]
    both = nmt_cli.open(tiny_run.folder, tiny_bundle("float32"))
    assert [translation.text for translation in both.translate(LINES)] == single
    assert both.kind == "ensemble"
    maps = nmt_cli.open(tiny_run.folder, tiny_run.folder).attention("um dois", "dois um")
    first, second = run.attention("um dois", "dois um").cross.mean(axis=1)
    expected = np.cbrt(first * second**2)
    expected /= expected.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(maps.cross[0, 0], expected, atol=1e-6)


def test_folders_without_a_model(tmp_path: Path, tiny_run: Run) -> None:
    with pytest.raises(NmtError, match=r"neither a run \(no run.json\) nor a bundle"):
        nmt_cli.open(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(NmtError, match="a TensorFlow SavedModel"):
        nmt_cli.open(tmp_path)
    with pytest.raises(OptionError):
        nmt_cli.open(tiny_run.folder, threads=2)


def test_a_bundle_is_hashed_once(
    tiny_bundle: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nmt_cli.runtime import load

    checked: list[Path] = []
    original = load.checking_files
    monkeypatch.setattr(
        load,
        "checking_files",
        lambda folder, manifest: checked.append(folder) or original(folder, manifest),
    )
    with nmt_cli.open(tiny_bundle("float32")) as model:
        list(model.translate(LINES))
        list(model.translate(LINES[:1]))
        list(model.score(["um"], ["um"]))
    assert checked == [tiny_bundle("float32")]


def test_the_import_loads_no_framework() -> None:
    script = (
        "import json, sys, nmt_cli\n"
        "print(json.dumps([sorted(sys.modules), nmt_cli.__all__, dir(nmt_cli)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    modules, public, names = json.loads(done.stdout)
    assert {"numpy", "click", "onnxruntime", "keras", "tensorflow"}.isdisjoint(modules)
    assert [name for name in modules if name.startswith("nmt_cli")] == ["nmt_cli"]
    assert public == ["DecodingOptions", "NmtError", "Translation", "open"]
    assert set(public) <= set(names)
    with pytest.raises(AttributeError, match="has no attribute 'close'"):
        nmt_cli.close  # noqa: B018
    assert (Path(nmt_cli.__file__).parent / "py.typed").exists()
