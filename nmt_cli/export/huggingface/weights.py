"""Names and layouts of weights: ours, and those of Marian and Pegasus in transformers.

A projection [in, out] of ours is theirs transposed. Ours joins the columns of several of theirs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.export.huggingface.safetensors import Tensors

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

    None for the weights over the vocabulary.
    """
    block, _, rest = path.partition("/")
    side, _, number = block.partition("_")
    layer, _, kind = rest.rpartition("/")
    if number == "norm":
        return [f"model.{side}.layer_norm.{_KINDS[kind]}"]
    if layer not in _LAYERS:
        return []
    return [f"model.{side}.layers.{number}.{each}.{_KINDS[kind]}" for each in _LAYERS[layer]]


def join(
    path: str, shape: Sequence[int], tensors: Mapping[str, NDArray[np.float32]], where: str
) -> NDArray[np.float32]:
    """Return a weight of ours, of the given shape, from theirs.

    Raises:
        NmtError: one of them is missing or has another shape; ``where`` names the file.
    """
    names = their_names(path)
    *inputs, columns = shape
    part = (columns // len(names), *inputs)
    return np.concatenate([taken(tensors, each, part, where).T for each in names], axis=-1)


def taken(
    tensors: Mapping[str, NDArray[np.float32]], name: str, shape: Sequence[int], where: str
) -> NDArray[np.float32]:
    """Return a tensor.

    Raises:
        NmtError: it is missing or has another shape.
    """
    if name not in tensors:
        raise NmtError(f"{where}: has no {name}", "config.json may be of another model")
    found = tensors[name]
    if found.shape != tuple(shape):
        raise NmtError(
            f"{where}: {name} has shape {list(found.shape)}, but {list(shape)} follows from "
            "config.json",
            "the files are of different models",
        )
    return found


def split(path: str, weight: NDArray[np.float32], order: NDArray[np.intp]) -> Tensors:
    """Return theirs from a weight of ours; ``order`` permutes the width of the model."""
    names = their_names(path)
    layer = path.rpartition("/")[0]
    if weight.ndim == 2 and not layer.endswith(("output", "outer")):
        weight = weight[order]
    elif layer.endswith(("output", "outer", "_norm")):
        weight = weight[..., order]
    parts = np.split(weight, len(names), axis=-1)
    return {name: np.ascontiguousarray(each.T) for name, each in zip(names, parts, strict=True)}
