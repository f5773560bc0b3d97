"""Import a folder of Hugging Face's transformers: a Marian or Pegasus model becomes a run.

MarianTokenizer splits text with source.spm or target.spm and looks the pieces up in vocab.json.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import ModelError, OptionError, ResourceError, first_line
from nmt_cli.export.huggingface import files
from nmt_cli.export.importing.runs import Shapes, Weights, naming_pointers, write_run
from nmt_cli.export.importing.vocabulary import Vocabulary, tokenizer_table, write_tokenizers
from nmt_cli.recipe.model import SUPPRESSED
from nmt_cli.recipe.reading import recipe_from
from nmt_cli.text.sentence_piece import read_spm

TORCH = "pytorch_model.bin"


@naming_pointers()
def import_huggingface(
    folder: Path,
    output: Path | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    dev: str | None = None,
    force: bool = False,
    normalize_punctuation: bool = False,
) -> Path:
    """Make a run of a folder with config.json, vocab.json, source.spm, target.spm and weights.

    Args:
        languages: source and target; None for those that the folder names.
        normalize_punctuation: normalize that of sources, as before the training of OPUS-MT models.

    Raises:
        OptionError: the folder does not name its languages, and none are given.
        ModelError: the folder is not such a model, is damaged, or has what nmt lacks.
    """
    config = files.read_config(folder)
    settings = files.read_settings(folder / files.TOKENIZER, files.TokenizerConfig)
    # Older folders have the settings of the search in config.json.
    path = folder / files.GENERATION
    generation = files.read_settings(
        path if path.exists() else folder / files.CONFIG, files.GenerationConfig
    )
    models = [read_spm(folder / name) for name in ("source.spm", "target.spm")]
    source, target = _vocabularies(folder, config, settings, generation, models)
    tensors, path = _tensors(folder)
    bias = _bias(tensors, config, target, path)
    matrices = _matrices(tensors, config, path)
    # Some versions of transformers share nothing if the softmax layer is separate.
    shared = config.share_encoder_decoder_embeddings and np.array_equal(*matrices[:2])
    penalty = generation.length_penalty
    tree = {
        **_names(folder, languages, settings),
        "tokenizer": tokenizer_table(models[0], source, shared),
        "model": config.model_table(shared, biased=bool(bias.any())),
        "decoding": {
            "beam_size": generation.num_beams or 4,
            # transformers divides by length ** penalty; with ours, 1 is closest to its default.
            "length_penalty": 1.0 if penalty is None else penalty,
            "max_length": max(2, generation.max_length or 512) - 1,  # transformers counts START
            "max_source": 512,
        },
    }
    recipe = recipe_from(tree, where=str(folder / files.CONFIG))
    over_vocabulary = {
        "source_embedding/matrix": matrices[0][source.rows],
        "target_embedding/matrix": matrices[1][target.rows],
        "target_embedding/bias": bias,
        "logits/kernel": matrices[2][target.rows].T,
        "logits/bias": bias,
    }

    punctuation = recipe.data.source if normalize_punctuation else ""
    return write_run(
        folder,
        recipe,
        (len(source.tokens), len(target.tokens)),
        lambda work: write_tokenizers(work, models, (source, target), punctuation),
        lambda shapes: _weights(tensors, over_vocabulary, path, shapes),
        sum(tensor.size for tensor in (*tensors.values(), *over_vocabulary.values())),
        output,
        dev,
        force,
    )


def _vocabularies(
    folder: Path,
    config: files.HuggingFaceConfig,
    settings: files.TokenizerConfig,
    generation: files.GenerationConfig,
    models: list[Any],
) -> tuple[Vocabulary, Vocabulary]:
    if settings.separate_vocabs and config.share_encoder_decoder_embeddings:
        raise ModelError(
            f"{folder / files.TOKENIZER}: separate_vocabs, but config.json shares embeddings"
        )
    if not settings.separate_vocabs and config.target_vocab != config.vocab_size:
        raise ModelError(
            f"{folder / files.TOKENIZER}: no separate_vocabs, but config.json has two sizes"
        )
    if settings.separate_vocabs:
        source = _read_vocabulary(folder / "vocab.json", config.vocab_size, config, models[0])
        path = folder / "target_vocab.json"
        target = _read_vocabulary(path, config.target_vocab, config, models[1])
    else:
        source = _read_vocabulary(folder / "vocab.json", config.vocab_size, config, *models)
        target = source
    bad = {ids[0] for ids in generation.bad_words_ids or [] if len(ids) == 1}
    silent = {number for number, row in enumerate(target.rows) if row in bad} | target.silent
    return source, Vocabulary(target.tokens, target.rows, frozenset(silent))


def _tensors(folder: Path) -> tuple[files.Tensors, Path]:
    path = folder / files.WEIGHTS
    if path.is_file():
        return files.read_safetensors(path), path
    path = folder / TORCH
    if not path.is_file():
        raise ModelError(f"{folder}: has neither {files.WEIGHTS} nor {TORCH}")
    if not find_spec("torch"):
        raise ResourceError(f"{path}: needs torch", "pip install torch")
    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        # Tensors may share values, as tied embeddings do.
        if sum(tensor.numel() for tensor in loaded.values()) > 4 * path.stat().st_size:
            raise ValueError("larger than the file")
        return {name: tensor.float().numpy() for name, tensor in loaded.items()}, path
    except Exception as error:  # torch raises many kinds
        raise ModelError(f"{path}: damaged, or not only weights ({first_line(error)})") from None


def _matrices(
    tensors: files.Tensors, config: files.HuggingFaceConfig, path: Path
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the embeddings of source and target, and the matrix of the softmax layer.

    Tied weights are stored once, under any of their names.
    """

    def matrix(size: int, *names: str) -> NDArray[np.float32]:
        name = next((name for name in names if name in tensors), names[0])
        return files.tensor_of(tensors, name, (size, config.d_model), str(path))

    softmax = [files.LOGITS] if config.tie_word_embeddings else []
    source, target = [files.ENCODER], [files.DECODER]
    if config.share_encoder_decoder_embeddings:
        source = [files.ENCODER, files.SHARED, files.DECODER, *softmax]
        target = [files.DECODER, files.SHARED, files.ENCODER]
    embedding = matrix(config.target_vocab, *target, *softmax)
    logits = embedding if softmax else matrix(config.target_vocab, files.LOGITS)
    return matrix(config.vocab_size, *source), embedding, logits


def _bias(
    tensors: files.Tensors, config: files.HuggingFaceConfig, target: Vocabulary, path: Path
) -> NDArray[np.float32]:
    """Return the bias of the softmax layer; transformers allows it to be missing."""
    bias = np.zeros((1, config.target_vocab), np.float32)
    if files.BIAS in tensors:
        bias = files.tensor_of(tensors, files.BIAS, bias.shape, str(path))
    bias = bias[0, target.rows]
    bias[list(target.silent)] = SUPPRESSED
    return bias


def _names(
    folder: Path, languages: tuple[str | None, str | None], settings: files.TokenizerConfig
) -> dict[str, Any]:
    name = folder.resolve().name
    # OPUS-MT's names, e.g. opus-mt-en-de.
    match = re.fullmatch(r".+-([A-Za-z_]+)-([A-Za-z_]+)", name)
    source = languages[0] or settings.source_lang or (match and match[1])
    target = languages[1] or settings.target_lang or (match and match[2])
    if not (source and target):
        raise OptionError(f"{folder} does not name its languages: give `source` and `target`")
    data = {"source": source, "target": target}
    return {"name": name.removesuffix(f"-{source}-{target}"), "data": data}


def _weights(
    tensors: files.Tensors, over_vocabulary: Weights, path: Path, shapes: Shapes
) -> Weights:
    """Return the run's weights; all of the file's must be used."""
    used = {files.BIAS, *files.POSITIONS, files.SHARED, files.ENCODER, files.DECODER, files.LOGITS}
    weights: Weights = {}
    for name, shape in shapes.items():
        if name in over_vocabulary:
            weights[name] = over_vocabulary[name]
            continue
        weights[name] = files.join(name, shape, tensors, str(path))
        used.update(files.their_names(name))
    if extra := sorted(tensors.keys() - used):
        raise ModelError(
            f"{path}: has {len(extra)} weights that nmt's model lacks, e.g. {extra[0]}"
        )
    return weights


def _read_vocabulary(
    path: Path, size: int, config: files.HuggingFaceConfig, *models: Any
) -> Vocabulary:
    """Read the vocabulary of a side with the models that split its text.

    Pieces of the models that the vocabulary lacks become further ids with the row of UNK, as
    leaving them out would split text differently.
    """
    try:
        ids = msgspec.convert(files.read_json(path), dict[str, int])
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {str(error).replace('`', '')}") from None
    by_id = {number: token for token, number in ids.items()}
    if len(ids) != size or by_id.keys() != set(range(size)):
        reason = f"{path}: has {len(ids):,} entries, but config.json {size:,}, with ids from 0"
        raise ModelError(reason, "the files are of different models")
    pad, end, start = config.pad_token_id, config.eos_token_id, config.decoder_start_token_id
    unknown = ids.get("<unk>", -1)
    if not {pad, end, start, unknown} <= by_id.keys() or len({pad, end, unknown}) < 3:
        raise ModelError(
            f"{path}: padding, unknown, start and end tokens are {pad}, {unknown}, {start} and "
            f"{end} in config.json, which are not ids of different entries"
        )
    return Vocabulary.of(ids, unknown, end, [*models], pad, start)
