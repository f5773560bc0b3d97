"""Write a model for Marian, and compare it with the trained model by importing it again.

Vocabularies there have neither padding nor a start token: the decoder starts from zeros.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from keras import ops
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.importing.marian import import_marian
from nmt_cli.export.importing.vocabulary import FILLER
from nmt_cli.export.marian import files
from nmt_cli.export.trained import TrainedModel, refuse
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.model import SUPPRESSED, TransformerConfig
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.text.sentence_piece import SentencePieceTokenizer, read_spm
from nmt_cli.text.tokenizer import END_ID, UNK_ID
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

MODEL, DECODER = "model.npz", "decoder.yml"
# Marian's and Firefox's products of 8-bit integers have a multiple of this number of columns.
COLUMNS = 8


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write model.npz, vocabularies and decoder.yml, unverified, if Marian has such a model."""
    tensors, settings = convert(trained, "Marian")
    files.write_npz(folder / MODEL, tensors, settings)
    names = write_vocabularies(trained, folder, "vocab.spm", "source.spm", "target.spm")
    decoding = {
        "relative-paths": True,
        "models": [MODEL],
        "vocabs": names,
        "beam-size": trained.decoding.beam_size,
        "normalize": trained.decoding.length_penalty,
        "word-penalty": 0,
        "cpu-threads": 1,  # 0, the default, is a GPU
        "mini-batch": 32,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
        "max-length-factor": 3,
    }
    (folder / DECODER).write_text(yaml.safe_dump(decoding), encoding="utf-8")


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Import a folder again, compare it with its model, and write its card with the report.

    Tests compare what is exported with Marian.
    """
    report = trained.passed(compare_reimported(trained, folder / MODEL))
    return trained.write_card(folder, options.precision, "for Marian", "marian", report)


def compare_reimported(
    trained: TrainedModel, model: Path, precision: str = "float32", gates: Gates | None = None
) -> list[Check]:
    """Compare the trained model with that of a written file; with gates, approximately."""
    data = trained.run.recipe.data
    searches = [DecodingOptions(beam_size=beam, no_repeat_ngram=0) for beam in (4, 1)]
    with TemporaryDirectory(prefix="nmt-marian-") as work:
        output, languages = Path(work, "run"), (data.source, data.target)
        run = Run.open(import_marian(model, output, languages, suppress_unknown=False))
        step_model = KerasStepModel(trained_model(run, run.best)[0])
        translator = translator_for(step_model, run.tokenizers(), trained.decoding)
        exported = ExportUnderTest.of(
            translator, searches=searches, precision=precision, gates=gates
        )
        return compare_with_model(trained, exported)[0]


def convert(
    trained: TrainedModel, program: str, further: Mapping[str, bool] | None = None
) -> tuple[files.Tensors, dict[str, Any]]:
    """Return the weights and the settings of a model by Marian's names.

    Raises:
        ModelError: the program has no such model: Marian does not, or one of ``further`` applies.
    """
    config = trained.run.recipe.model
    assert isinstance(config, TransformerConfig)  # as the table of exporters says
    tokenizer = trained.tokenizers.source
    refuse(
        program,
        config,
        {
            "model.start = 'embedding' (its decoder starts from zeros)": config.start != "zero",
            f"model.positions = '{config.positions}' (it has its own)": config.positions
            != "marian",
            "model.scale_embeddings = false": not config.scale_embeddings,
            # It normalizes keys and values in training, and not in search.
            "model.norm = 'pre' with attention in the decoder": config.norm == "pre"
            and config.decoder == "attention",
            "model.attention_bias = false": not config.attention_bias,
            f"model.activation = '{config.activation}'": config.activation == "swiglu",
            f"model.epsilon = {config.epsilon:g} (its is {files.EPSILON:g})": config.epsilon
            != files.EPSILON,
            "tokenizer.kind = 'wordpiece'": not isinstance(tokenizer, SentencePieceTokenizer),
            **(further or {}),
        },
    )
    tensors: files.Tensors = {}
    for weight in trained.step_model.graph.model.weights:
        value = np.asarray(ops.convert_to_numpy(weight), np.float32)
        tensors |= _theirs(weight.path, value, config)
    sizes = [len(_order(side.vocab_size)) for side in (tokenizer, trained.tokenizers.target)]
    before = config.norm == "pre"
    settings: dict[str, Any] = {
        **{key: values[0] for key, values in files.ALLOWED.items()},
        **{key: config.embeddings == kind for kind, key in files.TIED.items()},
        "version": "nmt",
        "dim-emb": config.d_model,
        "dim-vocabs": sizes,
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "dec-cell": "ssru" if config.decoder == "ssru" else "gru",
        "transformer-heads": config.heads,
        "transformer-dim-ffn": config.feed_forward,
        "transformer-ffn-activation": config.activation,
        "transformer-decoder-autoreg": "rnn" if config.decoder == "ssru" else "self-attention",
        "transformer-tied-layers": [],
        "transformer-preprocess": "n" if before else "",
        "transformer-postprocess": "da" if before else "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "n" if config.has_final_norms else "",
    }
    return tensors, settings


def _theirs(path: str, value: NDArray[np.float32], config: TransformerConfig) -> files.Tensors:
    """Return one or several tensors of Marian for a weight."""
    if names := files.their_names(path, config.norm):
        rows = value if value.ndim == 2 else value[None]
        return dict(zip(names, np.split(rows, len(names), axis=-1), strict=True))
    side, _, kind = path.partition("/")
    if kind == "bias":
        order = _order(len(value))
        return {files.BIAS: np.where(order < 0, SUPPRESSED, value[order])[None].astype("f4")}
    matrix = value.T if side == "logits" else value
    order = _order(len(matrix))
    matrix = np.where(order[:, None] < 0, np.float32(0), matrix[order])
    if side == "logits":
        return {files.LOGITS: matrix}
    if config.embeddings in ("all", "source-target"):
        return {files.EMBEDDING: matrix}
    return {files.SOURCE if side == "source_embedding" else files.TARGET: matrix}


def _order(size: int) -> NDArray[np.int64]:
    """Return our id of each of Marian's; -1 for one that only fills the vocabulary up."""
    ids = [END_ID, UNK_ID, *range(END_ID + 1, size)]
    return np.array(ids + [-1] * (-len(ids) % COLUMNS))


def marian_ids(size: int) -> NDArray[np.int64]:
    """Return Marian's id of each of ours; -1 for padding and the start token."""
    ids = np.full(size, -1)
    order = _order(size)
    ids[order[order >= 0]] = np.flatnonzero(order >= 0)
    return ids


def write_vocabularies(
    trained: TrainedModel, folder: Path, joint: str, source: str, target: str
) -> list[str]:
    """Write one file for both sides, or two; returns the names of source and target."""
    ours = [trained.tokenizer_folder / name for name in (trained.spec.source, trained.spec.target)]
    contents = [_model(read_spm(path)) for path in ours]
    names = [joint, joint] if contents[0] == contents[1] else [source, target]
    for name, content in zip(names, contents, strict=True):
        (folder / name).write_bytes(content)
    return names


def _model(model: Any) -> bytes:
    """Return a SentencePiece model with Marian's order of ids, and its special tokens only."""
    result = sentencepiece_model_pb2.ModelProto()
    result.CopyFrom(model)
    del result.pieces[:]
    for index, number in enumerate(_order(len(model.pieces)).tolist()):
        if number < 0:
            unused = sentencepiece_model_pb2.ModelProto.SentencePiece.UNUSED
            result.pieces.add(piece=f"{FILLER}{index}>", type=unused)
        else:
            result.pieces.add().CopyFrom(model.pieces[number])
    end, unknown = result.pieces[0], result.pieces[1]
    spec = result.trainer_spec
    spec.eos_id, spec.unk_id, spec.pad_id, spec.bos_id = 0, 1, -1, -1
    end.piece, unknown.piece = spec.eos_piece, spec.unk_piece = "</s>", "<unk>"
    # As SentencePiece writes it, so that an imported vocabulary has the same bytes again.
    end.score = unknown.score = 0.0
    spec.ClearField("pad_piece")
    spec.ClearField("bos_piece")
    spec.vocab_size = len(result.pieces)
    return bytes(result.SerializeToString())
