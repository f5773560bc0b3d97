"""Writing a folder for Transformers.js, which runs models in Node and in browsers.

Its graphs have the inputs and outputs of the ones that Optimum writes for Marian: an encoder, and
a decoder that takes keys and values of the tokens before. Callers only hand on what the encoder
returns; here, it is the keys and values of each decoder layer's cross-attention, [B, S, columns].
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import tensorflow as tf
from numpy.typing import NDArray

from nmt_cli.bundle.contract import Contract
from nmt_cli.bundle.manifest import TensorSpec
from nmt_cli.bundle.report import Check, Verification
from nmt_cli.export.card import write_card
from nmt_cli.export.exporter import FLOAT32, ExportOptions, Trained
from nmt_cli.export.huggingface.config import CONFIG, GENERATION, TOKENIZER
from nmt_cli.export.huggingface.fast_tokenizer import fast_tokenizer, unsupported
from nmt_cli.export.onnx.bundle import GATES
from nmt_cli.export.onnx.graphs import convert
from nmt_cli.export.onnx.quantize import quantize
from nmt_cli.export.onnx.weights import share_transposed
from nmt_cli.export.verification import (
    Exported,
    Gates,
    compare_with_model,
    passed,
)
from nmt_cli.files import write_json
from nmt_cli.model.layers import MASKED
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.transformer import TransformerConfig
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.step_model import Candidates, Floats, Ids, Mask
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID

ENCODER, DECODER = "encoder_model", "decoder_model_merged"
PAST, PRESENT = "past_key_values", "present"
_SUFFIXES = {FLOAT32: "", "int8": "_quantized"}
_USAGE = """\
In Node or, with `dtype: "q8"` for the int8 files, in a browser:

    import {{ pipeline }} from "@huggingface/transformers";

    const translate = await pipeline("translation", "THIS_FOLDER", {{ dtype: "fp32" }});
    console.log(await translate("Uma linha."));

Transformers.js searches greedily, for 256 tokens unless `translate` gets another `max_new_tokens`.
Characters of other scripts than Latin, Greek and Cyrillic that the vocabulary lacks become `<unk>`,
since its tokenizer cannot split them into bytes. Split lines of more than {decoding.max_source}
tokens into sentences first.
"""


def write(trained: Trained, options: ExportOptions, folder: Path) -> None:
    """Write graphs in float32 and int8, settings and the tokenizer, unverified.

    Raises:
        NmtError: Transformers.js cannot represent the model or its tokenizer.
    """
    label, config = trained.run.recipe.label, trained.run.recipe.model
    if not isinstance(config, TransformerConfig) or config.decoder == "ssru":
        raise unsupported(f"{label} is not a Transformer with self-attention")
    if config.pad_ids != (PAD_ID,):
        raise unsupported("the model has several pad symbols")
    if {config.key_size, config.value_size} != {config.d_model / config.heads}:
        raise unsupported("keys and values are not d_model / heads wide")
    _write_settings(trained, config, folder)
    (folder / "onnx").mkdir()
    graph = trained.step_model.graph
    parts = {ENCODER: _encoder(graph), DECODER: _decoder(graph, config)}
    for name, (function, contract) in parts.items():
        proto = convert(function, contract)
        share_transposed(proto)
        for precision, suffix in _SUFFIXES.items():
            found = quantize(proto) if precision == "int8" else proto
            onnx.save(found, str(folder / "onnx" / f"{name}{suffix}.onnx"))


def _write_settings(trained: Trained, config: TransformerConfig, folder: Path) -> None:
    content = fast_tokenizer(trained.run)
    write_json(folder / "tokenizer.json", content)
    names = {number: piece for number, (piece, _) in enumerate(content["model"]["vocab"][:4])}
    special = {"pad_token_id": PAD_ID, "eos_token_id": END_ID, "decoder_start_token_id": START_ID}
    settings = {
        "tokenizer_class": "PreTrainedTokenizer",
        "clean_up_tokenization_spaces": False,
        "model_max_length": trained.decoding.max_source,
        "pad_token": names[PAD_ID],
        "unk_token": names[UNK_ID],
        "eos_token": names[END_ID],
    }
    write_json(folder / TOKENIZER, settings)
    sizes = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")  # of both, keys and values in the decoder's layers
        for name, value in (("layers", config.decoder_layers), ("attention_heads", config.heads))
    }
    settings = {
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": trained.run.target_vocab,
        "d_model": config.d_model,
    }
    write_json(folder / CONFIG, {**settings, **sizes, **special})
    settings = {
        "num_beams": 1,
        "max_length": trained.decoding.max_length + 1,  # START counts
        "bad_words_ids": [[PAD_ID], [START_ID]],
    }
    write_json(folder / GENERATION, {**settings, **special})


def _encoder(graph: StepGraph) -> tuple[Callable[..., Any], Contract]:
    def encode(ids: Any, mask: Any) -> list[Any]:
        _, *sides = graph.encode(tf.where(mask > 0, tf.cast(ids, tf.int32), PAD_ID))
        rows = [tf.transpose(each, [0, 2, 1, 3]) for each in sides]  # [B, S, h, width]
        flat = [tf.reshape(each, [*_sizes(each), each.shape[2] * each.shape[3]]) for each in rows]
        return [tf.concat(flat, axis=2)]

    inputs = [TensorSpec(name, "int64", ("B", "S")) for name in ("input_ids", "attention_mask")]
    return encode, (inputs, [TensorSpec("last_hidden_state", "float", ("B", "S", "C"))])


def _decoder(graph: StepGraph, config: TransformerConfig) -> tuple[Callable[..., Any], Contract]:
    """One step, of one token a sentence.

    Keys and values of the encoder, which Transformers.js expects in the state, stay empty.
    """
    sides = len(graph.encoder_output) - 1
    shape = [config.heads, config.d_model // config.heads]

    def decode(token: Any, hidden: Any, mask: Any, *past: Any) -> list[Any]:
        rows = [tf.reshape(each, [*_sizes(hidden), *shape]) for each in tf.split(hidden, sides, 2)]
        hide = (1.0 - tf.cast(mask, tf.float32)[:, None, None, :]) * MASKED
        source = [hide, *(tf.transpose(each, [0, 2, 1, 3]) for each in rows)]
        own, empty = past[:sides], past[sides:]
        position = tf.shape(own[0])[2:3]
        seen = tf.ones(tf.concat([tf.shape(token), position + 1], 0), tf.bool)
        found = graph.step(tf.cast(token, tf.int32), position, seen, source, list(own))
        _, _, log_probs, grown = found
        return [log_probs, *grown, *map(tf.identity, empty)]

    kept = [
        (f"{layer}.{side}.{part}", ("B", shape[0], columns, shape[1]))
        for side, columns in (("decoder", "P"), ("encoder", "E"))
        for layer in range(config.decoder_layers)
        for part in ("key", "value")
    ]
    inputs = [
        TensorSpec("input_ids", "int64", ("B", 1)),
        TensorSpec("encoder_hidden_states", "float", ("B", "S", sides * config.d_model)),
        TensorSpec("encoder_attention_mask", "int64", ("B", "S")),
        *(TensorSpec(f"{PAST}.{name}", "float", axes) for name, axes in kept),
    ]
    outputs = [
        TensorSpec("logits", "float", ("B", 1, graph.vocab_size)),
        *(TensorSpec(f"{PRESENT}.{name}", "float", axes) for name, axes in kept),
    ]
    return decode, (inputs, outputs)


def _sizes(value: Any) -> list[Any]:
    """B and S of a tensor [B, S, ...]."""
    return tf.unstack(tf.shape(value)[:2])


def verify(trained: Trained, options: ExportOptions, folder: Path) -> Verification:
    """Compare the graphs' greedy translations with the model's, and write the card."""
    checks: list[Check] = []
    for precision in _SUFFIXES:
        found = compare_with_model(trained, _ExportedGraphs(trained, folder, precision))[0]
        checks += [replace(each, name=f"{precision}: {each.name}") for each in found]
    report = passed(trained, checks, onnxruntime.__version__)
    usage = _USAGE.format(decoding=trained.decoding)
    write_card(folder, trained, "float32 and int8", "for Transformers.js", usage, report)
    return report


class _ExportedGraphs(Exported):
    """The graphs of a precision as verification runs them."""

    def __init__(self, trained: Trained, folder: Path, precision: str) -> None:
        self.precision, self.gates = precision, GATES.get(precision, Gates())
        greedy = DecodingOptions(beam_size=1, no_repeat_ngram=0)
        self.searches = [SearchOptions.of(trained.decoding, greedy)]
        model: Any = _Graphs(folder / "onnx", _SUFFIXES[precision])
        self.translator = Translator(
            model, trained.run.tokenizers(), self.searches[0], trained.decoding.max_source
        )


class _Graphs:
    """The graphs as a step model with one beam; its state is what the decoder reads."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(
                str(folder / f"{name}{suffix}.onnx"), providers=["CPUExecutionProvider"]
            )
            for name in (ENCODER, DECODER)
        )
        self._past = [each for each in self._decoder.get_inputs() if each.name.startswith(PAST)]

    def encode(self, source: Ids) -> dict[str, Any]:
        mask = (source != PAD_ID).astype(np.int64)
        given = {"input_ids": source.astype(np.int64), "attention_mask": mask}
        state = {
            each.name: np.zeros((len(source), each.shape[1], 0, each.shape[3]), np.float32)
            for each in self._past
        }
        state["encoder_hidden_states"] = self._encoder.run(None, given)[0]
        return {**state, "encoder_attention_mask": mask}

    def step(self, state: Any, tokens: Ids, ancestry: Mask) -> tuple[Candidates, Any]:
        log_probs, state = self.log_probs(state, tokens, ancestry)
        ids = log_probs.argmax(axis=2).astype(np.int32)[..., None]
        return Candidates(np.take_along_axis(log_probs, ids, axis=2), ids), state

    def log_probs(self, state: Any, tokens: Ids, ancestry: Mask) -> tuple[Floats, Any]:
        names = [each.name for each in self._decoder.get_outputs()]
        found = self._decoder.run(names, {**state, "input_ids": tokens.astype(np.int64)})
        results = dict(zip(names, found, strict=True))
        past = {each.name: results[each.name.replace(PAST, PRESENT)] for each in self._past}
        return results["logits"], {**state, **past}

    def select(self, state: Any, rows: NDArray[np.int64]) -> Any:
        return {name: value[rows] for name, value in state.items()}
