"""The card of an export: what it is, how to use it, its training text and its verification."""

from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle.description import LICENCE, training_text
from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import Trained

_CARD = """\
# {recipe.label}: {recipe.data.source} to {recipe.data.target}, {form}

Weights in {precision}, exported by nmt {version}.

## Use

{usage}

## Training

{licence}

{text}

## Verification

{report}
"""


def write_card(
    folder: Path, trained: Trained, precision: str, form: str, usage: str, report: Verification
) -> None:
    """Write the MODEL_CARD.md of an export.

    Args:
        folder: of the export.
        trained: what was exported, with weights of this ``precision``.
        form: what the export is, e.g. "as one ONNX file".
        usage: a section in Markdown.
        report: of its verification.
    """
    card = _CARD.format(
        recipe=trained.run.recipe,
        form=form,
        precision=precision,
        version=__version__,
        usage=usage,
        licence=LICENCE,
        text=training_text(trained.run.provenance()),
        report="\n".join(f"- {line}" for line in report.lines()),
    )
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")
