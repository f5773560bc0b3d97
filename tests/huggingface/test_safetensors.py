"""The safetensors format, written by hand here."""

import json
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.huggingface.files import read_safetensors, write_safetensors


def by_hand(path: Path, dtype: str, data: bytes, shape: list[int]) -> None:
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}
    header = json.dumps({"a": entry, "__metadata__": {"format": "pt"}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


@pytest.mark.parametrize(
    ("dtype", "data"),
    [("F32", "0000803f000020c0"), ("F16", "003c00c1"), ("BF16", "803f20c0")],
)
def test_floats_of_any_width_are_read(dtype: str, data: str, tmp_path: Path) -> None:
    by_hand(tmp_path / "x", dtype, bytes.fromhex(data), [1, 2])
    assert read_safetensors(tmp_path / "x")["a"].tolist() == [[1.0, -2.5]]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3).T, "b": np.zeros(0, np.float32)}
    write_safetensors(tmp_path / "x", tensors)
    found = read_safetensors(tmp_path / "x")
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"], tensors["a"])
    assert (8 + int.from_bytes((tmp_path / "x").read_bytes()[:8], "little")) % 8 == 0


@pytest.mark.parametrize(
    ("dtype", "data", "shape"), [("I64", bytes(8), [1]), ("F32", bytes(8), [3]), ("F32", b"", [2])]
)
def test_other_files_are_refused(dtype: str, data: bytes, shape: list[int], tmp_path: Path) -> None:
    by_hand(tmp_path / "x", dtype, data, shape)
    with pytest.raises(NmtError, match=r"x: damaged, or not safetensors \("):
        read_safetensors(tmp_path / "x")
    for content in (b"", b"\xff" * 20, bytes(8), b"\x02" + bytes(7) + b"[]"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(NmtError, match=r"x: damaged, or not safetensors \("):
            read_safetensors(tmp_path / "x")
