"""nmt prepare."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.options import (
    PREPARED,
    find_recipe,
    output_option,
    recipe_argument,
    say,
    set_option,
)
from nmt_cli.frameworks import import_keras

if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe


@click.command(epilog="\b\nExample: nmt prepare docs-pt-en --set data.root=corpora")
@recipe_argument(required=True)
@set_option()
@output_option("Folder to write; default: prepared/NAME.")
@click.option("--force", is_flag=True, help="Do the work even if the folder is up to date.")
def prepare(recipe: str, overrides: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Clean RECIPE's text, learn its vocabulary, write token arrays.

    A second run with the same inputs does nothing.
    """
    loaded = find_recipe(recipe, overrides)
    if _needs_tensorflow(loaded):
        import_keras()
    from nmt_cli.data.prepare import prepare as prepare_data

    prepare_data(loaded, output or PREPARED / loaded.label, force, say)


def _needs_tensorflow(recipe: "Recipe") -> bool:
    """TensorFlow Datasets and the WordPiece learner do; SentencePiece on files does not."""
    data = recipe.data
    named = (*data.train, *data.synthetic, *data.dev, *data.test)
    return recipe.tokenizer.kind == "wordpiece" or any(each.startswith("tfds:") for each in named)
