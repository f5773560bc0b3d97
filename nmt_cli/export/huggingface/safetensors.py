"""The safetensors format: the length of a header, the header in JSON, the tensors' bytes.

https://github.com/huggingface/safetensors#format
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError, first_line

Tensors = dict[str, NDArray[np.float32]]
WEIGHTS = "model.safetensors"

_LARGEST_HEADER = 16 << 20  # bytes; a thousand weights have 100 kB
_DTYPES: dict[str, Any] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}


def read_safetensors(path: Path) -> Tensors:
    """Read all tensors, as float32.

    Raises:
        NmtError: the file cannot be read, is damaged, or has tensors that are not floats.
    """
    try:
        content = np.memmap(path, np.uint8, mode="r")
        length = int.from_bytes(content[:8].tobytes(), "little")
        if length > min(_LARGEST_HEADER, len(content) - 8):
            raise ValueError("its header is cut off")
        header, data = json.loads(content[8 : 8 + length].tobytes()), content[8 + length :]
        header.pop("__metadata__", None)
        return {name: _tensor(data, each) for name, each in header.items()}
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NmtError(f"{path}: damaged, or not safetensors ({first_line(error)})") from None


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
    for name, each in tensors.items():
        offsets = [start, start + each.nbytes]
        header[name] = {"dtype": "F32", "shape": list(each.shape), "data_offsets": offsets}
        start = offsets[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for each in tensors.values():
            stream.write(np.ascontiguousarray(each, "<f4").tobytes())
