"""Documentation that would otherwise fall behind the code."""

import dataclasses
from pathlib import Path

import pytest

from nmt_cli.recipe.config import ModelConfig, TrainingConfig
from nmt_cli.training.run import SAFE_TO_CHANGE

TRAINING = (Path(__file__).parent.parent / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("section", [ModelConfig, TrainingConfig])
def test_every_key_of_training_is_explained(section: type) -> None:
    for field in dataclasses.fields(section):
        assert f"`{field.name}`" in TRAINING, field.name


def test_every_safe_key_is_listed() -> None:
    listed = TRAINING.partition("cannot change the weights")[2].partition("## The model")[0]
    for section, keys in SAFE_TO_CHANGE.items():
        for key in keys or (f"[{section}]",):
            assert f"`{key}`" in listed or f"`{section}.{key}`" in listed, key
