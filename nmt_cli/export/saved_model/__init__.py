"""``nmt export --saved-model``: strings in, strings out, in one TensorFlow graph."""

from nmt_cli.export.exporter import Exporter

EXPORTER = Exporter(
    name="saved-model",
    help="Write a TensorFlow SavedModel that takes and returns text.",
    module="nmt_cli.export.saved_model.module",
    marker="saved_model.pb",
    next_step="SavedModel written to {folder}",
    suffix="-saved-model",
)
