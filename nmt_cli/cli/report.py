"""nmt report."""

from pathlib import Path

import click

from nmt_cli.cli.options import find_run, say
from nmt_cli.frameworks import import_keras

_PATH = click.Path(path_type=Path)


@click.command(epilog="\b\nExample: nmt report runs/docs-pt-en -o docs.html")
@click.argument("run", required=False, type=_PATH)
@click.option("-o", "--output", type=_PATH, help="HTML file; default: report.html in the run.")
@click.option(
    "--lines",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Number of held-out lines to translate.",
)
def report(run: Path | None, output: Path | None, lines: int) -> None:
    """Write a report on RUN (default: the newest): one HTML page that needs no other file.

    It shows scores with their signatures, model, speed and size, training curves, translations
    beside their references, the worst sentences, attention and the recipe.
    """
    folder = find_run(run)
    page = output or folder / "report.html"
    import_keras()
    from nmt_cli.plot.report import write_report

    write_report(folder, page, lines, say)
    say(f"report written to {page}")
