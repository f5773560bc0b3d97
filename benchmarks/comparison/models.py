"""The folders to measure: existing ones, or freshly exported from a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from comparison.plan import OURS, THEIRS

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.export.ctranslate2.translator import SETTINGS
from nmt_cli.host import import_keras
from nmt_cli.recipe.model import DecodingConfig, ModelConfig


@dataclass(frozen=True)
class Models:
    """The same weights in several precisions, for both sides.

    Attributes:
        name: for the table.
        vocabulary: size of the target vocabulary.
        folders: by precision and side.
    """

    name: str
    config: ModelConfig
    vocabulary: int
    decoding: DecodingConfig
    folders: Mapping[str, Mapping[str, Path]]

    @property
    def tokenizer(self) -> Path:
        """The folder of the tokenizers, which all models share."""
        return next(iter(self.folders.values()))[OURS] / TOKENIZER


def bundle_models(folder: Path, theirs: Path) -> Models:
    """A bundle, and a CTranslate2 model with the same weights.

    Raises:
        NmtError: a folder is not such a model, or their tokenizers differ.
    """
    manifest = read_manifest(folder)
    if not (theirs / SETTINGS).exists():
        raise NmtError(
            f"{theirs}: no {SETTINGS} in it", "make the folder with nmt export --ctranslate2"
        )
    if _contents(folder / TOKENIZER) != _contents(theirs / TOKENIZER):
        raise NmtError(
            f"{theirs} and {folder} have different tokenizers", "export both from one run"
        )
    return Models(
        manifest.name,
        manifest.architecture,
        manifest.vocabulary["target"],
        manifest.decoding,
        {manifest.precision: {OURS: folder, THEIRS: theirs}},
    )


def run_models(
    folder: Path,
    precisions: Sequence[str],
    place: Path,
    say: Callable[[str], None],
) -> Models:
    """Export a run for both sides in each precision, without verification.

    Args:
        folder: the run.
        precisions: some of nmt_cli.bundle.PRECISIONS.
        place: where to put the exports.
        say: receives a line before each export.

    Raises:
        NmtError: the run is damaged, or cannot be exported.
    """
    import_keras()
    from nmt_cli.export.ctranslate2.folder import write
    from nmt_cli.export.exporter import EXPORTERS, ExportOptions
    from nmt_cli.export.trained import TrainedModel
    from nmt_cli.training.run import Run

    run = Run.open(folder)
    folders: dict[str, dict[str, Path]] = {}
    for precision in precisions:
        say(f"exporting {folder} in {precision}, unverified")
        sides = {OURS: place / precision, THEIRS: place / f"{precision}-ctranslate2"}
        options = ExportOptions(output=sides[OURS], precision=precision, verify=False)
        EXPORTERS["onnx"].export(run, options)
        sides[THEIRS].mkdir()
        write(TrainedModel.open(run, options), options, sides[THEIRS])
        folders[precision] = sides
    return Models(
        run.recipe.label, run.recipe.model, run.target_vocab, run.recipe.decoding, folders
    )


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*")}
