"""The files of Marian: weights and settings in .npz and .bin, and the names of weights there.

A .bin file has headers (lengths and type), names, shapes, and then the data of each tensor. In type
intgemm8 these are 8-bit integers and the number that they were multiplied with, whole matrices by
one; matrices are transposed, embeddings are not. Firefox's files also have, for each matrix, what
its input is multiplied with: the "alphas", QuantMultA.
"""

import math
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import yaml
from msgspec import Meta
from numpy.typing import NDArray

from nmt_cli.errors import ModelError, first_line

Tensors = dict[str, NDArray[np.float32]]

SETTINGS = "special:model.yml"
EMBEDDING, SOURCE, TARGET = "Wemb", "encoder_Wemb", "decoder_Wemb"
POSITIONS = "Wpos"
LOGITS, BIAS = "decoder_ff_logit_out_Wt", "decoder_ff_logit_out_b"
UNTRANSPOSED = "decoder_ff_logit_out_W"  # in old files
ALPHA = "_QuantMultA"
EPSILON = 1e-6
MAX_INT8 = 127

# Within a layer: ours, and theirs that it joins. W and b precede the last part of the name.
LAYERS = {
    "attention/query_key_value": ("self_q", "self_k", "self_v"),
    "attention/output": ("self_o",),
    "attention_norm": ("self_Wo_ln",),
    "ssru/forget_input": ("rnn_f", "rnn_"),
    "ssru": ("rnn_f",),
    "ssru_norm": ("rnn_ffn_ln",),
    "cross/query": ("context_q",),
    "cross/key_value": ("context_k", "context_v"),
    "cross/output": ("context_o",),
    "cross_norm": ("context_Wo_ln",),
    "feed_forward/inner": ("ffn_1",),
    "feed_forward/outer": ("ffn_2",),
    "feed_forward_norm": ("ffn_ffn_ln",),
}
# File version, and types of tensors.
_VERSION, _INT8, _INTGEMM8 = 1, 0x101, 0x4101
_TYPES = {0x404: "<f4", 0x402: "<f2", 0x408: "<f8", _INT8: "i1", _INTGEMM8: "i1", 0x4102: "<i2"}
_ALIGNMENT = 256
_ZIP = b"PK\x03\x04"  # the first bytes of an .npz archive
MAX_SETTINGS = 1 << 16  # bytes
_MAX_DEPTH = 9  # of collections in YAML
_Shape = tuple[int, ...]


# What the settings may say, first what they say if they are silent: nmt has nothing else.
ALLOWED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "lemma-dim-emb": (0,),
    "factors-dim-emb": (0,),
    "input-types": ([], ["sequence"], ["sequence", "sequence"]),
    "right-left": (False,),
    "ulr": (False,),
    "transformer-decoder-autoreg": ("self-attention", "rnn"),
    "transformer-ffn-activation": ("swish", "relu", "gelu"),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-attention-mask": ("default",),
    "transformer-alibi-shift": (False,),
    "transformer-no-projection": (False,),
    "transformer-rnn-projection": (False,),
    "transformer-no-bias": (False,),
    "transformer-no-affine": (False,),
    "transformer-pool": (False,),
}
# Operations before and after sub-layers, on embeddings and at the end, without dropout.
_NORMS = {
    ("", "an", "", ""): ("post", True),
    ("n", "a", "", ""): ("pre", False),
    ("n", "a", "", "n"): ("pre", True),
}
# The recipe's model.embeddings, and the settings that say it.
TIED = {
    "all": "tied-embeddings-all",
    "source-target": "tied-embeddings-src",
    "target-softmax": "tied-embeddings",
}


class MarianConfig(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """The settings of a file that decide what its weights mean, with Marian's defaults."""

    dim_emb: Annotated[int, Meta(ge=2)]
    dim_vocabs: Annotated[list[int], Meta(min_length=2, max_length=2)]
    enc_depth: int
    dec_depth: int
    dec_cell: str = "gru"
    transformer_heads: int = 8
    transformer_dim_ffn: int = 2048
    transformer_decoder_dim_ffn: int = 0
    transformer_ffn_activation: str = "swish"
    transformer_decoder_autoreg: str = "self-attention"
    transformer_tied_layers: list[int] = []
    transformer_preprocess: str = ""
    transformer_postprocess: str = "dan"
    transformer_postprocess_emb: str = "d"
    transformer_postprocess_top: str = ""
    transformer_disable_position_embeddings: bool = False
    tied_embeddings: bool = False
    tied_embeddings_src: bool = False
    tied_embeddings_all: bool = False
    output_omit_bias: bool = False

    @classmethod
    def read(cls, text: bytes, where: Path) -> "MarianConfig":
        """Read the settings of a file, which must be of a model that nmt has."""
        try:
            if len(text) > MAX_SETTINGS:
                raise ValueError(f"{len(text):,} bytes")
            settings = parse_yaml(text)
            config = msgspec.convert(settings, cls)
        except ValueError as error:
            reason = first_line(error).replace("`", "")
            raise ModelError(f"{where}: its settings cannot be read ({reason})") from None
        width = config.transformer_dim_ffn
        allowed = ALLOWED | {"transformer-decoder-dim-ffn": (0, width)}
        if config.transformer_decoder_autoreg == "rnn":
            allowed |= {"dec-cell": ("ssru",), "layer-normalization": (False,)}
        layers, depth = len(config.transformer_tied_layers), config.dec_depth
        for key, values in allowed.items():
            value = settings.get(key, values[0])
            if value not in values:
                raise ModelError(f"{where}: {key} is {value!r}, which nmt does not have")
        if config._operations not in _NORMS or layers not in (0, depth):
            key = "transformer-tied-layers" if config._operations in _NORMS else "postprocess"
            reason = f"{key}: nmt has norms before or after all sub-layers, and layers of one kind"
            raise ModelError(f"{where}: {reason}")
        version = re.match(r"v?(\d{1,9})\.(\d{1,9})", str(settings.get("version", "")))
        if version and config.norm == "pre" and (int(version[1]), int(version[2])) < (1, 10):
            reason = "did not normalize keys and values of pre-norm attention, as nmt does"
            raise ModelError(f"{where}: Marian {version[0]}, which wrote it, {reason}")
        return config

    @property
    def embeddings(self) -> str:
        """Which matrices are tied, as in a recipe."""
        if self.tied_embeddings_src and self.tied_embeddings:
            return "all"
        ties = (kind for kind, key in TIED.items() if getattr(self, key.replace("-", "_")))
        return next(ties, "none")

    @property
    def decoder(self) -> str:
        """The recipe's model.decoder."""
        return "ssru" if self.transformer_decoder_autoreg == "rnn" else "attention"

    @property
    def norm(self) -> str:
        """Where the norms of sub-layers are: "pre" or "post"."""
        return _NORMS[self._operations][0]

    @property
    def _operations(self) -> tuple[str, str, str, str]:
        ends = ("preprocess", "postprocess", "postprocess_emb", "postprocess_top")
        found = [getattr(self, f"transformer_{end}").replace("d", "") for end in ends]
        return found[0], found[1], found[2], found[3]

    def model_table(self, positions: int) -> dict[str, Any]:
        """Return the recipe's [model] table; ``positions`` is the number of learned ones."""
        kind = "learned" if positions else "marian"
        if self.transformer_disable_position_embeddings:
            kind = "none"
        return {
            "d_model": self.dim_emb,
            "encoder_layers": self.enc_depth,
            "decoder_layers": self.dec_depth,
            "decoder": self.decoder,
            "heads": self.transformer_heads,
            "feed_forward": self.transformer_dim_ffn,
            "activation": self.transformer_ffn_activation,
            "embeddings": self.embeddings,
            "output_bias": self.embeddings in ("all", "target-softmax"),
            "scale_embeddings": kind == "marian",
            "start": "zero",
            "norm": self.norm,
            "final_norm": _NORMS[self._operations][1],
            "positions": kind,
            "shared_positions": kind == "learned",
            "max_positions": positions or 256,
            "epsilon": EPSILON,
        }


def their_names(path: str, norm: str, tied_layers: list[int] | None = None) -> list[str]:
    """Return the names of what a weight joins, e.g. of "encoder_0/attention/output/kernel".

    Weights over the vocabulary and positions have no names here.
    """
    block, _, rest = path.partition("/")
    side, _, number = block.partition("_")
    layer, _, kind = rest.rpartition("/")
    end = {"scale": "_scale", "offset": "_bias"}.get(kind, "")
    if number == "norm":
        return [f"{side}_top_ln{end}"]
    if layer not in LAYERS:
        return []
    index = int(number) + 1
    if side == "decoder" and tied_layers:
        index = tied_layers[index - 1]
    prefix = f"{side}_l{index}_"
    if end:
        (name,) = LAYERS[layer]
        before = norm == "pre"
        name = "rnn_ln" if before and layer == "ssru_norm" else name
        return [f"{prefix}{name}{end}{'_pre' * before}"]
    letter = "W" if kind == "kernel" else "b"
    parts = (name.rpartition("_") for name in LAYERS[layer])
    return [f"{prefix}{part}_{letter}{last}" for part, _, last in parts]


def tensor_of(tensors: Tensors, name: str, shape: _Shape, where: Path) -> NDArray[np.float32]:
    """Return a tensor, which must have this shape; Marian's vectors have two axes."""
    if name not in tensors:
        raise ModelError(f"{where}: has no {name}, which its settings require")
    tensor = tensors[name]
    if len(shape) == 1 and tensor.shape == (1, *shape):
        tensor = tensor[0]
    if tensor.shape != shape:
        reason = f"{name} has shape {list(tensor.shape)}, but {list(shape)} follows from"
        raise ModelError(f"{where}: {reason} its settings and vocabularies")
    return tensor


def parse_yaml(text: bytes, loader: str = "SafeLoader") -> Any:
    """Parse YAML by anyone.

    Raises:
        ValueError: it is not valid, or has aliases or deep collections, which Marian never writes:
            the first can expand without limit, the second make libyaml crash.
    """
    kind, depth = getattr(yaml, f"C{loader}", getattr(yaml, loader)), 0
    try:
        for event in yaml.parse(text, kind):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH:
                raise ValueError("has aliases, or is nested too deeply")
        return yaml.load(text, kind)
    except Exception as error:  # constructors of values raise many kinds
        raise ValueError(first_line(error)) from None


@np.errstate(over="ignore", invalid="ignore")  # values that are not finite are refused later
def read_model(path: Path) -> tuple[Tensors, MarianConfig]:
    """Read weights, as float32, and settings.

    Raises:
        ModelError: the file is not Marian's, is damaged, or has what nmt lacks.
    """
    if not path.is_file():  # a pipe or a device may have no end
        raise ModelError(f"{path}: no such file")
    try:
        tensors = _read_npz(path) if path.suffix == ".npz" else _read_bin(path.read_bytes())
        text = tensors.pop(SETTINGS).astype(np.int8).tobytes().rstrip(b"\0")
    except KeyError:
        hint = "give a model file of Marian"
        raise ModelError(f"{path}: has no {SETTINGS}, Marian's settings", hint) from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except Exception as error:  # zipfile and numpy raise many kinds for damaged files
        reason = f"damaged, incomplete, or not a model of Marian ({first_line(error)})"
        raise ModelError(f"{path}: {reason}", "copy it again") from None
    return tensors, MarianConfig.read(text, path)


def _read_npz(path: Path) -> Tensors:
    with path.open("rb") as stream:
        if stream.read(len(_ZIP)) != _ZIP:  # numpy would suggest to unpickle it
            raise ValueError("not an .npz archive")
    with np.load(path, allow_pickle=False) as archive:
        size = sum(entry.file_size for entry in archive.zip.infolist())
        if size > 8 * path.stat().st_size:
            raise ValueError(f"unpacks to {size:,} bytes")
        arrays = {name: np.asarray(archive[name]) for name in archive}
    for name, array in arrays.items():
        if array.dtype.kind != "f" and name != SETTINGS:
            raise ValueError(f"{name!r} is of type {array.dtype}")
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def _read_bin(data: bytes) -> Tensors:
    version, count = struct.unpack_from("<QQ", data)
    if version != _VERSION or count > len(data) // 32:
        raise ValueError("not a .bin file of version 1, or its end is missing")
    headers = [struct.unpack_from("<QQQQ", data, 16 + 32 * index) for index in range(count)]
    at, names, shapes = 16 + 32 * count, [], []
    for length, *_ in headers:
        names.append(data[at : at + length].rstrip(b"\0").decode())
        at += length
    for _, _, rank, _ in headers:
        if rank > 4:
            raise ValueError(f"a tensor of {rank} axes")
        shapes.append(struct.unpack_from(f"<{rank}i", data, at))
        at += 4 * rank
    (offset,) = struct.unpack_from("<Q", data, at)
    at += 8 + offset
    tensors: Tensors = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        tensors[name] = _tensor(data[at : at + size], kind, shape, name)
        at += size
    if at > len(data):
        raise ValueError("its end is missing")
    return tensors


def _tensor(data: bytes, kind: int, shape: _Shape, name: str) -> NDArray[np.float32]:
    if kind not in _TYPES:
        raise ValueError(f"{name!r} is of type {kind:#x}, which belongs to one processor")
    dtype = np.dtype(_TYPES[kind])
    count = math.prod(shape)
    if min(shape, default=0) < 1 or len(data) < count * dtype.itemsize:
        raise ValueError(f"{name!r} is too short")
    values = np.frombuffer(data, dtype, count).astype(np.float32)
    if kind < _INTGEMM8:
        return values.reshape(shape)
    (factor,) = struct.unpack_from("<f", data, count * dtype.itemsize)
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"{name!r} has the factor {factor}")
    values /= np.float32(factor)
    return values.reshape(shape) if EMBEDDING in name else values.reshape(shape[::-1]).T


def settings_text(settings: Mapping[str, Any]) -> NDArray[np.int8]:
    """Return the settings as a file stores them."""
    text = yaml.safe_dump(dict(settings)).encode() + b"\0"
    return np.frombuffer(text, np.int8)


def write_npz(path: Path, tensors: Tensors, settings: Mapping[str, Any]) -> None:
    """Write a model file; Marian expects two axes, and arrays in C order."""
    arrays: dict[str, Any] = {name: np.ascontiguousarray(t) for name, t in tensors.items()}
    with path.open("wb") as file:
        np.savez(file, **arrays | {SETTINGS: settings_text(settings)})


def write_bin(path: Path, tensors: Tensors, settings: Mapping[str, Any]) -> None:
    """Write a model file with matrices and embeddings in intgemm8."""
    items = [(name, *_stored(name, tensor), tensor.shape) for name, tensor in tensors.items()]
    text = settings_text(settings)
    items.append((SETTINGS, _INT8, text.tobytes(), text.shape))
    names = [name.encode() + b"\0" for name, *_ in items]
    padded = [data + bytes(-len(data) % _ALIGNMENT) for _, _, data, _ in items]
    header = struct.pack("<QQ", _VERSION, len(items))
    for name, data, (_, kind, _, shape) in zip(names, padded, items, strict=True):
        header += struct.pack("<QQQQ", len(name), kind, len(shape), len(data))
    header += b"".join(names)
    header += b"".join(struct.pack(f"<{len(shape)}i", *shape) for *_, shape in items)
    offset = -(len(header) + 8) % _ALIGNMENT
    path.write_bytes(header + struct.pack("<Q", offset) + bytes(offset) + b"".join(padded))


def _stored(name: str, tensor: NDArray[np.float32]) -> tuple[int, bytes]:
    """Return the type and the data of a weight; matrices become integers."""
    if name.endswith(ALPHA) or not (EMBEDDING in name or "_W" in (name[-3:-1], name[-2:])):
        return 0x404, np.ascontiguousarray(tensor, "<f4").tobytes()
    factor = np.float32(MAX_INT8) / max(np.abs(tensor).max(), np.float32(1e-30))
    integers = np.rint(tensor * factor).astype(np.int8)
    integers = integers if EMBEDDING in name else integers.T
    return _INTGEMM8, integers.tobytes() + np.float32(factor).tobytes()
