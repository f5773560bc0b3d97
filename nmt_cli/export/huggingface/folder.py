"""Write a folder that transformers loads, and compare it with the trained model.

Post-norm models become Marian, pre-norm ones Pegasus. Both read MarianTokenizer's files.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from keras import ops

from nmt_cli.bundle.manifest import Verification
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.huggingface import files
from nmt_cli.export.importing.huggingface import import_huggingface
from nmt_cli.export.importing.vocabulary import TAG
from nmt_cli.export.trained import TrainedModel, refuse
from nmt_cli.export.verification import ExportUnderTest, compare_with_model
from nmt_cli.files import write_json
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.text.sentence_piece import SentencePieceTokenizer, tag_piece
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID, TokenizerPair
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write weights, settings and tokenizer files, unverified, if Marian or Pegasus fits."""
    run, tokenizers = trained.run, trained.tokenizers
    config = marian_or_pegasus(run.recipe.model, tokenizers)
    shared = config.embeddings in ("all", "source-target")
    tokens = [_tokens(tokenizer) for tokenizer in (tokenizers.source, tokenizers.target)]
    separate = tokens[0] != tokens[1]
    for name, file in (("source.spm", trained.spec.source), ("target.spm", trained.spec.target)):
        shutil.copyfile(trained.tokenizer_folder / file, folder / name)
    for name, entries in zip(("vocab.json", "target_vocab.json"), tokens, strict=True):
        if name == "vocab.json" or separate:
            write_json(folder / name, {token: number for number, token in enumerate(entries)})
    settings: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": run.recipe.data.source,
        "target_lang": run.recipe.data.target,
        "separate_vocabs": separate,
        "model_max_length": trained.decoding.max_source,
    }
    for key, index in (("pad", PAD_ID), ("unk", UNK_ID), ("eos", END_ID)):
        settings[f"{key}_token"] = tokens[0][index]
    write_json(folder / files.TOKENIZER, settings)
    write_json(folder / files.CONFIG, _config(trained, config, shared))
    decoding = trained.decoding
    generation = {
        "num_beams": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "max_length": decoding.max_length + 1,  # transformers counts START
        "decoder_start_token_id": START_ID,
        "pad_token_id": PAD_ID,
        "eos_token_id": END_ID,
    }
    write_json(folder / files.GENERATION, generation)
    files.write_safetensors(folder / files.WEIGHTS, _weights(trained, config, shared))


def marian_or_pegasus(config: Any, tokenizers: TokenizerPair) -> TransformerConfig:
    """Return a Transformer's config if transformers has such a model."""
    separate, epsilon = config.embeddings in ("target-softmax", "none"), config.epsilon
    refused = {
        "model.decoder = 'ssru'": config.decoder == "ssru",
        "model.final_norm = false": config.norm == "pre" and not config.final_norm,
        f"model.activation = '{config.activation}'": config.activation == "swiglu",
        f"model.positions = '{config.positions}'": config.positions
        not in ("sinusoidal", "concatenated"),
        "model.attention_bias = false": not config.attention_bias,
        f"model.epsilon = {epsilon:g} (theirs is {files.EPSILON:g})": epsilon > files.EPSILON,
        f"model.norm = 'pre' and embeddings = '{config.embeddings}'": config.norm == "pre"
        and separate,
        "tokenizer.kind = 'wordpiece'": not isinstance(tokenizers.source, SentencePieceTokenizer),
    }
    refuse("transformers (as Marian or Pegasus)", config, refused)
    return config


def _tokens(tokenizer: Any) -> list[str]:
    """The entries of vocab.json.

    Tags lose their mark of a space: MarianTokenizer splits off a tag before it splits the text.
    """
    tokens = tokenizer.tokens(range(tokenizer.vocab_size))
    mark = tag_piece("")
    return [
        token.removeprefix(mark) if TAG.fullmatch(token.removeprefix(mark)) else token
        for token in tokens
    ]


def _config(trained: TrainedModel, config: TransformerConfig, shared: bool) -> dict[str, Any]:
    run, decoding, marian = trained.run, trained.decoding, config.norm == "post"
    positions = max(1024, decoding.max_source + 1, decoding.max_length + 1)
    settings: dict[str, Any] = {
        "architectures": ["MarianMTModel" if marian else "PegasusForConditionalGeneration"],
        "model_type": "marian" if marian else "pegasus",
        "is_encoder_decoder": True,
        "vocab_size": run.source_vocab,
        "d_model": config.d_model,
        "max_position_embeddings": positions,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "tie_word_embeddings": config.ties_softmax,
        "pad_token_id": PAD_ID,
        "bos_token_id": START_ID,
        "eos_token_id": END_ID,
        "forced_eos_token_id": None,
        "decoder_start_token_id": START_ID,
        "torch_dtype": "float32",
    }
    if marian:
        settings["decoder_vocab_size"] = run.target_vocab
        settings["share_encoder_decoder_embeddings"] = shared
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        settings[f"{side}_layers"] = layers
        settings[f"{side}_attention_heads"] = config.heads
        settings[f"{side}_ffn_dim"] = config.feed_forward
    for key in ("dropout", "attention_dropout", "activation_dropout"):
        settings[key] = getattr(config, key)
    return settings


def _weights(trained: TrainedModel, config: TransformerConfig, shared: bool) -> files.Tensors:
    """The weights by transformers' names."""
    model = trained.step_model.graph.model
    order = np.arange(config.d_model)
    if config.positions == "sinusoidal":  # sines and cosines in turn: put sines first
        order = np.concatenate([order[0::2], order[1::2]])
    tensors: files.Tensors = {}
    for weight in model.weights:
        value = np.asarray(ops.convert_to_numpy(weight), np.float32)
        if files.their_names(weight.path):
            tensors |= files.split(weight.path, value, order)
            continue
        side, _, kind = weight.path.partition("/")
        if kind == "bias":
            tensors[files.BIAS] = value[None]
        elif side == "logits":
            tensors[files.LOGITS] = np.ascontiguousarray(value[order].T)
        else:
            name = files.ENCODER if side == "source_embedding" else files.DECODER
            tensors[name] = value[:, order]
    tensors.setdefault(files.BIAS, np.zeros((1, trained.run.target_vocab), np.float32))
    if config.embeddings == "all":
        tensors[files.SHARED] = tensors.pop(files.DECODER)
    elif shared:  # some versions of transformers share nothing if the softmax layer is separate
        tensors[files.SHARED] = tensors[files.ENCODER] = tensors[files.DECODER]
    return tensors


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Import a folder again, compare it with its model, and write its card with the report.

    Tests compare what is imported with transformers.
    """
    data = trained.run.recipe.data
    searches = [DecodingOptions(beam_size=beam) for beam in (1, 4)]
    with TemporaryDirectory(prefix="nmt-huggingface-") as work:
        run = Run.open(import_huggingface(folder, Path(work, "run")))
        model = KerasStepModel(trained_model(run, run.best)[0])
        translator = translator_for(model, run.tokenizers(), trained.decoding)
        exported = ExportUnderTest.of(translator, searches=searches)
        report = trained.passed(compare_with_model(trained, exported)[0])
    languages = f"language: [{data.source}, {data.target}]"
    header = f"---\n{languages}\nlibrary_name: transformers\npipeline_tag: translation\n---\n\n"
    form, usage = "for transformers", "huggingface"
    return trained.write_card(folder, options.precision, form, usage, report, header)
