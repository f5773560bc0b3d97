"""The card of an export: what it is, how to use it, its training text and its verification."""

from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle.description import LICENCE, training_text
from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import Trained

_CARD = """\
{header}# {recipe.label}: {recipe.data.source} to {recipe.data.target}, {form}

{summary} in {precision}, exported by nmt {version}.

## Use

{usage}

## Training

{licence}

{text}

## Verification

{report}
"""


def write_card(
    folder: Path,
    trained: Trained,
    precision: str,
    form: str,
    usage: str,
    report: Verification,
    name: str = "MODEL_CARD.md",
    header: str = "",
) -> None:
    """Write the card of an export.

    Args:
        folder: of the export.
        trained: what was exported, with weights of this ``precision``.
        form: what the export is, e.g. "as one ONNX file".
        usage: a section in Markdown.
        report: of its verification.
        name: of the file.
        header: precedes the card.
    """
    recipe = trained.run.recipe
    card = _CARD.format(
        header=header,
        recipe=recipe,
        form=form,
        summary=recipe.model.summary(),
        precision=precision,
        version=__version__,
        usage=usage,
        licence=LICENCE,
        text=training_text(trained.run.provenance()),
        report="\n".join(f"- {line}" for line in report.lines()),
    )
    (folder / name).write_text(card, encoding="utf-8")
