"""Making a translator of whatever model the user names."""

import re
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.cli.options import say
from nmt_cli.cli.quiet import import_keras
from nmt_cli.errors import NmtError
from nmt_cli.search.translator import Translator


@dataclass(frozen=True)
class Compute:
    """What a bundle is run with, as the user gave it; see cli.options.runtime_options."""

    threads: int | None
    workers: int | None
    device: str
    provider: str | None


def load_translator(
    folder: Path,
    beam_size: int | None,
    length_penalty: float | None,
    compute: Compute,
    sentences: int,
) -> Translator:
    """A translator over a bundle (ONNX Runtime) or a run (Keras).

    Args:
        folder: of the bundle or run.
        beam_size, length_penalty: of the search; what is not given is the model's own.
        compute: cores and device.
        sentences: how many are to be translated, as far as is known.

    Raises:
        NmtError: the folder is neither, or is damaged; the device is not there.
    """
    if (folder / MANIFEST).exists():
        from nmt_cli.runtime.device import find_device, share_threads
        from nmt_cli.runtime.load import load_bundle

        device = find_device(compute.device, compute.provider)
        threads = share_threads(compute.threads, compute.workers, sentences)
        return load_bundle(folder, beam_size, length_penalty, say, threads, device)
    if (folder / "run.json").exists():
        if compute != Compute(None, None, "cpu", None):
            raise NmtError(
                f"{folder}: is a run, and --threads, --workers, --device and --provider are for "
                "bundles",
                "make one with nmt export --onnx",
            )
        return _run_translator(folder, beam_size, length_penalty)
    raise _neither(folder)


def model_languages(folder: Path) -> tuple[str, str]:
    """The languages that a run or bundle translates from and to, as its recipe named them.

    Raises:
        NmtError: the folder is neither, or is damaged; or no file could end in such names.
    """
    if (folder / MANIFEST).exists():
        from nmt_cli.bundle.reading import read_manifest

        manifest = read_manifest(folder)
        languages = manifest.source_language, manifest.target_language
    elif (folder / "run.json").exists():
        from nmt_cli.training.run import Run

        data = Run.open(folder).recipe.data
        languages = data.source, data.target
    else:
        raise _neither(folder)
    # Bundles come from others: a language must not lead to another folder.
    usable = all(re.fullmatch(r"\w[\w.-]*", language) for language in languages)
    if not usable or languages[0] == languages[1]:
        raise NmtError(
            f"{folder}: its languages, {' and '.join(map(repr, languages))}, name no two files",
            "take a model whose recipe has codes such as pt and en",
        )
    return languages


def _neither(folder: Path) -> NmtError:
    """What a folder is that is no run and no bundle."""
    if (folder / "nmt_ctranslate2.json").exists():
        return NmtError(
            f"{folder}: a CTranslate2 model", "its MODEL_CARD.md says how to translate with it"
        )
    if (folder / "saved_model.pb").exists():
        return NmtError(
            f"{folder}: a TensorFlow SavedModel", "nmt translates runs and ONNX bundles"
        )
    return NmtError(
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
