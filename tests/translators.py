"""Translators for bundles without the public API, for tests of the layers below it."""

from pathlib import Path

from nmt_cli.runtime.load import Bundle
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator


def load_bundle(
    folder: Path,
    options: DecodingOptions | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> Translator:
    bundle = Bundle(folder, threads=threads, workers=workers)
    decoding = bundle.manifest.decoding
    model, workers = bundle.step_model(sentences=1)
    return Translator(
        model,
        bundle.tokenizers,
        SearchOptions.of(decoding, options),
        decoding.max_source,
        workers=workers,
    )
