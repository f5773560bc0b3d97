"""Preparing data with its messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.data.prepare import prepare
from nmt_cli.data.prepared import Prepared
from nmt_cli.recipe.config import Recipe

Preparing = Callable[..., tuple[Prepared, list[str]]]


@pytest.fixture
def run(caplog: pytest.LogCaptureFixture) -> Preparing:
    """A function that prepares data and returns it with its messages."""

    def prepared(recipe: Recipe, folder: Path, **options: Any) -> tuple[Prepared, list[str]]:
        caplog.clear()
        return prepare(recipe, folder, **options), caplog.messages

    return prepared
