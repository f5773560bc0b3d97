"""``nmt export --saved-model``: strings in, strings out, in one TensorFlow graph."""

from pathlib import Path

from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import Exporter, ExportOptions, Trained


class SavedModelExporter(Exporter):
    """Writes TensorFlow SavedModels."""

    name = "saved-model"
    help = "Write a TensorFlow SavedModel that takes and returns text."
    suffix = "-saved-model"
    marker = "saved_model.pb"
    next_step = "SavedModel written to {folder}"

    def write(self, trained: Trained, options: ExportOptions, folder: Path) -> None:
        """Trace tokenizer, encoder, search and detokenizer into one graph."""
        from nmt_cli.export.saved_model.module import write_saved_model

        write_saved_model(trained, folder)

    def verify(self, trained: Trained, options: ExportOptions, folder: Path) -> Verification:
        """Compare translations with the model's."""
        from nmt_cli.export.saved_model.module import verify_saved_model

        return verify_saved_model(trained, folder)


EXPORTER = SavedModelExporter()
