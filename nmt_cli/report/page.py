"""A report as one HTML file that needs nothing else."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from nmt_cli.files import replacing
from nmt_cli.report.content import Report


def write_page(report: Report, path: Path) -> None:
    """Write the page; text from models and corpora is escaped.

    Raises:
        NmtError: it cannot be written.
    """
    environment = Environment(
        loader=PackageLoader("nmt_cli.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    with replacing(path) as out:
        out.write(environment.get_template("page.html").render(report=report) + "\n")
