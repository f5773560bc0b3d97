"""The files of a folder of transformers: settings in JSON, and weights by their names there.

A projection [in, out] of ours is theirs transposed. Ours joins the columns of several of theirs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes  # noqa: F401 (numpy then knows bfloat16)
import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from nmt_cli.errors import ModelError, first_line
from nmt_cli.files import read_limited

ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
EPSILON = 1e-5  # PyTorch's default, which no key changes

Floats = NDArray[np.float32]
Tensors = dict[str, Floats]
WEIGHTS = "model.safetensors"

SHARED, LOGITS, BIAS = "model.shared.weight", "lm_head.weight", "final_logits_bias"
ENCODER, DECODER = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

# Within a layer: ours, and theirs that it joins.
_LAYERS = {
    "attention/query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention/output": ("self_attn.out_proj",),
    "attention_norm": ("self_attn_layer_norm",),
    "cross/query": ("encoder_attn.q_proj",),
    "cross/key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross/output": ("encoder_attn.out_proj",),
    "cross_norm": ("encoder_attn_layer_norm",),
    "feed_forward/inner": ("fc1",),
    "feed_forward/outer": ("fc2",),
    "feed_forward_norm": ("final_layer_norm",),
}
_KINDS = {"kernel": "weight", "bias": "bias", "scale": "weight", "offset": "bias"}


class HuggingFaceConfig(msgspec.Struct, frozen=True):
    """What config.json has for Marian and Pegasus, with transformers' defaults."""

    vocab_size: int
    d_model: int
    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    pad_token_id: int
    eos_token_id: int
    decoder_start_token_id: int
    model_type: str = ""
    decoder_vocab_size: int | None = None
    activation_function: str = "gelu"
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    max_position_embeddings: int = 1024
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0

    @property
    def target_vocab(self) -> int:
        """The size of the target vocabulary."""
        separate = not self.share_encoder_decoder_embeddings
        return (separate and self.decoder_vocab_size) or self.vocab_size

    def model_table(self, shared: bool, biased: bool) -> dict[str, Any]:
        """Return the recipe's [model] table.

        Args:
            shared: the embeddings of source and target are one.
            biased: the softmax layer has a bias.
        """
        tied = self.tie_word_embeddings
        return {
            "d_model": self.d_model,
            "encoder_layers": self.encoder_layers,
            "decoder_layers": self.decoder_layers,
            "heads": self.encoder_attention_heads,
            "feed_forward": self.encoder_ffn_dim,
            "activation": ACTIVATIONS[self.activation_function],
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "embeddings": {
                (True, True): "all",
                (True, False): "source-target",
                (False, True): "target-softmax",
                (False, False): "none",
            }[shared, tied],
            "output_bias": biased and tied,
            "scale_embeddings": self.scale_embedding,
            "norm": "pre" if self.model_type == "pegasus" else "post",
            "positions": "concatenated",
            "epsilon": EPSILON,
        }


class GenerationConfig(msgspec.Struct, frozen=True):
    """What generation_config.json may have; older folders have it in config.json."""

    num_beams: int | None = None
    max_length: int | None = None
    length_penalty: float | None = None
    bad_words_ids: list[list[int]] | None = None


class TokenizerConfig(msgspec.Struct, frozen=True):
    """What tokenizer_config.json may have."""

    source_lang: str | None = None
    target_lang: str | None = None
    separate_vocabs: bool = False


Settings = TypeVar("Settings", HuggingFaceConfig, GenerationConfig, TokenizerConfig)


def read_config(folder: Path) -> HuggingFaceConfig:
    """Read config.json, which must describe a model that nmt has."""
    path = folder / CONFIG
    if not path.is_file():
        reason = f"{folder}: not a Hugging Face model (no {CONFIG})"
        raise ModelError(reason, "give the folder of a Marian model, e.g. of OPUS-MT")
    kind = read_json(path).get("model_type")
    if kind not in ("marian", "pegasus"):
        raise ModelError(f"{path}: model_type is {kind!r}; nmt imports marian and pegasus models")
    config = read_settings(path, HuggingFaceConfig)
    for key in ("attention_heads", "ffn_dim"):
        sides = getattr(config, f"encoder_{key}"), getattr(config, f"decoder_{key}")
        if sides[0] != sides[1]:
            raise ModelError(
                f"{path}: encoder_{key} = {sides[0]} and decoder_{key} = {sides[1]} differ; nmt "
                "has one number for both"
            )
    if config.activation_function not in ACTIVATIONS:
        raise ModelError(
            f"{path}: activation_function is {config.activation_function!r}; nmt has "
            f"{', '.join(ACTIVATIONS)}"
        )
    return config


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read a file of settings; all defaults if there is none and they have defaults."""
    try:
        return msgspec.convert(read_json(path) if path.exists() else {}, kind)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {str(error).replace('`', '')}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = msgspec.json.decode(read_limited(path, 64 << 20))  # vocab.json: up to 10 MB
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file", "the folder is incomplete") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a JSON object")
    return content


def their_names(path: str) -> list[str]:
    """Return the names of what a weight joins, e.g. of "encoder_0/attention/output/kernel".

    Weights over the vocabulary have no names here.
    """
    block, _, rest = path.partition("/")
    side, _, number = block.partition("_")
    layer, _, kind = rest.rpartition("/")
    if number == "norm":
        return [f"model.{side}.layer_norm.{_KINDS[kind]}"]
    if layer not in _LAYERS:
        return []
    return [f"model.{side}.layers.{number}.{name}.{_KINDS[kind]}" for name in _LAYERS[layer]]


def join(path: str, shape: Sequence[int], tensors: Tensors, where: str) -> Floats:
    """Return a weight of ours, of the given shape, from theirs; ``where`` names the file."""
    names = their_names(path)
    *inputs, columns = shape
    part = (columns // len(names), *inputs)
    return np.concatenate([tensor_of(tensors, name, part, where).T for name in names], axis=-1)


def tensor_of(tensors: Tensors, name: str, shape: Sequence[int], where: str) -> Floats:
    """Return a tensor, which must have this shape."""
    if name not in tensors:
        raise ModelError(f"{where}: has no {name}", "config.json may be of another model")
    actual = list(tensors[name].shape)
    if actual != list(shape):
        reason = f"{where}: {name} has shape {actual}, but {list(shape)} follows from config.json"
        raise ModelError(reason, "the files are of different models")
    return tensors[name]


def split(path: str, weight: Floats, order: NDArray[np.intp]) -> Tensors:
    """Return theirs from a weight of ours; ``order`` permutes the width of the model."""
    names = their_names(path)
    layer = path.rpartition("/")[0]
    if weight.ndim == 2 and not layer.endswith(("output", "outer")):
        weight = weight[order]
    elif layer.endswith(("output", "outer", "_norm")):
        weight = weight[..., order]
    parts = np.split(weight, len(names), axis=-1)
    return {name: np.ascontiguousarray(part.T) for name, part in zip(names, parts, strict=True)}


def read_safetensors(path: Path) -> Tensors:
    """Read all tensors, which must be floats, as float32."""
    try:
        tensors = load_file(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({first_line(error)})") from None
    except (SafetensorError, AttributeError, TypeError) as error:  # numpy has no 8-bit floats
        raise ModelError(f"{path}: damaged, or not safetensors ({first_line(error)})") from None
    for name, tensor in tensors.items():
        if tensor.dtype.kind in "biuc":
            raise ModelError(f"{path}: {name} is {tensor.dtype}, and only floats can be imported")
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def write_safetensors(path: Path, tensors: Tensors) -> None:
    """Write tensors."""
    # The library writes an array's memory, whatever its order; transformers requires the metadata.
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    path.write_bytes(save(arrays, metadata={"format": "pt"}))
