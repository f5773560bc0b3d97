"""Names and layouts of weights: ours, and those of Marian and Pegasus in transformers.

A projection [in, out] of ours is theirs transposed. Ours joins the columns of several of theirs.
A safetensors file has the length of a header, the header in JSON, and the tensors' bytes
(https://github.com/huggingface/safetensors#format).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import ModelError, first_line

Tensors = dict[str, NDArray[np.float32]]
WEIGHTS = "model.safetensors"
_MAX_HEADER = 16 << 20  # bytes; a thousand weights have 100 kB
_DTYPES: dict[str, Any] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}

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


def join(
    path: str, shape: Sequence[int], tensors: Mapping[str, NDArray[np.float32]], where: str
) -> NDArray[np.float32]:
    """Return a weight of ours, of the given shape, from theirs; ``where`` names the file."""
    names = their_names(path)
    *inputs, columns = shape
    part = (columns // len(names), *inputs)
    return np.concatenate([tensor_of(tensors, name, part, where).T for name in names], axis=-1)


def tensor_of(
    tensors: Mapping[str, NDArray[np.float32]], name: str, shape: Sequence[int], where: str
) -> NDArray[np.float32]:
    """Return a tensor, which must have this shape."""
    if name not in tensors:
        raise ModelError(f"{where}: has no {name}", "config.json may be of another model")
    actual = list(tensors[name].shape)
    if actual != list(shape):
        raise ModelError(
            f"{where}: {name} has shape {actual}, but {list(shape)} follows from config.json",
            "the files are of different models",
        )
    return tensors[name]


def split(path: str, weight: NDArray[np.float32], order: NDArray[np.intp]) -> Tensors:
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
        content = np.memmap(path, np.uint8, mode="r")
        length = int.from_bytes(content[:8].tobytes(), "little")
        if length > min(_MAX_HEADER, len(content) - 8):
            raise ValueError("its header is cut off")
        header, data = json.loads(content[8 : 8 + length].tobytes()), content[8 + length :]
        header.pop("__metadata__", None)
        return {name: _tensor(data, entry) for name, entry in header.items()}
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path}: damaged, or not safetensors ({first_line(error)})") from None


def _tensor(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[np.float32]:
    start, end = entry["data_offsets"]
    values = np.frombuffer(data[start:end].tobytes(), _DTYPES[entry["dtype"]])
    if entry["dtype"] == "BF16":  # the upper half of a float32, which numpy does not have
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(entry["shape"]).astype(np.float32)


def write_safetensors(path: Path, tensors: Tensors) -> None:
    """Write tensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}  # transformers requires it
    start = 0
    for name, tensor in tensors.items():
        offsets = [start, start + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        start = offsets[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            stream.write(np.ascontiguousarray(tensor, "<f4").tobytes())
