"""The model card of an export other than a bundle."""

from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle.card import CARD, card
from nmt_cli.bundle.manifest import Verification
from nmt_cli.export.exporter import Trained


def write_card(
    folder: Path,
    trained: Trained,
    precision: str,
    form: str,
    usage: str,
    report: Verification,
    name: str = CARD,
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
    text = card(
        f"{recipe.label}: {recipe.data.source} to {recipe.data.target}, {form}",
        f"{recipe.model.summary()} in {precision}",
        usage,
        {"nmt_version": __version__, "steps": trained.steps, **trained.run.provenance()},
        report,
    )
    (folder / name).write_text(header + text, encoding="utf-8")
