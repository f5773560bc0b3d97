"""From a bundle folder to a translator."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.bundle.manifest import TOKENIZER, check_files, read_manifest
from nmt_cli.runtime.step_model import OnnxStepModel
from nmt_cli.search.beam import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import load_tokenizers


def load_bundle(
    folder: Path,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Translator:
    """Make a bundle ready to translate; what is not given is as the bundle's recipe had it.

    Raises:
        NmtError: no bundle, a damaged one, or one of a newer format.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    return Translator(
        OnnxStepModel(folder, manifest),
        load_tokenizers(folder / TOKENIZER),
        SearchOptions.of(manifest.decoding, beam_size, length_penalty),
        manifest.decoding.max_source,
        warn,
    )
