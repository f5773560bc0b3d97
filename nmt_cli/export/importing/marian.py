"""Import a model of Marian or of Firefox: weights, settings and vocabularies become a run.

The decoder starts from zeros, and vocabularies have no padding: the run's START and PAD have rows
of zeros and no probability (model.start = "zero").
"""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import ModelError, OptionError
from nmt_cli.export.importing.marian_files import DecoderConfig, MarianFiles, read_yaml, unpacked
from nmt_cli.export.importing.runs import Shapes, Weights, naming_pointers, write_run
from nmt_cli.export.importing.vocabulary import (
    Vocabulary,
    is_filler,
    tokenizer_table,
    write_tokenizers,
)
from nmt_cli.export.marian import files
from nmt_cli.recipe.config import DataConfig
from nmt_cli.recipe.model import SUPPRESSED
from nmt_cli.recipe.reading import recipe_from
from nmt_cli.text.sentence_piece import read_spm
from nmt_cli.text.tokenizer import UNK_ID
from nmt_cli.training.run import Quantized

_UNKNOWN = sentencepiece_model_pb2.ModelProto.SentencePiece.UNKNOWN
_MAX_VOCABULARY = 16 << 20  # bytes
# The pair in the name of a file of Firefox, e.g. model.enes.intgemm.alphas.bin, or of a folder.
_FILE = re.compile(r"model\.([a-z]{2,3})([a-z]{2})\..+")
_CODE = "([A-Za-z]{2,3}(?:_[A-Z][A-Za-z]+)?)"
_FOLDER = re.compile(rf"(?:^|[-_.]){_CODE}-{_CODE}\Z")


@naming_pointers()
def import_marian(
    path: Path,
    output: Path | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    dev: str | None = None,
    force: bool = False,
    normalize_punctuation: bool = False,
    suppress_unknown: bool = True,
) -> Path:
    """Make a run of a model of Marian: a .npz or .bin file, its folder, or an archive of OPUS-MT.

    Args:
        languages: source and target; None for those that the names of files and folders have.
        normalize_punctuation: see import_huggingface.
        suppress_unknown: give the unknown token no probability, as Marian never writes it.

    Raises:
        OptionError: the languages are neither named nor given.
        ModelError: the files are not such a model, are damaged, or have what nmt lacks.
    """
    with unpacked(path) as place:
        found = MarianFiles.find(place)
        tensors, config = files.read_model(found.model)
        models, (source, target) = _read_vocabularies(found, config)
        over_vocabulary = _over_vocabulary(tensors, config, (source, target), found.model)
        if suppress_unknown:
            over_vocabulary["target_embedding/bias"][UNK_ID] = SUPPRESSED  # logits/bias, too
        name, *codes = _names(path, found.model, languages)
        data: dict[str, Any] = {"source": codes[0], "target": codes[1]}
        positions = 0
        if files.POSITIONS in tensors:  # some versions of Marian ignore the setting
            positions = max(1, tensors[files.POSITIONS].size // config.dim_emb)
            shape = positions, config.dim_emb
            table = files.tensor_of(tensors, files.POSITIONS, shape, found.model)
            over_vocabulary["positions/table"] = table
            data["max_tokens"] = min(DataConfig.max_tokens, positions)
        joint = source == target and config.embeddings in ("all", "source-target")
        tree = {
            "name": name,
            "data": data,
            "tokenizer": tokenizer_table(models[0], source, joint),
            "model": config.model_table(positions),
            "decoding": _decoding(found.decoding, config, positions - 2 if positions else 512),
        }
        recipe = recipe_from(tree, where=str(found.model))
        punctuation = recipe.data.source if normalize_punctuation else ""
        return write_run(
            path,
            recipe,
            (len(source.tokens), len(target.tokens)),
            lambda work: write_tokenizers(work, models, (source, target), punctuation),
            lambda shapes: _weights(tensors, config, over_vocabulary, found.model, shapes),
            sum(tensor.size for tensor in (*tensors.values(), *over_vocabulary.values())),
            output,
            dev,
            force,
            quantization=_quantization(tensors, config, found.model),
        )


def _quantization(
    tensors: files.Tensors, config: files.MarianConfig, path: Path
) -> dict[str, Quantized]:
    """Return the form of all matrices if the file has scales for their inputs, as Firefox's."""
    tied = config.embeddings in ("all", "source-target")
    source, target = (files.EMBEDDING,) * 2 if tied else (files.SOURCE, files.TARGET)
    theirs = {"source_embedding/matrix": [source], "target_embedding/matrix": [target]}
    for side, depth in (("encoder", config.enc_depth), ("decoder", config.dec_depth)):
        for ours in (f"{side}_{n}/{layer}/kernel" for n in range(depth) for layer in files.LAYERS):
            theirs[ours] = files.their_names(ours, config.norm, config.transformer_tied_layers)
    quantized, is_complete = {}, True
    for ours, names in theirs.items():
        # The engine gives all matrices of an input the same scale.
        name = f"{target if names == [source] else names[0]}{files.ALPHA}"
        if not all(name in tensors for name in names):
            continue
        if name not in tensors:
            is_complete = False
            continue
        (alpha,) = files.tensor_of(tensors, name, (1,), path).tolist()
        if not 0 < alpha < math.inf:
            raise ModelError(f"{path}: {name} is {alpha:g}, which is no scale", "copy it again")
        steps = [float(np.abs(tensors[name]).max()) / files.MAX_INT8 for name in names]
        quantized[ours] = Quantized(files.MAX_INT8 / alpha, steps)
    return quantized if is_complete else {}  # the engine needs all of them


def _decoding(given: DecoderConfig, config: files.MarianConfig, longest: int) -> dict[str, Any]:
    """Return the recipe's [decoding] table, given the content of decoder.yml."""
    return {
        "beam_size": given.beam_size or (1 if config.decoder == "ssru" else 4),
        # Marian divides by length ** penalty; with ours, 1 is closest to its 1.
        "length_penalty": given.normalize,
        "length_ratio": 3.0,  # its default, max-length-factor
        "max_length": longest,
        "max_source": longest,
    }


def _read_vocabularies(
    found: MarianFiles, config: files.MarianConfig
) -> tuple[list[Any], tuple[Vocabulary, Vocabulary]]:
    """Return what splits the text of each side, and the vocabularies."""
    paths = found.vocabularies
    unused: list[set[str]] = [set(), set()]
    are_lists = [path.suffix in (".yml", ".yaml", ".json") for path in paths]
    if any(path.suffix == ".fsv" for path in paths):
        raise ModelError(f"{paths[0]}: nmt has no factors")
    if all(are_lists):
        models = [read_spm(paths[0].with_name(name)) for name in ("source.spm", "target.spm")]
        listed = [_listed(path) for path in paths]
    elif any(are_lists):
        raise ModelError(f"{paths[0]}, {paths[1]}: one is .spm, the other is not")
    else:
        models = [read_spm(path) for path in paths]
        listed = [_pieces(model, path) for model, path in zip(models, paths, strict=True)]
        unused = [{piece.piece for piece in model.pieces if is_filler(piece)} for model in models]
    for (ids, *_), size, path in zip(listed, config.dim_vocabs, paths, strict=False):
        if len(ids) != size or set(ids.values()) != set(range(size)):
            reason = f"{path}: has {len(ids):,} entries, but {found.model.name} {size:,}"
            raise ModelError(reason, "the files are of different models, or one is incomplete")
    is_shared = listed[0] == listed[1]
    sides = [models if is_shared and all(are_lists) else [model] for model in models]
    vocabularies = []
    for (ids, unknown, end), texts, extra in zip(listed, sides, unused, strict=True):
        kept = {piece: number for piece, number in ids.items() if piece not in extra}
        vocabularies.append(Vocabulary.of(kept, unknown, end, texts))
    return models, (vocabularies[0], vocabularies[1])


def _listed(path: Path) -> tuple[dict[str, int], int, int]:
    """Return the ids of a list, and those of the unknown and the end token."""
    try:
        # As text: words like "yes" and numbers are tokens.
        content = read_yaml(path, _MAX_VOCABULARY, "BaseLoader")
        ids = {token: int(number) for token, number in content.items()}
        return ids, ids["<unk>"], ids["</s>"]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ModelError(f"{path}: not a vocabulary with <unk> and </s>") from None


def _pieces(model: Any, path: Path) -> tuple[dict[str, int], int, int]:
    """Return the same of a SentencePiece model."""
    ids = {piece.piece: number for number, piece in enumerate(model.pieces)}
    unknown = [number for number, piece in enumerate(model.pieces) if piece.type == _UNKNOWN]
    end = model.trainer_spec.eos_id
    if len(unknown) != 1 or not 0 <= end < len(model.pieces) or end in unknown:
        raise ModelError(f"{path}: has no unknown or no end token, which Marian needs")
    return ids, unknown[0], end


def _over_vocabulary(
    tensors: files.Tensors,
    config: files.MarianConfig,
    sides: tuple[Vocabulary, Vocabulary],
    path: Path,
) -> Weights:
    """Return the weights that have a row for each token."""
    shapes = [(size, config.dim_emb) for size in config.dim_vocabs]
    source, target = sides
    tied = config.embeddings in ("all", "source-target")
    names = [files.EMBEDDING] * 2 if tied else [files.SOURCE, files.TARGET]
    found = [files.tensor_of(tensors, *item, path) for item in zip(names, shapes, strict=True)]
    if tied and len(set(config.dim_vocabs)) > 1:
        raise ModelError(f"{path}: tied embeddings of two sizes, {config.dim_vocabs}")
    logits = found[1]
    if config.embeddings in ("source-target", "none"):
        if files.UNTRANSPOSED in tensors:
            logits = files.tensor_of(tensors, files.UNTRANSPOSED, shapes[1][::-1], path).T
        else:
            logits = files.tensor_of(tensors, files.LOGITS, shapes[1], path)
    bias = np.zeros(config.dim_vocabs[1], np.float32)
    if not config.output_omit_bias:
        bias = files.tensor_of(tensors, files.BIAS, bias.shape, path)
    bias = np.append(bias, 0).astype(np.float32)[target.rows]
    bias[list(target.silent)] = SUPPRESSED
    return {
        "source_embedding/matrix": _rows(found[0], source),
        "target_embedding/matrix": _rows(found[1], target),
        "target_embedding/bias": bias,
        "logits/kernel": _rows(logits, target).T,
        "logits/bias": bias,
    }


def _rows(matrix: NDArray[np.float32], vocabulary: Vocabulary) -> NDArray[np.float32]:
    return np.pad(matrix, ((0, 1), (0, 0)))[vocabulary.rows]


def _weights(
    tensors: files.Tensors,
    config: files.MarianConfig,
    over_vocabulary: Weights,
    path: Path,
    shapes: Shapes,
) -> Weights:
    """Return the run's weights; all of the file's must be used."""
    used = {files.EMBEDDING, files.SOURCE, files.TARGET, files.LOGITS, files.UNTRANSPOSED}
    used |= {files.BIAS, files.POSITIONS}
    weights: Weights = {}
    for name, (*inputs, columns) in shapes.items():
        if name in over_vocabulary:
            weights[name] = over_vocabulary[name]
            continue
        names = files.their_names(name, config.norm, config.transformer_tied_layers)
        shape = (*inputs, columns // len(names))
        parts = [files.tensor_of(tensors, part, shape, path) for part in names]
        weights[name] = np.concatenate(parts, axis=-1)
        used.update(names)
    extra = sorted(name for name in tensors.keys() - used if not name.endswith(files.ALPHA))
    if extra:
        reason = f"has {len(extra)} weights that nmt's model lacks, e.g. {extra[0]!r}"
        raise ModelError(f"{path}: {reason}")
    return weights


def _names(
    path: Path, model: Path, languages: tuple[str | None, str | None]
) -> tuple[str, str, str]:
    """Return the run's name and languages."""
    folder = (path if path.is_dir() else path.parent).resolve().name
    own = path.stem if path.suffix == ".zip" else folder
    match = _FILE.fullmatch(model.name) or _FOLDER.search(own) or _FOLDER.search(folder)
    source, target = languages[0] or (match and match[1]), languages[1] or (match and match[2])
    if not (source and target):
        raise OptionError(f"{path} does not name its languages: give `source` and `target`")
    name = own.removesuffix(f"{source}-{target}").strip("-_.")
    return name or "marian", source, target
