"""nmt inspect: correct output for bundles and runs."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from nmt_cli.bundle.card import describe_bundle
from nmt_cli.cli import cli
from nmt_cli.training.checkpoint import read_checkpoint
from nmt_cli.training.run import Run, describe_run
from tests.bundle import harm
from tests.cli.conftest import LISTING_MODULES, assert_fails, nmt
from tests.cli.test_shell import HEAVY

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
SCORES = [{"set": "test", "metric": "BLEU", "value": 41.256, "signature": SIGNATURE}]
CHECKS = [{"name": "tokens that differ", "value": 0.0, "limit": 0, "passed": True}]
REPORT = {
    "outcome": "passed",
    "against": "the Keras model of toy at step 1",
    "checks": CHECKS,
    "nmt_version": "0.1.0",
    "onnxruntime": "1.25",
    "version": 1,
}


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with scores and a verification."""
    root = tmp_path_factory.mktemp("inspected")
    folder = Path(shutil.copytree(tiny_bundle("float32"), root / "exports" / "toy"))
    harm.write(folder, {**harm.read(folder), "metrics": SCORES, "verification": REPORT})
    return folder


def inspected(folder: Path) -> dict[str, list[str]]:
    """Return the lines of nmt inspect by key."""
    result = CliRunner().invoke(cli, ["inspect", str(folder)], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    rows: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        key, value = line.split(maxsplit=1)
        rows.setdefault(key, []).append(value)
    return rows


class TestParameters:
    def test_the_count_matches_a_checkpoint(self, tiny_run: Run) -> None:
        arrays, _ = read_checkpoint(tiny_run.last)
        saved = sum(array.size for name, array in arrays.items() if name.startswith("weights/"))
        assert describe_run(tiny_run.folder)["parameters"] == saved


def test_corpora_and_their_licences_are_recorded(system: Path) -> None:
    folder = system / "exports" / "toy-pt-en"
    (row,) = json.loads(nmt("inspect", folder, "--json", cwd=system).out)["provenance"]["sources"]
    assert row == {"corpus": "toy", "pairs": 190, "source": "CC0: this test"}
    assert "| toy | 190 | CC0: this test |\n" in (folder / "MODEL_CARD.md").read_text()


class TestBundle:
    def test_json_contains_everything(self, bundle: Path, tiny_run: Run) -> None:
        result = nmt("inspect", "--json", cwd=bundle.parents[1])
        assert (result.code, result.err) == (
            0,
            "using exports/toy, the only model under exports/\n",
        )
        description = json.loads(result.out)
        manifest = harm.read(bundle)
        for key in ("format", "name", "vocabulary", "architecture", "decoding", "precision"):
            assert description[key] == manifest[key], key
        assert (description["path"], description["kind"]) == ("exports/toy", "bundle")
        assert (description["source"], description["target"]) == ("xx", "yy")
        assert description["parameters"] == describe_run(tiny_run.folder)["parameters"]
        assert description["scores"] == SCORES
        assert description["verification"] == REPORT
        assert description["provenance"]["corpora"] == ["train"]
        assert "licence" in description["licence"]
        assert description["damaged"] == []
        on_disk = {
            path.relative_to(bundle).as_posix(): path.stat().st_size
            for path in bundle.rglob("*")
            if path.is_file()
        }
        assert description["bytes"] == sum(on_disk.values())
        assert {**description["files"], "manifest.json": on_disk["manifest.json"]} == on_disk
        graphs = description["graphs"]
        assert set(graphs) == {"encoder.onnx", "decoder.onnx", "append.onnx"}
        for name in ("encoder", "decoder", "append"):
            assert graphs[f"{name}.onnx"]["inputs"] == manifest[name]["inputs"]
            assert graphs[f"{name}.onnx"]["outputs"] == manifest[name]["outputs"]

    def test_text_output(self, bundle: Path) -> None:
        rows = inspected(bundle)
        assert rows["languages"] == ["xx to yy"]
        assert rows["model"][0].startswith("A Transformer (1 encoder and 2 decoder layers")
        assert rows["score"] == [f"BLEU 41.26  test  {SIGNATURE}"]
        assert rows["verification"] == [
            "passed, against the Keras model of toy at step 1 (nmt 0.1.0, onnxruntime 1.25)"
        ]
        assert rows["check"] == ["tokens that differ: 0 (at most 0)"]
        assert rows["architecture.d_model"] == ["32"]
        assert rows["decoding.beam_size"] == ["4"]
        assert "encoder.onnx  source  int32  [B, S]" in rows["input"]
        assert "damaged" not in rows

    def test_lines_are_aligned(self, bundle: Path) -> None:
        lines = nmt("inspect", bundle, cwd=bundle).out.decode().splitlines()
        width = max(len(key) for key in inspected(bundle))
        assert {line[width : width + 2] for line in lines} == {"  "}
        assert all(line[width + 2] != " " for line in lines)

    def test_it_loads_no_onnxruntime(self, bundle: Path) -> None:
        result = nmt("inspect", bundle, cwd=bundle, command=LISTING_MODULES)
        assert result.code == 0
        loaded = {each.partition(".")[0] for each in json.loads(result.message)}
        assert not loaded & {*HEAVY, "onnxruntime", "sacrebleu", "matplotlib"}

    def test_missing_and_changed_files_are_reported(self, bundle: Path, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(bundle, tmp_path / "toy"))
        (folder / "append.onnx").unlink()
        with (folder / "weights.bin").open("ab") as stream:
            stream.write(b"\0")
        assert describe_bundle(folder)["damaged"] == ["append.onnx", "weights.bin"]
        rows = inspected(folder)
        assert [each.partition(":")[0] for each in rows["damaged"]] == [
            "append.onnx",
            "weights.bin",
        ]

    def test_arbitrary_provenance(self, bundle: Path, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(bundle, tmp_path / "toy"))
        strange = {"corpora": [], "teacher": 3, "seed": {"a": [1]}, "licence": "CC-BY-4.0"}
        harm.write(folder, {**harm.read(folder), "provenance": strange})
        rows = inspected(folder)
        assert rows["provenance.teacher"] == ["3"]
        assert rows["provenance.licence"] == ["CC-BY-4.0"]

    def test_a_damaged_manifest(self, bundle: Path, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(bundle, tmp_path / "toy"))
        (folder / "manifest.json").write_text("{}", encoding="utf-8")
        assert_fails(nmt("inspect", folder, cwd=tmp_path), "damaged (no format number)")


class TestRun:
    @pytest.fixture
    def run(self, tiny_run: Run, tmp_path: Path) -> Path:
        """A copy with a log, a best checkpoint and a damaged one."""
        folder = Path(shutil.copytree(tiny_run.folder, tmp_path / "runs" / "toy"))
        shutil.copy(tiny_run.last, folder / "best.npz")
        (folder / "checkpoints" / "step-00000009.npz").write_bytes(b"PK")
        (folder / "checkpoints" / ".step-00000009.npz").write_bytes(b"half")
        records = [
            {"step": 1, "seconds": 1.0, "loss": 3.5},
            {"step": 1, "validation_bleu": 4.0, "validation_loss": 3.0},
            {"step": 2, "validation_bleu": 9.0, "validation_loss": float("nan")},
            {"step": 3, "validation_bleu": 9.0, "validation_loss": 2.5},
        ]
        lines = "".join(json.dumps(each) + "\n" for each in records)
        (folder / "log.jsonl").write_text(lines + '{"step": 4, "valid', encoding="utf-8")
        return folder

    def test_json_contains_everything(self, run: Path, tmp_path: Path, tiny_run: Run) -> None:
        result = nmt("inspect", "--json", cwd=tmp_path)
        assert (result.code, result.err) == (0, "using runs/toy, the only model under runs/\n")
        description = json.loads(result.out)
        assert (description["path"], description["kind"], description["name"]) == (
            "runs/toy",
            "run",
            "toy-xx-yy",
        )
        recipe = json.loads(json.dumps(asdict(tiny_run.recipe)))
        assert description["architecture"] == recipe["model"]
        for section in ("decoding", "data", "tokenizer", "training"):
            assert description[section] == recipe[section]
        assert description["steps"] == 1
        assert {each["file"]: each["step"] for each in description["checkpoints"]} == {
            "checkpoints/step-00000001.npz": 1,
            "checkpoints/step-00000009.npz": None,
            "best.npz": 1,
        }
        assert description["damaged"] == ["checkpoints/step-00000009.npz"]
        assert description["preferred"] == "best.npz"
        assert description["scores"] == [
            {"set": "validation", "metric": "BLEU", "value": 9.0, "step": 2},
            {"set": "validation", "metric": "loss", "value": 2.5, "step": 3},
        ]
        assert description["bytes"] == sum(description["files"].values())
        assert description["files"]["best.npz"] == (run / "best.npz").stat().st_size

    def test_text_output(self, run: Path) -> None:
        rows = inspected(run)
        assert rows["steps"] == ["1 of at most 12, in 0.0 minutes"]
        assert "BLEU 9.00  best validation, at step 2" in rows["score"]
        assert [each for each in rows["checkpoint"] if each.endswith("(the one that is used)")]
        assert rows["training.max_steps"] == ["12"]

    def test_a_run_without_checkpoints(self, run: Path) -> None:
        shutil.rmtree(run / "checkpoints")
        (run / "best.npz").unlink()
        (run / "log.jsonl").unlink()
        description = describe_run(run)
        assert (description["steps"], description["preferred"], description["scores"]) == (
            None,
            None,
            [],
        )
        rows = inspected(run)
        assert rows["steps"] == ["none saved yet, of at most 12"]

    def test_it_needs_no_tensorflow(self, run: Path, tmp_path: Path) -> None:
        script = "import sys\nsys.modules['keras'] = sys.modules['tensorflow'] = None\n"
        command = [sys.executable, "-c", f"{script}from nmt_cli.cli import main\nmain()"]
        result = nmt("inspect", run, cwd=tmp_path, command=command)
        assert (result.code, result.err) == (0, "")


def test_neither_a_run_nor_a_bundle(tmp_path: Path) -> None:
    assert_fails(nmt("inspect", cwd=tmp_path), "no model: neither a bundle")
    assert_fails(nmt("inspect", tmp_path, cwd=tmp_path), "neither a run", "nor a bundle")
    (tmp_path / "saved_model.pb").touch()
    assert_fails(nmt("inspect", tmp_path, cwd=tmp_path), "a TensorFlow SavedModel")


def test_a_closed_reader_ends_it_silently(bundle: Path) -> None:
    shell = ["bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", sys.executable]
    script = [*shell, "-um", "nmt_cli"]
    result = nmt("inspect", bundle, cwd=bundle, command=script)
    assert result.out.startswith(b"path ")
    assert (result.code, result.err) in ((0, ""), (1, ""))


class TestRecipes:
    @pytest.mark.train
    def test_the_model_that_a_recipe_would_build(
        self, corpus: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (corpus / "toy.pt").unlink()  # needs no data
        words = ("inspect", "toy.toml", "--set", "model.d_model=24")
        description = json.loads(nmt(*words, "--json", cwd=corpus).out)
        monkeypatch.setattr("nmt_cli.training.model.forecast", lambda recipe: description)
        result = nmt(*words, cwd=corpus)
        assert (result.code, result.err) == (0, "")
        table, _, rest = result.out.decode().partition("\n\n")
        assert "decoder_0" in table
        rows = dict(re.split("  +", line, maxsplit=1) for line in rest.splitlines())
        assert rows["parameters"] == f"{description['parameters']:,}"
        assert rows["vocabulary"].startswith("300 entries")
        assert rows["batch"].startswith("512 tokens")
        assert rows["training"].startswith("20 steps: 0.0 hours")
        assert (
            sum(layer["parameters"] for layer in description["layers"]) == description["parameters"]
        )
        assert description["layers"][-1]["outputs"] == [[None, None, 300]]
        assert description["seconds_per_step"] > 0
        assert description["peak_bytes"] > 10_000_000

    @pytest.mark.slow
    def test_the_parameters_of_a_known_model(
        self, corpus: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two layers with two heads of 512; tests/model/test_transformer.py has the parts."""
        monkeypatch.setattr("nmt_cli.training.model._seconds_per_step", lambda *_: 1.0)
        sizes = {"d_model": 512, "heads": 2, "key_dim": 512, "value_dim": 512, "feed_forward": 512}
        sizes |= {"encoder_layers": 2, "decoder_layers": 2, "norm": "post", "embeddings": "none"}
        words = [f"--set=model.{key}={value}" for key, value in sizes.items()]
        words += ["--set=tokenizer.vocab_size=1000", str(corpus / "toy.toml")]
        done = CliRunner().invoke(cli, ["inspect", *words], catch_exceptions=False)
        assert re.search(r"^parameters +16,252,904$", done.stdout, re.M), done.output

    def test_settings_are_for_recipes(self, bundle: Path) -> None:
        result = nmt("inspect", bundle, "--set", "model.d_model=24", cwd=bundle)
        assert (result.code, result.message) == (2, "Error: --set is for recipes")

    def test_a_bad_recipe(self, corpus: Path) -> None:
        result = nmt("inspect", "toy.toml", "--set", "model.d_model=25", cwd=corpus)
        assert_fails(result, "model.d_model")


def test_control_characters_of_a_bundle_are_not_printed(
    tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle("float32"), tmp_path / "bundle"))
    tree = harm.read(bundle)
    harm.write(bundle, tree | {"provenance": {"corpora": ["\x1b]0;title\x07", "\x9b2J"]}})
    for words in ([], ["--json"]):
        done = nmt("inspect", bundle, *words, cwd=tmp_path)
        assert b"\\u001b]0;title\\u0007" in done.out
        assert not set(done.out.decode()) & set("\x1b\x07\x9b")
    tree["source_language"] = "\x1b[2J"
    harm.write(bundle, tree)
    done = nmt("inspect", bundle, cwd=tmp_path)
    assert done.code == 1
    assert "\x1b" not in done.err
