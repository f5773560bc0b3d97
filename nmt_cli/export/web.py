"""Write a static page that translates in the browser.

The folder has a single ONNX file, the page's files, onnxruntime-web and settings. Nothing is
downloaded: onnxruntime-web is copied from the folder of npm packages.
"""

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt_cli.bundle import TOKENIZER
from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import ExportOptions, node_package
from nmt_cli.export.importing.pieces import read_spm
from nmt_cli.export.onnx import single_file
from nmt_cli.export.trained import TrainedModel
from nmt_cli.files import write_json
from nmt_cli.text.capitals import CODE, MIN_LETTERS
from nmt_cli.text.code import EDGES, MARK, MAX_PIECES, MIN_CHARACTERS, MIN_COMMON, RUN
from nmt_cli.text.lines import BLANK
from nmt_cli.text.path import SENTENCE_END
from nmt_cli.text.repetition import LOOP, NO_REPEAT, TOKEN_LOOP
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.web import language_name, page_files

SETTINGS = "nmt_web.json"
RUNTIME = "onnxruntime-web"
# Its script and its WebAssembly, by their names in the folder.
_RUNTIME_FILES = {
    "onnxruntime.js": "ort.wasm.bundle.min.mjs",
    "onnxruntime.wasm": "ort-wasm-simd-threaded.wasm",
}

verify = single_file.verify

# Of nmt_cli.text.code, for text.js.
CODE_SETTINGS = {
    "run": RUN.pattern,
    "edges": EDGES.pattern,
    "mark": MARK.pattern,
    "characters": MIN_CHARACTERS,
    "common": MIN_COMMON,
    "most": MAX_PIECES,
}


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the model and the page, unverified.

    Raises:
        NmtError: the page's tokenizer cannot read the model's, or the weights do not fit into one
            file.
    """
    tokenizers = _tokenizer_settings(trained)
    single_file.write(trained, options, folder)
    for name, path in page_files("export").items():
        shutil.copyfile(path, folder / name)
    package = node_package(RUNTIME)
    for name, original in _RUNTIME_FILES.items():
        shutil.copyfile(package / "dist" / original, folder / name)
    recipe = trained.run.recipe
    large = {single_file.MODEL, "onnxruntime.wasm", tokenizers["source"], tokenizers["target"]}
    settings = {
        "source": recipe.data.source,
        "target": recipe.data.target,
        "names": {code: language_name(code) for code in (recipe.data.source, recipe.data.target)},
        "tokenizer": tokenizers,
        "decoding": asdict(trained.decoding),
        "blank": BLANK.pattern,
        "sentence_end": SENTENCE_END,
        # JavaScript's \w knows only ASCII.
        "capitals": {
            "code": CODE.pattern.replace(r"\w", r"[\p{L}\p{N}_]"),
            "letters": MIN_LETTERS,
        },
        "code": CODE_SETTINGS,
        "repetition": {
            "loop": LOOP.pattern,
            "token_loop": TOKEN_LOOP.pattern,
            "no_repeat": NO_REPEAT,
        },
        "sizes": {name: (folder / name).stat().st_size for name in sorted(large)},
    }
    # Browsers keep the files of a version.
    hashed = hashlib.sha256(json.dumps(settings).encode())
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        hashed.update(path.read_bytes())
    settings["version"] = version = hashed.hexdigest()[:16]
    write_json(folder / SETTINGS, settings)
    script = folder / "service-worker.js"
    text = script.read_text(encoding="utf-8").replace("{version}", version)
    script.write_text(text, encoding="utf-8")


def _tokenizer_settings(trained: TrainedModel) -> dict[str, Any]:
    """Which files hold the tokenizers, and which target ids have no text."""
    run, target = trained.run, trained.tokenizers.target
    spec = trained.spec
    if not isinstance(target, SentencePieceTokenizer):
        raise _failure(run.recipe.label, f"a {spec.kind} tokenizer")
    for name in (spec.source, spec.target):
        model = read_spm(run.folder / TOKENIZER / name)
        kinds, own = type(model.trainer_spec), model.trainer_spec
        if own.model_type not in (kinds.UNIGRAM, kinds.BPE):
            raise _failure(run.recipe.label, f"{name} of another model type")
        if own.treat_whitespace_as_suffix or model.denormalizer_spec.precompiled_charsmap:
            raise _failure(run.recipe.label, f"{name} with another treatment of spaces")
    source, silent = f"{TOKENIZER}/{spec.source}", sorted(target.silent_ids)
    return {"source": source, "target": f"{TOKENIZER}/{spec.target}", "silent": silent}


def _failure(label: str, what: str) -> NmtError:
    return NmtError(
        f"--web: {label} has {what}, and the page only reads SentencePiece's unigram and BPE",
        "export it with --onnx --single-file",
    )
