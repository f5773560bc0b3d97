"""Weights of transformers in safetensors files."""

import json
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import ModelError
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
    tensor = read_safetensors(tmp_path / "x")["a"]
    assert (tensor.dtype, tensor.tolist()) == (np.float32, [[1.0, -2.5]])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3).T, "b": np.zeros(0, np.float32)}
    write_safetensors(tmp_path / "x", tensors)
    read = read_safetensors(tmp_path / "x")
    assert list(read) == ["a", "b"]
    np.testing.assert_array_equal(read["a"], tensors["a"])


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, bytes(8), b"\x02" + bytes(7) + b"[]"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelError, match=r"x: damaged, or not safetensors \("):
        read_safetensors(tmp_path / "x")


def test_sizes_that_differ_from_the_file_and_integers_are_refused(tmp_path: Path) -> None:
    by_hand(tmp_path / "x", "F32", bytes(8), [3])
    with pytest.raises(ModelError, match=r"x: damaged, or not safetensors \("):
        read_safetensors(tmp_path / "x")
    by_hand(tmp_path / "x", "F8_E4M3", bytes(2), [2])  # numpy has no such numbers
    with pytest.raises(ModelError, match=r"x: damaged, or not safetensors \("):
        read_safetensors(tmp_path / "x")
    by_hand(tmp_path / "x", "I64", bytes(8), [1])
    with pytest.raises(ModelError, match="x: a is int64, and only floats can be imported"):
        read_safetensors(tmp_path / "x")
    with pytest.raises(ModelError, match="none: cannot be read"):
        read_safetensors(tmp_path / "none")
