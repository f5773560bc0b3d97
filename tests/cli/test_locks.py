"""Commands that write into a folder in use, in which case nothing changes."""

from pathlib import Path

import pytest

from nmt_cli.files import locked
from tests.cli.conftest import assert_fails, nmt, snapshot

RUN, BUNDLE, PREPARED = "runs/toy-pt-en", "exports/toy-pt-en", "prepared/toy-pt-en"
AVERAGE = ["average", RUN, *(2 * ["--checkpoint", f"{RUN}/best.npz"])]


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (RUN, ["train", "toy.toml"]),
        (RUN, ["train", "toy.toml", "--resume"]),
        (RUN, ["train", "toy.toml", "--force"]),
        (RUN, ["train", "toy.toml", "-o", "link", "--force"]),
        (
            RUN,
            ["average", RUN, "--checkpoint", f"{RUN}/best.npz", "--checkpoint", f"{RUN}/best.npz"],
        ),
        (PREPARED, ["prepare", "toy.toml", "--force"]),
        pytest.param(
            PREPARED, ["train", "toy.toml", "-o", "new", "--set", "seed=5"], marks=pytest.mark.train
        ),
        (BUNDLE, ["export", RUN, "--onnx", "--force"]),
        (f"{BUNDLE}-int8", ["export", RUN, "--onnx", "--quantize", "int8"]),
        pytest.param(
            f"{BUNDLE}-ctranslate2", ["export", RUN, "--ctranslate2"], marks=pytest.mark.train
        ),
        (f"{BUNDLE}-saved-model", ["export", RUN, "--saved-model"]),
    ],
    ids=lambda argument: " ".join(argument) if isinstance(argument, list) else "",
)
def test_a_folder_in_use_stays_as_it_is(workdir: Path, folder: str, words: list[str]) -> None:
    (workdir / "link").symlink_to(workdir / RUN)
    with locked(workdir / folder):
        before = snapshot(workdir)
        result = nmt(*words, cwd=workdir)
        name = "link" if "link" in words else folder
        assert_fails(result, f"nmt: {name}: in use by process ", "wait until it has finished")
        assert snapshot(workdir) == before


@pytest.mark.slow
def test_verifying_a_bundle_in_use(workdir: Path) -> None:
    result = nmt("export", RUN, "--onnx", "--no-verify", "--force", cwd=workdir)
    assert result.code == 0, result.err
    with locked(workdir / BUNDLE):
        before = snapshot(workdir)
        result = nmt("verify", BUNDLE, "--run", RUN, cwd=workdir)
        assert_fails(result, f"nmt: {BUNDLE}: in use by process ")
        assert snapshot(workdir) == before


def test_readers_are_not_refused(workdir: Path) -> None:
    with locked(workdir / RUN), locked(workdir / BUNDLE):
        for words in (
            ["translate", "-m", BUNDLE],
            ["inspect", RUN],
            ["prepare", "toy.toml"],
            [*AVERAGE, "-o", "mean.npz"],
        ):
            result = nmt(*words, cwd=workdir)
            assert result.code == 0, result.err
