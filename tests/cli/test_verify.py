"""nmt verify, and warnings about unverified bundles."""

import json
import sys
from pathlib import Path

import pytest

from tests.bundle import harm
from tests.cli.conftest import assert_fails, nmt, snapshot
from tests.cli.test_shell import BUNDLE, HEAVY, RUN


def test_verifying_a_bundle_needs_no_tensorflow(workdir: Path) -> None:
    before = snapshot(workdir)
    script = (
        "import json, sys\n"
        "from nmt_cli.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    result = nmt("verify", BUNDLE, cwd=workdir, command=[sys.executable, "-c", script])
    assert result.code == 0, result.err
    lines = result.out.decode().splitlines()
    assert len(lines) == 5
    assert all(line.startswith("passed  ") for line in lines)
    assert lines[0].endswith(": 0 (at most 0)")
    assert "passed, against the Keras model of toy-pt-en at step 20" in result.err
    loaded = {module.partition(".")[0] for module in json.loads(result.message)}
    assert not loaded & set(HEAVY)
    assert snapshot(workdir) == before


def test_a_damaged_bundle(workdir: Path) -> None:
    path = workdir / BUNDLE / "weights.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    result = nmt("verify", BUNDLE, cwd=workdir)
    assert_fails(result, f"{BUNDLE}/weights.bin: is not the file that was exported")
    assert result.out == b""


def test_no_bundle(workdir: Path) -> None:
    assert_fails(nmt("verify", RUN, cwd=workdir), f"{RUN}: not a bundle", "(no manifest.json)")
    assert_fails(nmt("verify", "absent", cwd=workdir), "absent: no such run or bundle")
    for option in ("--checkpoint", "--dev"):
        result = nmt("verify", BUNDLE, option, "x", cwd=workdir)
        assert (result.code, result.message) == (2, "Error: --checkpoint and --dev need --run")


def test_an_unverified_bundle_warns_at_each_use(workdir: Path) -> None:
    tree = harm.read(workdir / BUNDLE)
    harm.write(
        workdir / BUNDLE,
        {**tree, "verification": {"outcome": "skipped", "checks": [], "version": 1}},
    )
    for words in (["translate"], ["evaluate", "--source", "toy.pt", "--reference", "toy.en"]):
        result = nmt(*words, "-m", BUNDLE, cwd=workdir, stdin=b"o gato\n")
        assert result.code == 0, result.err
        assert result.err.count(f"{BUNDLE}: was exported without verification") == 1
        assert f"nmt verify {BUNDLE} --run RUN" in result.err


@pytest.mark.slow
def test_a_skipped_verification_can_be_done_later(workdir: Path) -> None:
    result = nmt("export", "--onnx", "--quantize", "int8", "--no-verify", cwd=workdir)
    assert result.code == 0, result.err
    folder = "exports/toy-pt-en-int8"
    result = nmt("translate", "-m", folder, cwd=workdir, stdin=b"o gato\n")
    assert f"nmt verify {folder}" in result.err
    result = nmt("verify", folder, "--run", RUN, cwd=workdir)
    assert result.code == 0, result.err
    assert b"passed  divergence of the probabilities" in result.out
    result = nmt("translate", "-m", folder, cwd=workdir, stdin=b"o gato\n")
    # The barely trained model may write no letters, which is another message.
    assert result.code == 0
    assert "nmt verify" not in result.err


def test_onnx_options_do_not_apply_to_a_saved_model(workdir: Path) -> None:
    for words in (["--quantize", "int8"], ["--no-verify"]):
        assert nmt("export", "--saved-model", *words, cwd=workdir).code == 2
