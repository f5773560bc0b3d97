"""Sizes are compared with what a model needs before anything is read or computed."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nmt_cli.bundle import WEIGHTS
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.training.checkpoint import read_checkpoint
from nmt_cli.training.run import average_run
from tests.bundle import harm

if TYPE_CHECKING:
    from nmt_cli.training.run import Run

# Translates with each folder and prints the error, then the largest memory so far.
OPENING = """
import sys, nmt_cli
from nmt_cli.host import peak_memory
for folder in sys.argv[1:]:
    try:
        print(list(nmt_cli.open(folder).translate(["um"])))
    except nmt_cli.NmtError as error:
        print(error)
    print(peak_memory())
"""
MOST_MEMORY = 300 << 20


def enlarge(folder: Path, name: str, size: int, content: bytes = b"") -> None:
    """Append bytes and zeros to a file of a bundle, and put its new size into the manifest.

    Its hash there is of another file: computing it would take minutes.
    """
    with (folder / name).open("ab") as stream:
        stream.write(content)
        stream.truncate(size)  # sparse: it takes no space
    tree = harm.read(folder)
    tree["files"][name] = {"sha256": "0" * 64, "bytes": size}
    harm.write(folder, tree)


def unknown_field(folder: Path) -> None:
    """Append field 100, of 3 GB."""
    enlarge(folder, "decoder.onnx", 3 << 30, bytes.fromhex("a206 8080808008"))


def inflating(path: Path, mebibytes: int) -> None:
    """Write a checkpoint of zeros, compressed to a thousandth."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("weights/a.npy", "w") as stream:
            header = {"descr": "<f4", "fortran_order": False, "shape": (mebibytes << 18,)}
            np.lib.format.write_array_header_1_0(stream, header)
            for _ in range(mebibytes):
                stream.write(bytes(1 << 20))
        with archive.open("progress.npy", "w") as stream:
            np.save(stream, np.frombuffer(b"{}", np.uint8))


def wide(folder: Path) -> None:
    """A recipe whose model would fill the memory."""
    path = folder / "recipe.toml"
    text = path.read_text(encoding="utf-8")
    assert "d_model = 32\n" in text
    path.write_text(text.replace("d_model = 32\n", "d_model = 1_000_000\n"), encoding="utf-8")


HOSTILE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "unknown field": ("bundle", unknown_field, "decoder.onnx has 3,221,225,472 bytes, at most "),
    "tokenizer.json": (
        "bundle",
        lambda folder: enlarge(folder, "tokenizer/tokenizer.json", 1 << 30),
        "files: the rest has 1,073,9",
    ),
    "vocabulary": (
        "bundle",
        lambda folder: enlarge(folder, "tokenizer/joint.model", 1 << 30),
        "files: the rest has 1,073,7",
    ),
    "card": (
        "bundle",
        lambda folder: enlarge(folder, "MODEL_CARD.md", 1 << 36),
        "files: the rest has 68,7",
    ),
    "weights": (
        "bundle",
        lambda folder: enlarge(folder, WEIGHTS, 40 << 30),
        "files: weights.bin has 42,949,672,960 bytes, at most ",
    ),
    "shortlist": (
        "shortlist",
        lambda folder: enlarge(folder, "shortlist.bin", 1 << 30),
        "files: shortlist.bin has 1,073,741,824 bytes, not 60,080",
    ),
    "checkpoint": (
        "run",
        lambda folder: inflating(folder / "best.npz", 512),
        "best.npz: damaged checkpoint (is compressed)",
    ),
    "recipe": ("run", wide, "checkpoint of a different model; it has "),
    "run's vocabulary": (
        "run",
        lambda folder: (folder / "tokenizer" / "joint.model").open("ab").truncate(1 << 30),
        "joint.model: is not a SentencePiece model, or is damaged (larger than",
    ),
    "run.json": (
        "run",
        lambda folder: (folder / "run.json").open("ab").truncate(1 << 30),
        "run.json: damaged (larger than 4,194,304 bytes)",
    ),
    "recipe.toml": (
        "run",
        lambda folder: (folder / "recipe.toml").open("ab").truncate(1 << 30),
        "recipe.toml: not valid TOML in UTF-8: larger than 4,194,304 bytes",
    ),
}


@pytest.fixture(scope="module")
def opened(
    tiny_bundle: Callable[[str], Path], tiny_run: "Run", tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, int]]:
    """The error of each hostile folder and the largest memory until then, of one process."""
    root, whole = tmp_path_factory.mktemp("hostile"), {"run": tiny_run.folder}
    whole |= {"bundle": tiny_bundle("float32"), "shortlist": tiny_bundle("shortlist")}
    folders = [Path(copytree(whole[kind], root / name)) for name, (kind, _, _) in HOSTILE.items()]
    for folder, (_, harm_it, _) in zip(folders, HOSTILE.values(), strict=True):
        harm_it(folder)
    words = [sys.executable, "-c", OPENING, *map(str, folders)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    lines = iter(done.stdout.splitlines())
    return {name: (next(lines), int(next(lines))) for name in HOSTILE}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_size_that_no_model_needs(opened: dict[str, tuple[str, int]], name: str) -> None:
    message, memory = opened[name]
    assert HOSTILE[name][2] in message
    assert memory < MOST_MEMORY


def test_compressed_checkpoints_are_not_read(tiny_run: "Run", tmp_path: Path) -> None:
    """Each of their bytes could stand for a thousand."""
    path = tmp_path / "best.npz"
    inflating(path, 4)
    for only_state in (True, False):
        with pytest.raises(NmtError, match=r"best.npz: damaged checkpoint \(is compressed\)"):
            read_checkpoint(path, only_state)
    with pytest.raises(ModelError):
        average_run(tiny_run, checkpoints=[tiny_run.last, path], output=tmp_path / "mean.npz")


def test_an_export_compares_sizes_before_it_imports_keras(
    tiny_run: "Run", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflating(tmp_path / "other.npz", 4)

    def too_late(_: str) -> None:
        pytest.fail("Keras was imported first")

    monkeypatch.setattr("nmt_cli.export.trained.import_keras", too_late)
    with pytest.raises(ModelError):
        TrainedModel.open(tiny_run, ExportOptions(checkpoint=tmp_path / "other.npz"))
