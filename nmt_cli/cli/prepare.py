"""nmt prepare."""

from pathlib import Path

import click

from nmt_cli.cli.options import (
    PREPARED,
    find_recipe,
    output_option,
    recipe_argument,
    say,
    set_option,
)


@click.command(epilog="\b\nExample: nmt prepare docs-pt-en --set data.root=corpora")
@recipe_argument(required=True)
@set_option()
@output_option("Folder to write; default: prepared/NAME.")
@click.option("--force", is_flag=True, help="Prepare again even if the folder is up to date.")
def prepare(recipe: str, overrides: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Clean RECIPE's text, learn its vocabulary, write token arrays.

    A second run with the same inputs does nothing.
    """
    from nmt_cli.data.prepare import prepare as prepare_data

    loaded = find_recipe(recipe, overrides)
    prepare_data(loaded, output or PREPARED / loaded.label, force, say)
