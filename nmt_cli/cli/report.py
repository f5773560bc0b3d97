"""nmt report."""

from pathlib import Path

import click

from nmt_cli.cli.options import find_run, say
from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras


@click.command(epilog="\b\nExample: nmt report runs/docs-pt-en -o docs.html")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="HTML file to write; default: report.html in the run's folder.",
)
@click.option(
    "--lines",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Held-out lines to translate.",
)
def report(run: Path | None, output: Path | None, lines: int) -> None:
    """One page on RUN (default: the newest): how it went, what it does well and what badly.

    Recipe, curves, scores with their signatures, translations beside their references, the worst
    sentences, attention, speed and size. The page is one file that needs no other.
    """
    folder = find_run(run)
    place = output or folder / "report.html"
    if place.suffix.lower() not in (".html", ".htm"):
        raise NmtError(f"{place}: is no name of a page", "end it with .html")
    if place.is_dir():
        raise NmtError(f"{place}: is a folder, not a file", "name a file")
    import_keras()
    from nmt_cli.report.content import gather
    from nmt_cli.report.page import write_page

    write_page(gather(folder, lines, say), place)
    say(f"report written to {place}")
