"""nmt package and nmt models: models as Python packages."""

import base64
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

import nmt_cli
from nmt_cli.errors import NmtError
from tests.bundle import harm
from tests.cli.conftest import assert_fails, nmt

WHEEL = "nmt_model_pt_en-1.0.0-py3-none-any.whl"


@pytest.fixture
def bundle(tiny_bundle: Callable[[str], Path], tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(tiny_bundle("float32"), tmp_path / "made" / "pt-en"))
    score = {"set": "test", "metric": "BLEU", "value": 41.256, "signature": "s"}
    harm.write(folder, {**harm.read(folder), "metrics": [score]})
    return folder


@pytest.fixture
def site(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages: pt-en."""
    assert nmt("package", bundle, cwd=tmp_path).code == 0
    folder = tmp_path / "site"
    with ZipFile(tmp_path / WHEEL) as wheel:
        wheel.extractall(folder)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_a_wheel_has_the_bundle_and_a_record_of_it(bundle: Path, tmp_path: Path) -> None:
    done = nmt("package", bundle, "--name", "My.Model", "--version", "2.1", "-o", "w", cwd=tmp_path)
    path = "w/nmt_model_my_model-2.1-py3-none-any.whl"
    assert (done.code, done.err) == (0, f"wheel written to {path}; next: pip install {path}\n")
    with ZipFile(tmp_path / path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    info = "nmt_model_my_model-2.1.dist-info"
    for file in bundle.rglob("*"):
        if file.is_file():
            name = f"nmt_model_my_model/{file.relative_to(bundle).as_posix()}"
            assert files[name] == file.read_bytes()
    assert files[f"{info}/entry_points.txt"] == b"[nmt_cli.models]\nMy.Model = nmt_model_my_model\n"
    metadata = files[f"{info}/METADATA"].decode()
    assert "\nName: nmt-model-my-model\nVersion: 2.1\nSummary: My.Model: xx to yy. A " in metadata
    assert metadata.endswith((bundle / "MODEL_CARD.md").read_text().splitlines()[-1] + "\n")
    rows = list(csv.reader(io.StringIO(files.pop(f"{info}/RECORD").decode())))
    assert rows.pop() == [f"{info}/RECORD", "", ""]
    assert sorted(row[0] for row in rows) == sorted(files)
    for name, digest, size in rows:
        expected = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
        assert (digest, size) == (f"sha256={expected.decode()}", str(len(files[name])))


def test_a_wheel_is_the_same_bytes_and_not_replaced(bundle: Path, tmp_path: Path) -> None:
    nmt("package", bundle, cwd=tmp_path)
    first = (tmp_path / WHEEL).read_bytes()
    done = nmt("package", bundle, cwd=tmp_path)
    assert_fails(done, f"{WHEEL}: exists; replace it with ")
    assert nmt("package", bundle, "--force", cwd=tmp_path).code == 0
    assert (tmp_path / WHEEL).read_bytes() == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "pt en"], "'pt en' cannot be a model's name; use letters and digits"),
        (["--name", "../x"], "'../x' cannot be a model's name"),
        (["--version", "1.0rc1"], "'1.0rc1' is not a version; use numbers such as 1.0.0"),
    ],
)
def test_names_and_versions(bundle: Path, tmp_path: Path, words: list[str], message: str) -> None:
    result = nmt("package", bundle, *words, cwd=tmp_path)
    assert result.code == 2
    assert message in result.err


def test_a_damaged_bundle_is_not_packaged(bundle: Path, tmp_path: Path) -> None:
    (bundle / "encoder.onnx").write_bytes(b"")
    assert_fails(nmt("package", bundle, cwd=tmp_path), "encoder.onnx: is not the file that was")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize(
    "name",
    [
        "deep/../../click/__init__.py",
        "/tmp/weights.bin",
        "__init__.py",
        "decoder.py",
        "tokenizer/__init__.py",
        "tokenizer/tokens.so",
        "tokenizer\\tokens.txt",
        "C:weights.bin",
        "tokenizer/C:tokens.txt",
        "tokenizer/a,b.txt",
        "tokenizer/a\x1b[2J.txt",
        "tokenizer/sub/tokens.txt",
        "..",
        "",
    ],
)
def test_names_of_other_files_are_not_packaged(bundle: Path, tmp_path: Path, name: str) -> None:
    """Each file exists inside the bundle, with the right hash."""
    (bundle / "tokenizer" / "sub" / "sub").mkdir(parents=True)
    (bundle / "tokenizer" / "click").mkdir()
    (bundle / "deep").symlink_to("tokenizer/sub/sub")  # deep/../.. is tokenizer
    path = bundle / name
    if not path.is_dir() and path.parent.is_dir():
        path.write_text("print('code of a stranger')\n")
    record = {"sha256": "0" * 64, "bytes": 0}
    harm.write(bundle, {**(tree := harm.read(bundle)), "files": {**tree["files"], name: record}})
    if path.is_file():
        harm.hide(bundle)
    done = nmt("package", bundle, cwd=tmp_path)
    assert_fails(done, "manifest.json: damaged (files: ")
    assert "\x1b" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_link_out_of_the_bundle_is_not_packaged(bundle: Path, tmp_path: Path) -> None:
    secret = shutil.move(bundle / "MODEL_CARD.md", tmp_path / "secret")
    (bundle / "MODEL_CARD.md").symlink_to(secret)
    assert_fails(nmt("package", bundle, cwd=tmp_path), "'MODEL_CARD.md' lies outside the bundle")


def test_installed_models_are_listed(site: Path, tmp_path: Path) -> None:
    size = sum(path.stat().st_size for path in (site / "nmt_model_pt_en").rglob("*.*")) / 1e6
    done = nmt("models", cwd=tmp_path)
    row = f"pt-en  xx to yy  float32  {size:.1f} MB  BLEU 41.3 test"
    assert done.out.decode() == f"{row}\n"
    (record,) = json.loads(nmt("models", "--json", cwd=tmp_path).out)
    assert (record["name"], record["path"]) == ("pt-en", str(site / "nmt_model_pt_en"))
    assert not record["default"]
    assert nmt("models", "--default", "pt-en", cwd=tmp_path).out.decode() == f"{row}  (default)\n"


def test_no_models(tmp_path: Path) -> None:
    done = nmt("models", cwd=tmp_path)
    assert (done.code, done.out) == (0, b"")
    assert done.err.startswith("no models here; nmt quickstart makes one, and pip installs wheels")


@pytest.mark.parametrize("entries", ["garbage", "x = a.b", "x = __main__", "x = \udcff"])
def test_a_damaged_package_does_not_hide_other_models(
    site: Path, tmp_path: Path, entries: str
) -> None:
    (site / "a-1.dist-info").mkdir()
    content = f"[nmt_cli.models]\n{entries}\n".encode("utf-8", "surrogateescape")
    (site / "a-1.dist-info" / "entry_points.txt").write_bytes(content)
    done = nmt("models", cwd=tmp_path)
    assert (done.code, done.out[:7], done.err) == (0, b"pt-en  ", "")


def test_a_damaged_bundle_does_not_hide_other_models(
    bundle: Path, site: Path, tmp_path: Path
) -> None:
    nmt("package", bundle, "--name", "en-pt", cwd=tmp_path)
    with ZipFile(tmp_path / "nmt_model_en_pt-1.0.0-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    (site / "nmt_model_en_pt" / "manifest.json").write_text("{}")
    done = nmt("models", cwd=tmp_path)
    assert (done.code, done.out[:7]) == (0, b"pt-en  ")
    assert done.err.startswith(f"en-pt: left out: {site}/nmt_model_en_pt/manifest.json: damaged (")


def test_an_installed_model_is_used_by_name(bundle: Path, site: Path, tmp_path: Path) -> None:
    wanted = nmt("translate", "-m", bundle, stdin=b"uma\n", cwd=tmp_path).out
    assert nmt("translate", "-m", "pt-en", stdin=b"uma\n", cwd=tmp_path).out == wanted
    with nmt_cli.open("pt-en") as model:
        assert [
            translation.text for translation in model.translate(["uma"])
        ] == wanted.decode().splitlines()
    done = nmt("translate", stdin=b"uma\n", cwd=tmp_path)
    assert (done.out, done.err) == (wanted, "using pt-en, the only model installed\n")


def test_an_installed_model_keeps_its_name(site: Path, tmp_path: Path) -> None:
    (tmp_path / WHEEL).unlink(missing_ok=True)
    done = nmt("package", "pt-en", cwd=tmp_path)
    assert done.err == f"wheel written to {WHEEL}; next: pip install {WHEEL}\n"


def test_a_folder_comes_before_an_installed_model(site: Path, tmp_path: Path) -> None:
    (tmp_path / "pt-en").mkdir()
    assert_fails(nmt("inspect", "pt-en", cwd=tmp_path), "pt-en: neither a run")


def test_several_installed_models_need_a_choice(bundle: Path, site: Path, tmp_path: Path) -> None:
    nmt("package", bundle, "--name", "en-pt", cwd=tmp_path)
    with ZipFile(tmp_path / "nmt_model_en_pt-1.0.0-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    done = nmt("translate", stdin=b"uma\n", cwd=tmp_path)
    assert_fails(done, "several models installed: en-pt, pt-en; name one, or set the default")


def test_unknown_names(site: Path, tmp_path: Path) -> None:
    done = nmt("translate", "-m", "pt-es", stdin=b"uma\n", cwd=tmp_path)
    assert_fails(done, "pt-es: no such run or bundle; did you mean 'pt-en'?")
    done = nmt("translate", "-m", "german", stdin=b"uma\n", cwd=tmp_path)
    assert_fails(done, "german: no such run or bundle; installed models: pt-en")
    with pytest.raises(NmtError, match="pt-es: no such run or bundle"):
        nmt_cli.open("pt-es")


@pytest.mark.slow
def test_pip_installs_and_removes_it(bundle: Path, tmp_path: Path) -> None:
    nmt("package", bundle, cwd=tmp_path)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    target = ["install", "--no-deps", "--no-index", "--target", "site", WHEEL]
    subprocess.run([*pip, *target], check=True, cwd=tmp_path)
    path = os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)])
    done = nmt("models", cwd=tmp_path, process=True, environment={"PYTHONPATH": path})
    assert done.out.startswith(b"pt-en  xx to yy  float32  ")
