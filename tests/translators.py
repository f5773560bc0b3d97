"""Translators over bundles, without the public API: for tests of what is below it."""

from pathlib import Path

from nmt_cli.runtime.device import AUTOMATIC, Threads
from nmt_cli.runtime.load import open_bundle
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator

ONE_BATCH = Threads(workers=1, each=AUTOMATIC)


def load_bundle(
    folder: Path, options: DecodingOptions | None = None, threads: Threads = ONE_BATCH
) -> Translator:
    bundle = open_bundle(folder, threads=threads.each)
    decoding = bundle.manifest.decoding
    return Translator(
        bundle.model,
        bundle.tokenizers,
        SearchOptions.of(decoding, options),
        decoding.max_source,
        workers=threads.workers,
    )
