"""``nmt export --ctranslate2``: a folder that CTranslate2 translates with."""

from pathlib import Path

from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import Exporter, ExportOptions, Trained


class CTranslate2Exporter(Exporter):
    """Writes CTranslate2 model folders."""

    name = "ctranslate2"
    help = "Write a model folder for CTranslate2."
    suffix = "-ctranslate2"
    marker = "nmt_ctranslate2.json"
    # How weights are stored; CTranslate2 converts what a processor cannot compute with.
    quantizations = (
        "int8",
        "int8_float32",
        "int8_float16",
        "int8_bfloat16",
        "int16",
        "float16",
        "bfloat16",
    )
    next_step = "CTranslate2 model written to {folder}; see its MODEL_CARD.md for how to use it"

    def check(self, options: ExportOptions) -> None:
        """Also check that ctranslate2 is installed."""
        from nmt_cli.export.ctranslate2.translator import import_ctranslate2

        super().check(options)
        import_ctranslate2()

    def write(self, trained: Trained, options: ExportOptions, folder: Path) -> None:
        """Write weights, tokenizers and settings."""
        from nmt_cli.export.ctranslate2.folder import write_folder

        write_folder(trained, folder, options.precision)

    def verify(self, trained: Trained, options: ExportOptions, folder: Path) -> Verification:
        """Compare float32 weights, then quantized ones, with the model."""
        from nmt_cli.export.ctranslate2.folder import verify_folder

        return verify_folder(trained, folder, options.precision)


EXPORTER = CTranslate2Exporter()
