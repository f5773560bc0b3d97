"""Making a translator of whatever model the user names."""

from pathlib import Path

from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.cli.options import say
from nmt_cli.cli.quiet import import_keras
from nmt_cli.errors import NmtError
from nmt_cli.search.translator import Translator


def load_translator(
    folder: Path, beam_size: int | None, length_penalty: float | None
) -> Translator:
    """A translator over a bundle (ONNX Runtime) or a run (Keras).

    Raises:
        NmtError: the folder is neither, or is damaged.
    """
    if (folder / MANIFEST).exists():
        from nmt_cli.runtime.load import load_bundle

        return load_bundle(folder, beam_size, length_penalty, warn=say)
    if (folder / "run.json").exists():
        return _run_translator(folder, beam_size, length_penalty)
    if (folder / "saved_model.pb").exists():
        raise NmtError(f"{folder}: a TensorFlow SavedModel", "nmt translates runs and ONNX bundles")
    raise NmtError(
        f"{folder}: neither a run (no run.json) nor a bundle (no {MANIFEST})",
        "give a folder that nmt train or nmt export --onnx wrote",
    )


def _run_translator(
    folder: Path, beam_size: int | None, length_penalty: float | None
) -> Translator:
    import_keras()
    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.search.beam import SearchOptions
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import trained_model

    run = Run.open(folder)
    model, _ = trained_model(run, run.preferred)
    decoding = run.recipe.decoding
    return Translator(
        KerasStepModel(model),
        run.tokenizers(),
        SearchOptions.of(decoding, beam_size, length_penalty),
        decoding.max_source,
        warn=say,
    )
