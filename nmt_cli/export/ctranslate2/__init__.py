"""``nmt export --ctranslate2``: a folder that CTranslate2 translates with."""

from nmt_cli.export.exporter import Exporter

EXPORTER = Exporter(
    name="ctranslate2",
    help="Write a model folder for CTranslate2.",
    module="nmt_cli.export.ctranslate2.folder",
    marker="nmt_ctranslate2.json",
    next_step="CTranslate2 model written to {folder}; see its MODEL_CARD.md for how to use it",
    suffix="-ctranslate2",
    # How weights are stored; CTranslate2 converts what a processor cannot compute with.
    quantizations=(
        "int8",
        "int8_float32",
        "int8_float16",
        "int8_bfloat16",
        "int16",
        "float16",
        "bfloat16",
    ),
    package="ctranslate2",
)
