"""Translators for bundles without the public API, for tests of the layers below it."""

import ast
import sysconfig
from dataclasses import replace
from pathlib import Path

from nmt_cli.runtime.load import Bundle, Threads
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator, translator_for


def load_bundle(
    folder: Path,
    options: DecodingOptions | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> Translator:
    bundle = Bundle(folder, threads=threads, workers=workers)
    decoding = bundle.manifest.decoding
    model, workers = bundle.step_model(single=True)
    return translator_for(model, bundle.tokenizers, decoding, options, workers)


def unedited(translator: Translator) -> Translator:
    """Return a translator that neither edits lines nor translates them again."""
    return replace(translator, path=replace(translator.path, edits=False))


def translate(
    bundle: Path, lines: list[str], beams: int, threads: Threads, tokens: int
) -> list[Translation]:
    translator = load_bundle(
        bundle,
        DecodingOptions(beam_size=beams),
        threads.batches * threads.intra_op,
        threads.batches,
    )
    return list(replace(translator, batch_tokens=tokens).translate(lines))


def real_sentences(count: int) -> list[str]:
    """Return first lines of the standard library's docstrings: real text on any machine."""
    sentences: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = (ast.get_docstring(node) or "").split("\n")[0]
                if 8 < len(first) < 80:
                    sentences[first] = None
        if len(sentences) >= count:
            break
    assert len(sentences) >= count
    return list(sentences)[:count]
