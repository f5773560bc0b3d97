"""Making a translator of whatever model the user names."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.cli.options import DecodingOptions, say
from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras
from nmt_cli.search.translator import Translator


def load_translator(folder: Path, decoding: DecodingOptions, sentences: int) -> Translator:
    """A translator over a bundle (ONNX Runtime) or a run (Keras).

    Args:
        folder: of the bundle or run.
        decoding: how to search, and what to run on.
        sentences: how many are to be translated, as far as is known.

    Raises:
        NmtError: the folder is neither, or is damaged; the device is not there.
    """
    if (folder / MANIFEST).exists():
        from nmt_cli.runtime.device import find_device, share_threads
        from nmt_cli.runtime.load import load_bundle

        device = find_device(decoding.device, decoding.provider)
        threads = share_threads(decoding.threads, decoding.workers, sentences)
        return load_bundle(
            folder, decoding.beam_size, decoding.length_penalty, say, threads, device
        )
    if (folder / "run.json").exists():
        if decoding.for_bundles:
            raise NmtError(
                f"{folder}: is a run, and --threads, --workers, --device and --provider are for "
                "bundles",
                "make one with nmt export --onnx",
            )
        return _run_translator(folder, decoding)
    raise _neither(folder)


def load_ensemble(folders: Sequence[Path], decoding: DecodingOptions, sentences: int) -> Translator:
    """A translator over one model, or over several whose probabilities are averaged.

    Args:
        folders: the first one's settings are those of the search.
        decoding, sentences: as of :func:`load_translator`.

    Raises:
        NmtError: as :func:`load_translator`, or the vocabularies differ.
    """
    first, *others = (load_translator(each, decoding, sentences) for each in folders)
    if not others:
        return first
    from nmt_cli.search.ensemble import EnsembleStepModel

    for folder, other in zip(folders[1:], others, strict=True):
        if _vocabularies(other) != _vocabularies(first):
            raise NmtError(
                f"{folders[0]} and {folder} have other vocabularies",
                "an ensemble wants models that share their tokenizers",
            )
    models = [each.model for each in (first, *others)]
    workers = min(each.workers for each in (first, *others))
    return replace(first, model=EnsembleStepModel(models), workers=workers)


def _vocabularies(translator: Translator) -> list[list[str]]:
    sides = (translator.tokenizers.source, translator.tokenizers.target)
    return [each.tokens(range(each.vocab_size)) for each in sides]


def check_asked(folder: Path, max_length: int | None, looks: bool) -> None:
    """Whether a model can do what is asked of it, before it is loaded.

    Args:
        folder: of a run or bundle.
        max_length: tokens that a translation may have; None: as the model has it.
        looks: whether it must tell what it looks at.

    Raises:
        NmtError: it cannot.
    """
    if model_kind(folder) == "bundle":
        from nmt_cli.bundle.reading import read_manifest

        manifest = read_manifest(folder)
        shape = manifest.architecture
        if looks:
            from nmt_cli.runtime.step_model import attention_graph

            attention_graph(folder, manifest)
    else:
        from nmt_cli.training.run import Run

        shape = Run.open(folder).recipe.model
    if max_length and shape.positions == "learned" and max_length > shape.max_positions:
        raise NmtError(
            f"--max-length {max_length}: {folder} has learned positions for "
            f"{shape.max_positions} tokens",
            "give a smaller one",
        )


def model_kind(folder: Path) -> str:
    """Say what a folder is, "bundle" or "run".

    Raises:
        NmtError: it is neither.
    """
    if (folder / MANIFEST).exists():
        return "bundle"
    if (folder / "run.json").exists():
        return "run"
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


def _run_translator(folder: Path, asked: DecodingOptions) -> Translator:
    import_keras()
    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import trained_model

    run = Run.open(folder)
    model, _ = trained_model(run, run.preferred)
    decoding = run.recipe.decoding
    return Translator(
        KerasStepModel(model),
        run.tokenizers(),
        SearchOptions.of(decoding, asked.beam_size, asked.length_penalty),
        decoding.max_source,
        warn=say,
    )
