"""Bad input of every kind: a one-line error, an exit code and no incomplete files."""

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from nmt_cli.errors import NmtError
from nmt_cli.training.checkpoint import load_checkpoint
from tests.cli.conftest import NMT, assert_fails, nmt, snapshot

RUN, BUNDLE, PREPARED = "runs/toy-pt-en", "exports/toy-pt-en", "prepared/toy-pt-en"


def edit_json(path: Path, **values: Any) -> None:
    tree = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**tree, **values}), encoding="utf-8")


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def limit_file_size(size: int) -> Any:
    """Return a ``limit`` for nmt(): no file may become larger, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class TestText:
    def test_missing_training_text(self, corpus: Path) -> None:
        (corpus / "toy.en").unlink()
        before = snapshot(corpus)
        assert_fails(nmt("prepare", "toy.toml", cwd=corpus), "toy.en: no such file")
        assert snapshot(corpus) == before

    def test_different_line_counts_are_reported(self, corpus: Path) -> None:
        with (corpus / "toy.en").open("a", encoding="utf-8") as stream:
            stream.write("one more\n")
        before = snapshot(corpus)
        result = nmt("prepare", "toy.toml", cwd=corpus)
        assert_fails(result, "toy.pt has 200 lines", "toy.en has 201", "aligned")
        assert snapshot(corpus) == before

    def test_invalid_utf8_in_training_text_names_file_and_line(self, corpus: Path) -> None:
        lines = (corpus / "toy.pt").read_bytes().split(b"\n")
        lines[41] = "coração".encode("latin1")
        (corpus / "toy.pt").write_bytes(b"\n".join(lines))
        before = snapshot(corpus)
        result = nmt("prepare", "toy.toml", cwd=corpus)
        assert_fails(result, "toy.pt, line 42: invalid UTF-8 at byte 5", "iconv")
        assert snapshot(corpus) == before

    def test_missing_input_file(self, workdir: Path) -> None:
        assert_fails(nmt("translate", "absent.txt", cwd=workdir), "absent.txt: no such file")

    @pytest.mark.parametrize("words", [["bad.txt"], []])
    def test_invalid_utf8_to_translate(self, workdir: Path, words: list[str]) -> None:
        (workdir / "bad.txt").write_bytes(b"o gato\n\xff\n")
        before = snapshot(workdir)
        with (workdir / "bad.txt").open("rb") as stream:
            result = nmt("translate", *words, "-o", "out.txt", cwd=workdir, stdin=stream.read())
        assert_fails(result, f"{words[0] if words else 'standard input'}, line 2: invalid UTF-8")
        # Finished lines are kept; --resume continues once the line is fixed.
        assert snapshot(workdir).keys() - before.keys() == {"out.txt.part", "out.txt.part.json"}
        (workdir / "bad.txt").write_bytes(b"o gato\no gato\n")
        text = (workdir / "bad.txt").read_bytes()
        resumed = nmt("translate", *words, "-o", "out.txt", "--resume", cwd=workdir, stdin=text)
        assert resumed.code == 0, resumed.err
        assert "continuing after line 1" in resumed.err
        first, second = (workdir / "out.txt").read_bytes().removesuffix(b"\n").split(b"\n")
        assert first == second

    def test_evaluate_names_the_counts_of_both_files(self, workdir: Path) -> None:
        (workdir / "short.txt").write_text("the cat\n", encoding="utf-8")
        for words in (["--translation", "toy.en"], ["--source", "toy.pt"]):
            result = nmt("evaluate", *words, "--reference", "short.txt", cwd=workdir)
            assert_fails(result, "has 200 lines, short.txt has 1")


class TestEncodings:
    """Arguments whose bytes Python cannot decode arrive with surrogates, one for each byte."""

    @pytest.mark.parametrize(
        "words",
        [
            ["translate", "--prefix", "a\udcff"],
            ["translate", "--suppress", "\udcc3"],
            ["train", "--set", "name=\udcff"],
            ["plot", "attention", "a\udcff", "-o", "x.png"],
        ],
        ids=lambda words: words[0],
    )
    def test_text_must_be_valid(self, workdir: Path, words: list[str]) -> None:
        before = snapshot(workdir)
        result = nmt(*words, cwd=workdir)
        assert result.code == 2
        option = words[-2] if words[-2].startswith("--") else "SOURCE"
        assert f"Error: Invalid value for '{option}': '" in result.err
        assert "' is not valid UTF-8; give UTF-8, in a locale such as C.UTF-8" in result.err
        assert snapshot(workdir) == before

    def test_names_of_files_may_have_any_bytes(self, workdir: Path) -> None:
        (workdir / "in\udcff").write_bytes(b"o gato\n")
        for _ in range(2):
            result = nmt("translate", "in\udcff", "-o", "out\udcff", cwd=workdir)
        assert_fails(result, "out\\udcff: exists; replace it with --force")
        expected = nmt("translate", "in\udcff", cwd=workdir).out
        assert (workdir / "out\udcff").read_bytes() == expected
        shutil.copytree(workdir / BUNDLE, workdir / "model\udcff")
        shown = nmt("inspect", "model\udcff", "--json", cwd=workdir)
        assert json.loads(shown.out)["path"] == "model\udcff"
        result = nmt("translate", "-m", "model\udcff", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, "model\\udcff/encoder.onnx: ", "rename")

    def test_a_locale_without_utf8(self, workdir: Path) -> None:
        ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        result = nmt(
            "translate", "--prefix", "é", cwd=workdir, environment=ascii_only, process=True
        )
        assert result.code == 2
        assert "Invalid value for '--prefix': '\\udcc3\\udca9' is not valid ASCII" in result.err
        shutil.copytree(workdir / BUNDLE, workdir / "modèle")
        (workdir / "entrée").write_bytes("o cão\n".encode())
        words = ["translate", "-m", "modèle", "entrée", "--json"]
        result = nmt(*words, cwd=workdir, environment=ascii_only, process=True)
        assert result.code == 0, result.err
        assert json.loads(result.out)["source"] == "o cão"


class TestRecipe:
    @pytest.mark.parametrize(
        ("override", "fragments"),
        [
            ("model.haeds=4", ("'model.haeds'", "did you mean 'model.heads'?")),
            ("model.heads=3", ("heads = 3", "try model.heads=2")),
            ("model.heads", ("--set model.heads: ",)),
        ],
    )
    @pytest.mark.parametrize("command", ["prepare", "train"])
    def test_bad_keys_and_values(
        self, corpus: Path, command: str, override: str, fragments: tuple[str, ...]
    ) -> None:
        before = snapshot(corpus)
        result = nmt(command, "toy.toml", "--set", override, cwd=corpus)
        assert_fails(result, f"--set {override}: ", *fragments)
        assert snapshot(corpus) == before

    def test_for_an_unknown_recipe_the_nearest_is_suggested(self, corpus: Path) -> None:
        result = nmt("prepare", "phrasebok", cwd=corpus)
        assert_fails(result, "phrasebok: no such recipe; did you mean 'phrasebook'?")

    def test_prepared_data_of_a_newer_version_is_prepared_again(self, workdir: Path) -> None:
        record = workdir / PREPARED / "prepared.json"
        before = record.read_bytes()
        edit_json(record, format=99)
        assert nmt("prepare", "toy.toml", cwd=workdir).code == 0
        assert record.read_bytes() == before


class TestBundle:
    @pytest.mark.parametrize("harm", [truncate, flip_bit])
    @pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx", "tokenizer/joint.model"])
    def test_damaged_file(self, workdir: Path, harm: Any, name: str) -> None:
        harm(workdir / BUNDLE / name)
        before = snapshot(workdir)
        result = nmt("translate", "-o", "out.txt", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, f"{BUNDLE}/{name}: is not the file that was exported")
        assert snapshot(workdir) == before

    def test_missing_file(self, workdir: Path) -> None:
        (workdir / BUNDLE / "decoder.onnx").unlink()
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, "decoder.onnx: cannot be read (No such file or directory)")

    @pytest.mark.parametrize("content", ["", "{}", "null"])
    def test_damaged_manifest(self, workdir: Path, content: str) -> None:
        (workdir / BUNDLE / "manifest.json").write_text(content, encoding="utf-8")
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, f"{BUNDLE}/manifest.json", "export the bundle again")

    def test_manifest_with_a_bad_value(self, workdir: Path) -> None:
        path = workdir / BUNDLE / "manifest.json"
        tree = json.loads(path.read_text(encoding="utf-8"))
        edit_json(path, decoding={**tree["decoding"], "beam_sise": 4})
        assert_fails(nmt("translate", cwd=workdir, stdin=b"o gato\n"), BUNDLE)

    def test_newer_format(self, workdir: Path) -> None:
        edit_json(workdir / BUNDLE / "manifest.json", format=99)
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, BUNDLE, "newer nmt (format 99", "upgrade nmt")

    @pytest.mark.parametrize("name", ["absent", "toy.pt", "runs", "toy.pt/below"])
    def test_no_bundle(self, workdir: Path, name: str) -> None:
        result = nmt("translate", "-m", name, cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, f"{name}: n")


class TestCompute:
    @pytest.mark.parametrize("value", ["0", "many"])
    def test_invalid_number_of_threads(self, workdir: Path, value: str) -> None:
        result = nmt("translate", "--threads", value, cwd=workdir, stdin=b"o gato\n")
        assert (result.code, result.out) == (2, b"")
        assert "Invalid value for '--threads': must be " in result.err

    def test_invalid_precision(self, workdir: Path) -> None:
        before = snapshot(workdir)
        for value, why in (("int4", "'int4' is not one of 'int8'"), ("int16", "--ctranslate2")):
            result = nmt("export", "--onnx", "--quantize", value, cwd=workdir)
            assert result.code == 2
            assert why in result.err
        assert snapshot(workdir) == before

    def test_unknown_provider_or_device(self, workdir: Path) -> None:
        result = nmt("translate", "--provider", "Abacus", cwd=workdir, stdin=b"o gato\n")
        assert_fails(
            result, "--provider Abacus: the installed onnxruntime does not offer it", "CPU"
        )
        result = nmt("translate", "--device", "tpu", cwd=workdir, stdin=b"o gato\n")
        assert result.code == 2

    def test_missing_cuda_names_the_package_to_install(self, workdir: Path) -> None:
        if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            pytest.skip("CUDA is available")
        result = nmt("translate", "--device", "cuda", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, "does not support CUDA", "pip install onnxruntime-gpu")
        assert nmt("translate", "--device", "auto", cwd=workdir, stdin=b"o gato\n").code == 0

    def test_a_run_accepts_no_threads(self, workdir: Path) -> None:
        result = nmt("translate", "-m", RUN, "--threads", "2", cwd=workdir, stdin=b"o gato\n")
        assert result.code == 2
        assert f"{RUN}: is a run; --threads, " in result.err

    def test_threads_and_providers_do_not_change_translations(self, system: Path) -> None:
        text = (system / "toy.pt").read_bytes()
        expected = nmt("translate", cwd=system, stdin=text)
        assert expected.out.count(b"\n") == 200
        for name, value in (("threads", 1), ("threads", 3), ("workers", 3), ("provider", "CPU")):
            assert nmt("translate", f"--{name}", value, cwd=system, stdin=text) == expected


class TestRun:
    @pytest.mark.parametrize("kept", [0, 1, 3, 22, 100, 0.1, 0.5, 0.9, 0.999, -1])
    def test_truncated_checkpoint_at_many_points(self, workdir: Path, kept: float) -> None:
        path = workdir / RUN / "best.npz"
        content = path.read_bytes()
        cut = int(kept * len(content)) if isinstance(kept, float) else kept
        path.write_bytes(content[:cut])
        with pytest.raises(NmtError, match="best.npz: damaged checkpoint"):
            load_checkpoint(path, None, training=False)

    @pytest.mark.train
    def test_truncated_checkpoint_in_the_shell(self, workdir: Path) -> None:
        truncate(workdir / RUN / "best.npz")
        before = snapshot(workdir)
        result = nmt("export", "--onnx", "--force", cwd=workdir)
        assert_fails(result, "best.npz: damaged checkpoint", "use another checkpoint")
        assert snapshot(workdir) == before

    @pytest.mark.parametrize(
        ("name", "content", "fragments"),
        [
            ("run.json", "{", ("run.json: damaged",)),
            ("run.json", "[]", ("run.json: damaged",)),
            ("run.json", '{"format": 99}', ("newer nmt (format 99", "upgrade nmt")),
            ("tokenizer/tokenizer.json", "{", ("tokenizer.json: is damaged",)),
            ("tokenizer/joint.model", "{", ("joint.model: is not a SentencePiece model",)),
            ("recipe.toml", "[", ("recipe.toml: not valid TOML in UTF-8",)),
        ],
    )
    def test_damaged_run(
        self, workdir: Path, name: str, content: str, fragments: tuple[str, ...]
    ) -> None:
        (workdir / RUN / name).write_text(content, encoding="utf-8")
        assert_fails(nmt("translate", "-m", RUN, cwd=workdir, stdin=b"o gato\n"), RUN, *fragments)

    def test_no_run_to_export(self, tmp_path: Path) -> None:
        assert_fails(nmt("export", "--onnx", cwd=tmp_path), "no run under runs/", "nmt train")
        assert not snapshot(tmp_path)


class TestPlaces:
    def test_full_disk_while_translating_keeps_the_old_file(self, workdir: Path) -> None:
        (workdir / "out.txt").write_text("precious\n", encoding="utf-8")
        before = snapshot(workdir)
        words = ["translate", "toy.pt", "--beam-size", 1, "--force", "-o", "out.txt"]
        result = nmt(*words, cwd=workdir, limit=limit_file_size(64))
        assert_fails(result, "out.txt: cannot be written (File too large)", "free disk space")
        assert snapshot(workdir) == before

    def test_full_standard_output(self, workdir: Path) -> None:
        shell = ["sh", "-c", '"$0" "$@" >/dev/full', *NMT]
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n", command=shell)
        assert_fails(result, "standard output: No space left on device")

    @pytest.mark.slow
    def test_full_disk_at_a_checkpoint_keeps_the_old_one(self, workdir: Path) -> None:
        (newest,) = (workdir / RUN / "checkpoints").iterdir()
        before = snapshot(workdir / RUN / "checkpoints")
        words = ["train", "toy.toml", "--resume", "--set", "training.max_steps=21"]
        limit = limit_file_size(newest.stat().st_size // 2)
        result = nmt(*words, cwd=workdir, limit=limit)
        assert_fails(result, "npz: cannot be written (File too large)", "free disk space")
        assert snapshot(workdir / RUN / "checkpoints") == before

    @pytest.mark.parametrize("where", ["toy.pt/out", "/proc/out"])
    def test_no_permission(self, workdir: Path, where: str) -> None:
        before = snapshot(workdir)
        result = nmt("translate", "-o", where, cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, f"{where}: cannot be written")
        assert_fails(nmt("prepare", "toy.toml", "-o", where, cwd=workdir), where)
        assert snapshot(workdir) == before

    def test_translating_into_a_folder(self, workdir: Path) -> None:
        result = nmt("translate", "-o", "runs", cwd=workdir, stdin=b"o gato\n")
        assert_fails(result, "runs: is a folder, not a file")

    @pytest.mark.parametrize(
        "words",
        [["prepare", "toy.toml"], ["train", "toy.toml"], ["export", "--onnx"]],
        ids=lambda words: words[0],
    )
    @pytest.mark.slow
    def test_a_folder_with_other_files_is_not_replaced(
        self, workdir: Path, words: list[str]
    ) -> None:
        (workdir / "own").mkdir()
        (workdir / "own" / "thesis.txt").write_text("years of work\n", encoding="utf-8")
        before = snapshot(workdir)
        assert_fails(
            nmt(*words, "-o", "own", cwd=workdir), "own: exists and contains something else"
        )
        assert snapshot(workdir) == before

    def test_a_run_is_replaced_only_with_force(self, workdir: Path) -> None:
        before = snapshot(workdir)
        result = nmt("train", "toy.toml", cwd=workdir)
        assert_fails(result, f"{RUN}: a run already exists", "--resume", "--force")
        assert snapshot(workdir) == before

    @pytest.mark.train
    def test_a_model_without_a_checkpoint_to_resume_from_is_kept(self, workdir: Path) -> None:
        shutil.rmtree(workdir / RUN / "checkpoints")
        before = snapshot(workdir)
        result = nmt("train", "toy.toml", "--resume", cwd=workdir)
        assert_fails(result, f"{RUN}: has no checkpoint left", "--force")
        assert snapshot(workdir) == before

    @pytest.mark.train
    def test_a_refused_resume_leaves_the_prepared_data_unchanged(self, workdir: Path) -> None:
        before = snapshot(workdir)
        words = ["train", "toy.toml", "--resume"]
        result = nmt(*words, "--set", "tokenizer.vocab_size=50", cwd=workdir)
        assert_fails(result, f"{RUN}: the recipe changed", "tokenizer.vocab_size")
        assert snapshot(workdir) == before
        for side in ("pt", "en"):
            with (workdir / f"toy.{side}").open("a", encoding="utf-8") as stream:
                stream.write("um gato a mais\n")
        before = snapshot(workdir)
        result = nmt(*words, cwd=workdir)
        assert_fails(result, f"{RUN}: the prepared data changed", "restore it")
        assert snapshot(workdir) == before

    @pytest.mark.slow
    def test_unreachable_training_data(self, tmp_path: Path) -> None:
        nowhere = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")}
        (tmp_path / "tfds").mkdir()
        words = ["train", "--set", "data.tfds_dir=tfds"]
        result = nmt(*words, cwd=tmp_path, environment=nowhere)
        assert_fails(result, "ted_hrlr_translate", "set data.tfds_dir", "nmt train phrasebook")
        assert [name for name in snapshot(tmp_path) if not name.startswith("tfds")] == []
