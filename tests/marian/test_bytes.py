"""Damaged .npz and .bin files of Marian, byte by byte."""

import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import ModelError
from nmt_cli.export.marian import files
from tests.marian.test_firefox import BIN, items_of


@pytest.fixture(scope="module")
def content(written: Callable[..., Path]) -> bytes:
    """The model of Firefox's folder."""
    return (written("ssru", for_firefox=True) / BIN).read_bytes()


def read(content: bytes, name: str, folder: Path) -> str:
    """Read a model; returns the error, or "" if there is none."""
    (folder / name).write_bytes(content)
    try:
        files.read_model(folder / name)
    except ModelError as error:
        return str(error)
    return ""


def test_every_truncation_is_noticed(
    content: bytes, written: Callable[..., Path], tmp_path: Path
) -> None:
    for length in [*range(0, len(content), 499), *range(len(content) - 9, len(content))]:
        assert "damaged, incomplete" in read(content[:length], "a.bin", tmp_path), length
    whole = (written("ssru") / "model.npz").read_bytes()
    for length in [*range(0, len(whole), 4999), *range(len(whole) - 30, len(whole))]:
        assert "damaged, incomplete" in read(whole[:length], "a.npz", tmp_path), length


NUMBERS = [0, 6, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


@pytest.mark.parametrize("number", NUMBERS)
def test_impossible_numbers_are_noticed(number: int, content: bytes, tmp_path: Path) -> None:
    (count,) = struct.unpack_from("<Q", content, 8)
    # The version, the number of tensors, and the lengths, type and rank of the first and the last.
    places = [0, 8, *range(16, 48, 8), *range(16 + 32 * (count - 1), 16 + 32 * count, 8)]
    for place in places:
        changed = content[:place] + struct.pack("<Q", number) + content[place + 8 :]
        error = read(changed, "a.bin", tmp_path)
        assert "damaged, incomplete" in error or "has no special:model.yml" in error, place


@pytest.mark.parametrize("shape", [(0, 0), (-1, -1), (408, -32), (2**31 - 1,) * 2, (-(2**31), 1)])
def test_impossible_shapes_are_noticed(
    shape: tuple[int, int], content: bytes, tmp_path: Path
) -> None:
    (count,) = struct.unpack_from("<8xQ", content)
    headers = struct.iter_unpack("<QQQQ", content[16 : 16 + 32 * count])
    place = 16 + 32 * count + sum(length for length, *_ in headers)
    changed = content[:place] + struct.pack("<ii", *shape) + content[place + 8 :]
    assert "('Wemb' is too short)" in read(changed, "a.bin", tmp_path)


@pytest.mark.parametrize("factor", [0.0, -0.0, -1.0, np.nan, np.inf, -np.inf])
def test_impossible_factors_are_noticed(factor: float, content: bytes, tmp_path: Path) -> None:
    item = items_of(content)["Wemb"]
    place = item.offset + math.prod(item.shape)
    changed = content[:place] + struct.pack("<f", factor) + content[place + 4 :]
    assert f"('Wemb' has the factor {factor})" in read(changed, "a.bin", tmp_path)


@given(place=st.integers(0, 6000), data=st.binary(min_size=1, max_size=9))
def test_changed_headers_are_read_or_refused(
    place: int, data: bytes, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    read(content[:place] + data + content[place + len(data) :], "a.bin", folder)
