"""An architecture added by a package and a registry entry trains, exports and translates."""

import sys
from pathlib import Path

import pytest

import nmt_cli
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.recipe.model import ARCHITECTURES
from nmt_cli.training.devices import ONE_DEVICE
from nmt_cli.training.run import Run
from nmt_cli.training.train import train
from tests.model.averaging import AveragingConfig, network
from tests.model.models import (
    check_beams,
    check_causality,
    check_padding,
    check_selection,
    check_steps,
    tiny,
)
from tests.systems import export_bundle, toy_data

LINES = ["um dois três", "", "casa gato"]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARCHITECTURES, "averaging", AveragingConfig)
    monkeypatch.setitem(sys.modules, "nmt_cli.model.averaging", network)


def test_it_trains_exports_and_translates(tmp_path: Path) -> None:
    import tensorflow as tf

    model = {"architecture": "averaging", "encoder_layers": 2, "dropout": 0.0}
    recipe, prepared = toy_data(tmp_path, model=model, training={"max_steps": 6})
    tf.config.run_functions_eagerly(True)  # tracing takes longer than six steps
    try:
        train(recipe, prepared, tmp_path / "run", False, ONE_DEVICE)
    finally:
        tf.config.run_functions_eagerly(False)
    run = Run.open(tmp_path / "run")
    bundle = export_bundle(run, tmp_path / "bundle", verify=True, attention="cross")
    assert read_manifest(bundle).architecture == recipe.model
    with nmt_cli.open(run.folder) as trained, nmt_cli.open(bundle) as exported:
        assert trained.describe()["summary"] == "An averaging model (width 32)"
        for options in ({"beam_size": 1}, {"alignments": True}):
            one, other = (list(model.translate(LINES, **options)) for model in (trained, exported))
            assert [translation.text for translation in one] == [
                translation.text for translation in other
            ]
            assert [translation.alignment for translation in one] == [
                translation.alignment for translation in other
            ]


def test_its_steps_match_the_training_model() -> None:
    model = tiny(architecture="averaging")
    for check in (check_steps, check_beams, check_selection, check_causality, check_padding):
        check(model)
