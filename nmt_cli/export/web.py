"""Write a static page that translates in the browser.

The folder has a single ONNX file, the page's files, onnxruntime-web and settings. Nothing is
downloaded: onnxruntime-web is copied from the folder of npm packages.
"""

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from nmt_cli.bundle import TOKENIZER
from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import ExportOptions, node_package
from nmt_cli.export.onnx import single_file
from nmt_cli.export.trained import TrainedModel
from nmt_cli.files import write_json
from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.segments import LOOP, TOKEN_LOOP, ngram_sizes
from nmt_cli.text import kept, numbers, reading, sentences, steps
from nmt_cli.text import path as text_path
from nmt_cli.text.languages import Language, language_of
from nmt_cli.text.lines import BLANK
from nmt_cli.text.sentence_piece import SentencePieceTokenizer, read_spm
from nmt_cli.web import language_name, page_files

SETTINGS = "nmt_web.json"
RUNTIME = "onnxruntime-web"
# Its script and its WebAssembly, by their names in the folder.
_RUNTIME_FILES = {
    "onnxruntime.js": "ort.wasm.bundle.min.mjs",
    "onnxruntime.wasm": "ort-wasm-simd-threaded.wasm",
}
# For Node, and for the page before it is cached.
_NOT_CACHED = {"package.json", "service-worker.js"}

verify = partial(single_file.verify, form="as a web page", usage="web")


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the model and the page, unverified, if the page's tokenizer can read the model's."""
    tokenizers = _tokenizer_settings(trained)
    single_file.write(trained, options, folder)
    for name, path in page_files("export").items():
        shutil.copyfile(path, folder / name)
    package = node_package(RUNTIME)
    for name, original in _RUNTIME_FILES.items():
        shutil.copyfile(package / "dist" / original, folder / name)
    data = trained.run.recipe.data
    large = {single_file.MODEL, "onnxruntime.wasm", tokenizers["source"], tokenizers["target"]}
    settings = {
        "source": data.source,
        "target": data.target,
        "names": {name: language_name(name) for name in (data.source, data.target)},
        "tokenizer": tokenizers,
        "decoding": asdict(trained.decoding),
        "text": text_settings(trained.decoding, (data.source, data.target)),
        "repetition": {
            "loop": LOOP.pattern,
            "token_loop": TOKEN_LOOP.pattern,
            "no_repeat": ngram_sizes(trained.tokenizers.target),
        },
        "sizes": {name: (folder / name).stat().st_size for name in sorted(large)},
    }
    # Browsers keep the files of a version.
    digest = hashlib.sha256(json.dumps(settings).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    settings["version"] = version = digest.hexdigest()[:16]
    write_json(folder / SETTINGS, settings)
    cached = sorted({*page_files("export"), SETTINGS, "onnxruntime.js"} - _NOT_CACHED)
    script = folder / "service-worker.js"
    text = script.read_text(encoding="utf-8").replace("{version}", version)
    script.write_text(text.replace("{files}", json.dumps(cached)), encoding="utf-8")


def text_settings(decoding: DecodingConfig, languages: tuple[str, str]) -> Any:
    """Return the settings of the text path, and the constants of its modules, for text.js."""
    modules = {"kept": kept, "numbers": numbers, "path": text_path, "reading": reading}
    modules |= {"sentences": sentences, "steps": steps}
    source, target = map(language_of, languages)
    settings = {
        **asdict(decoding),
        "blank": BLANK.pattern,
        "constants": {
            name: {key.strip("_"): value for key, value in vars(module).items() if key.isupper()}
            for name, module in modules.items()
        },
        "languages": [asdict(source), asdict(target if decoding.convert_numbers else Language())],
        "numbers": numbers.patterns(source),
    }

    def plain(value: object) -> object:
        if isinstance(value, re.Pattern):
            return value.pattern, value.flags
        return sorted(value) if isinstance(value, frozenset) else None

    return json.loads(json.dumps(settings, default=plain))


def _tokenizer_settings(trained: TrainedModel) -> dict[str, Any]:
    """Return the files of the tokenizers and the target ids that have no text."""
    run, target, spec = trained.run, trained.tokenizers.target, trained.spec
    if not isinstance(target, SentencePieceTokenizer):
        raise _failure(run.recipe.label, f"a {spec.kind} tokenizer")
    for name in (spec.source, spec.target):
        model = read_spm(run.folder / TOKENIZER / name)
        trainer = model.trainer_spec
        if trainer.model_type == trainer.WORD:
            raise _failure(run.recipe.label, f"{name} of another model type")
        if trainer.treat_whitespace_as_suffix or model.denormalizer_spec.precompiled_charsmap:
            raise _failure(run.recipe.label, f"{name} with another treatment of spaces")
    source, special = f"{TOKENIZER}/{spec.source}", sorted(target.special_ids)
    return {"source": source, "target": f"{TOKENIZER}/{spec.target}", "special": special}


def _failure(label: str, tokenizer: str) -> NmtError:
    return NmtError(
        f"`web`: {label} has {tokenizer}, and the page only reads SentencePiece's subwords and "
        "characters",
        "export it with `onnx` and `single_file`",
    )
