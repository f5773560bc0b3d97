"""Write a model for Firefox's engine (Bergamot), in 8 bits, and compare it with the trained model.

Products are of 8-bit integers: matrices have one scale each, and their inputs a constant one, which
is measured on held-out text. A shortlist lists, for each source token, its likeliest translations;
the engine adds the first tokens of the vocabulary.
"""

import struct
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.bundle import DECODER, ENCODER
from nmt_cli.bundle.manifest import Verification
from nmt_cli.data.lexicon import learn_translations
from nmt_cli.errors import ModelError
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.marian import files
from nmt_cli.export.marian.folder import (
    COLUMNS,
    compare_reimported,
    convert,
    marian_ids,
    write_vocabularies,
)
from nmt_cli.export.onnx.bundle import calibration_pairs, training_sample
from nmt_cli.export.onnx.graphs import make_graphs
from nmt_cli.export.onnx.library import stored_weights
from nmt_cli.export.onnx.precision import calibrate
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model
from nmt_cli.files import write_json
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.tokenizer import END_ID

PRECISION = "int8"
# As for CTranslate2: the engine has one scale for a whole matrix, and lost up to 0.5 BLEU.
GATES = Gates(bleu=1.0, chrf=80)
# Tokens in every shortlist, and translations of each source token.
FIRST, BEST = 50, 50
_MAGIC = 0xF11A48D5013417F5


def file_names(trained: TrainedModel) -> dict[str, str]:
    """Return the names of the files as Firefox has them."""
    data = trained.run.recipe.data
    pair = f"{data.source}{data.target}"
    return {
        "model": f"model.{pair}.intgemm.alphas.bin",
        "shortlist": f"lex.{FIRST}.{BEST}.{pair}.s2t.bin",
        "vocabulary": f"vocab.{pair}.spm",
        "source": f"srcvocab.{pair}.spm",
        "target": f"trgvocab.{pair}.spm",
    }


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the model, its vocabularies and its shortlist, unverified, if the engine can run it."""
    config = trained.run.recipe.model
    assert isinstance(config, TransformerConfig)
    # It has one architecture, and reads nothing but sizes from the settings.
    absent = {
        f"model.decoder = '{config.decoder}'": config.decoder != "ssru",
        f"model.norm = '{config.norm}'": config.norm != "post",
        f"model.activation = '{config.activation}'": config.activation != "relu",
        f"model.embeddings = '{config.embeddings}'": not config.ties_softmax,
    }
    tensors, settings = convert(trained, "Firefox's engine", absent)
    if not trained.held_out[0] and not trained.run.quantization:
        reason = f"{trained.run.folder}: has no held-out text, on which activations are measured"
        raise ModelError(reason, "give some with `dev`")
    names = file_names(trained)
    files.write_bin(folder / names["model"], tensors | _alphas(trained), settings)
    write_vocabularies(trained, folder, names["vocabulary"], names["source"], names["target"])
    data = trained.run.recipe.data
    pair = {"sourceLanguage": data.source, "targetLanguage": data.target}
    write_json(folder / "metadata.json", {**pair, "modelConfig": settings})
    if options.shortlist:
        (folder / names["shortlist"]).write_bytes(_shortlist(trained, options.prepared))


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a folder with its model, and write its card with the report.

    The file is imported again; if fxtranslate is installed, Firefox's engine translates, too.
    """
    names = file_names(trained)
    checks = compare_reimported(trained, folder / names["model"], PRECISION, GATES)
    if find_spec("fxtranslate"):
        engine = ExportUnderTest(
            translate=_engine(folder, names),
            searches=[DecodingOptions(beam_size=1, no_repeat_ngram=0)],
            precision=PRECISION,
            gates=GATES,
            edits_text=False,
        )
        checks += compare_with_model(trained, engine)[0]
    report = trained.passed(checks)
    return trained.write_card(folder, PRECISION, "for Firefox's engine", "firefox", report)


def _engine(folder: Path, names: dict[str, str]) -> Any:
    from fxtranslate import Translator

    found = {key: folder / name for key, name in names.items() if (folder / name).exists()}
    contents = {key: path.read_bytes() for key, path in found.items()}
    joint = contents.get("vocabulary", b"")
    engine = Translator(
        contents["model"],
        contents.get("source", joint),
        contents.get("target", joint),
        contents.get("shortlist"),
    )

    def translate(lines: Sequence[str], options: SearchOptions) -> Iterable[Translation]:
        return (Translation(engine.translate(line), 0, []) for line in lines)

    return translate


def _alphas(trained: TrainedModel) -> files.Tensors:
    """Return what the engine multiplies the inputs of each matrix with."""
    config = trained.run.recipe.model
    assert isinstance(config, TransformerConfig)
    given, alphas = trained.run.quantization, files.Tensors()
    sizes = {path: form.size for path, form in given.items()} or _sizes(trained)
    tied = files.TARGET if config.embeddings == "target-softmax" else files.EMBEDDING
    for path, size in sizes.items():
        alpha = np.array([files.MAX_INT8 / size], np.float32)
        # With a shortlist, the engine has no name for the columns of the softmax layer.
        names = files.their_names(path, config.norm) or [tied, "none"]
        alphas |= {f"{name}{files.ALPHA}": alpha for name in names}
    return alphas


def _sizes(trained: TrainedModel) -> dict[str, float]:
    """Measure the size of each matrix's inputs on held-out text, by the name of the weight."""
    graph = trained.step_model.graph
    models = make_graphs(graph)
    steps = {file: models[file] for file in (ENCODER, DECODER)}
    by_file = calibrate(steps, graph.config, calibration_pairs(trained), largest_error=np.inf)
    places = ((path, *place.split(":")) for path, place in stored_weights(steps).tensors.items())
    return {path: by_file[file][name] for path, file, name in places if name in by_file[file]}


def _shortlist(trained: TrainedModel, prepared: Path | None) -> bytes:
    """Return a shortlist in the form of Marian's: a header, offsets, and ids."""
    source, target = training_sample(trained, prepared)
    sizes = trained.run.source_vocab, trained.run.target_vocab
    translations = learn_translations(source, target, sizes[1])
    order, ids = np.argsort(marian_ids(sizes[0]), kind="stable"), marian_ids(sizes[1])
    order = order[marian_ids(sizes[0])[order] >= 0]
    # END, which every shortlist has: no row may be empty at the end of the list.
    end = np.array([END_ID], np.int32)
    found = [ids[translations.get(token, end)[:BEST]] for token in order.tolist()]
    rows = [*found, *[ids[end]] * (-len(found) % COLUMNS)]
    offsets = np.cumsum([0, *map(len, rows)]).astype("<u8")
    body = struct.pack("<QQQQ", FIRST, BEST, len(offsets), offsets[-1])
    body += offsets.tobytes() + np.concatenate(rows).astype("<u4").tobytes()
    return struct.pack("<QQ", _MAGIC, _checksum(body)) + body


def _checksum(body: bytes) -> int:
    """Return boost's hash of the words of 64 bits."""
    seed, mask = 0, (1 << 64) - 1
    for word in np.frombuffer(body, "<u8", len(body) // 8).tolist():
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed
