"""nmt average: the mean of checkpoints, and its errors."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.training.checkpoint import read_checkpoint
from tests.cli.conftest import assert_fails, nmt, snapshot
from tests.cli.test_shell import HEAVY

RUN = Path("runs/toy-pt-en")


@pytest.fixture
def with_two(workdir: Path) -> Path:
    """A run with two checkpoints; the weights of the second are twice those of the first."""
    folder = workdir / RUN / "checkpoints"
    (path,) = folder.iterdir()
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    doubled = {n: 2 * a if n.startswith("weights/") else a for n, a in arrays.items()}
    np.savez(folder / "step-00000021.npz", **doubled)
    return workdir


@pytest.mark.train
def test_the_mean_can_be_exported(with_two: Path) -> None:
    result = nmt("average", cwd=with_two)
    assert result.code == 0, result.err
    output = RUN / "average.npz"
    assert f"{output}: average of step-00000020.npz, step-00000021.npz" in result.message
    one = read_checkpoint(with_two / RUN / "checkpoints" / "step-00000020.npz")[0]
    mean = read_checkpoint(with_two / output)[0]
    assert mean.keys() == {name for name in one if name.startswith("weights/")}
    for name, array in mean.items():
        np.testing.assert_allclose(array, 1.5 * one[name], rtol=1e-6)
    words = ["export", RUN, "--checkpoint", output, "--onnx", "--no-verify", "-o", "exports/mean"]
    assert nmt(*words, cwd=with_two).code == 0


def test_it_needs_no_tensorflow(with_two: Path) -> None:
    script = (
        "import sys; from nmt_cli.cli import cli\n"
        "cli(['average'], standalone_mode=False)\n"
        f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
    )
    result = nmt(cwd=with_two, command=[sys.executable, "-c", script])
    assert result.message.endswith("[]")


def test_refusals(with_two: Path) -> None:
    folder = with_two / RUN / "checkpoints"
    (with_two / "taken.npz").write_bytes(b"precious")
    (with_two / "bad.npz").write_bytes(b"damaged")
    shutil.copytree(with_two / RUN, with_two / "runs" / "other")
    before = snapshot(with_two)
    assert_fails(nmt("average", "-o", "taken.npz", cwd=with_two), "already exists", "--force")
    assert_fails(nmt("average", RUN, "--last", 3, cwd=with_two), "2 checkpoint(s)", "3 needed")
    words = ["average", RUN, "--checkpoint", folder / "step-00000020.npz", "--checkpoint"]
    assert_fails(nmt(*words, "bad.npz", cwd=with_two), "bad.npz: damaged checkpoint")
    assert_fails(nmt(*words, "none.npz", cwd=with_two), "none.npz: no such checkpoint")
    assert nmt(*words, "bad.npz", "--last", 2, cwd=with_two).code == 2
    assert snapshot(with_two) == before
