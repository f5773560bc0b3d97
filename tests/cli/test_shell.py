"""nmt in a shell: help, pipes, signals, defaults, exit codes and imports."""

import ast
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest

import nmt_cli
from nmt_cli.cli import _explain, cli
from nmt_cli.cli.commands import every_command
from nmt_cli.cli.lookup import find_model
from nmt_cli.cli.options import as_typed
from nmt_cli.errors import NmtError
from tests.cli.conftest import LISTING_MODULES, NMT, assert_fails, nmt, snapshot

RUN, BUNDLE = "runs/toy-pt-en", "exports/toy-pt-en"
HEAVY = ("tensorflow", "keras", "tensorflow_text", "tensorflow_datasets", "onnx", "tf2onnx")


EVERY_COMMAND = dict(every_command(cli, "nmt"))
del EVERY_COMMAND["nmt"]


class TestHelp:
    @pytest.mark.parametrize("name", EVERY_COMMAND)
    def test_every_command_and_option_has_help(self, name: str, tmp_path: Path) -> None:
        command = EVERY_COMMAND[name]
        result = nmt(*name.split()[1:], "--help", cwd=tmp_path, environment={"COLUMNS": "80"})
        shown = result.out.decode()
        assert shown.startswith(f"Usage: {name} ")
        assert "-h, --help" in shown
        assert command.help
        assert command.epilog
        assert "Example: " in command.epilog
        assert name in command.epilog
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, parameter.name
        # Nothing is cut off, and examples fit in a terminal of 80 columns.
        assert not re.search(r"[a-z ]\.\.\.", shown)
        for line in command.epilog.splitlines():
            assert len(line.strip()) <= 78
            assert line.strip("\b ") in shown

    def test_summaries_are_complete_and_listed_once(self, tmp_path: Path) -> None:
        shown = nmt("-h", cwd=tmp_path, environment={"COLUMNS": "80"}).out.decode()
        words = " ".join(shown.split())
        for name, command in cli.commands.items():
            assert shown.count(f"\n  {name} ") == 1
            assert command.get_short_help_str(1000) in words

    @pytest.mark.parametrize(
        ("words", "headings"),
        [
            ([], "Options Start Train Export Use Analyse"),
            (["translate"], "Options Input Output Search Sampling Hardware"),
        ],
    )
    def test_help_is_in_groups(self, tmp_path: Path, words: list[str], headings: str) -> None:
        shown = nmt(*words, "--help", cwd=tmp_path).out.decode()
        assert " ".join(re.findall(r"^(\w+):$", shown, re.M)) == headings
        assert "RANGE" not in shown
        assert "<=x" not in shown

    def test_without_a_command_help_is_printed(self, tmp_path: Path) -> None:
        result = nmt(cwd=tmp_path)
        assert result.code == 2
        for name in cli.commands:
            assert f"  {name} " in result.err + result.out.decode()

    def test_version(self, tmp_path: Path) -> None:
        result = nmt("--version", cwd=tmp_path)
        assert result.code == 0
        assert result.out.startswith(b"nmt, version ")

    @pytest.mark.parametrize(
        "words",
        [
            ["export"],
            ["export", "--onnx", "--saved-model"],
            ["prepare"],
            ["train", "toy.toml", "--resume", "--force"],
            ["translate", "--beam-size", "0"],
            ["evaluate", "--translation", "toy.en"],
            ["translate", "--bem-size", "1"],
            ["tranlate"],
        ],
        ids=" ".join,
    )
    def test_misuse_is_a_usage_error(self, corpus: Path, words: list[str]) -> None:
        before = snapshot(corpus)
        result = nmt(*words, cwd=corpus)
        assert result.code == 2
        assert "Usage: " in result.err
        assert "Traceback" not in result.err
        assert snapshot(corpus) == before


class TestTranslate:
    def test_files_and_pipes_give_the_same_bytes(self, workdir: Path) -> None:
        text = (workdir / "toy.pt").read_bytes()
        piped = nmt("translate", cwd=workdir, stdin=text)
        assert piped.code == 0, piped.err
        assert piped.out.count(b"\n") == 200
        assert nmt("translate", "-", cwd=workdir, stdin=text).out == piped.out
        assert nmt("translate", "toy.pt", cwd=workdir).out == piped.out
        result = nmt("translate", "toy.pt", "-o", "out.txt", cwd=workdir)
        assert (result.code, result.out) == (0, b"")
        assert (workdir / "out.txt").read_bytes() == piped.out

    def test_n_lines_in_n_lines_out(self, workdir: Path) -> None:
        text = "\ufeffo gato\r\n\r\n \n\to cão\u2028a casa\x0c.\n\na mesa".encode()
        result = nmt("translate", cwd=workdir, stdin=text)
        assert result.code == 0, result.err
        lines = result.out.decode("utf-8").split("\n")
        assert [bool(line) for line in lines] == [True, False, True, True, False, True, False]
        assert lines[2] == " "
        assert b"\r" not in result.out
        plain = nmt("translate", cwd=workdir, stdin=b"o gato\n")
        assert plain.out == f"{lines[0]}\n".encode()

    def test_empty_input_gives_empty_output(self, workdir: Path) -> None:
        result = nmt("translate", "-m", BUNDLE, cwd=workdir)
        assert (result.code, result.out, result.err) == (0, b"", "")

    def test_a_long_line_is_split_with_a_warning(self, workdir: Path) -> None:
        text = ("o gato está aqui, " * 60).encode() + b"\n"
        result = nmt("translate", "-m", BUNDLE, "--beam-size", 1, cwd=workdir, stdin=text)
        assert result.code == 0
        assert result.out.count(b"\n") == 1
        message = "line 1: has a sentence longer than 128 tokens, translated in "
        assert result.err.startswith(message)

    def test_a_closed_reader_ends_it_silently(self, workdir: Path) -> None:
        text = (workdir / "toy.pt").read_bytes() * 30
        shell = ["bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", *NMT]
        words = ["translate", "-m", BUNDLE, "--beam-size", 1]
        result = nmt(*words, cwd=workdir, stdin=text, command=shell)
        assert result.out.count(b"\n") == 1
        assert (result.code, result.err) == (128 + signal.SIGPIPE, "")

    @pytest.mark.parametrize(
        "words",
        [
            ["score", "toy.pt", "toy.en"],
            ["evaluate", "--translation", "toy.en", "--reference", "toy.en"],
            ["inspect"],
            ["completion", "bash"],
            ["verify", "exports/toy-pt-en"],
        ],
        ids=lambda words: words[0],
    )
    def test_output_that_cannot_be_written(self, workdir: Path, words: list[str]) -> None:
        shell = ["bash", "-c", '"$@" >&-', "bash", *NMT]
        closed = nmt(*words, cwd=workdir, command=shell)
        assert_fails(closed, "standard output is closed; redirect it to a file")
        shell = ["bash", "-c", '"$@" > /dev/full', "bash", *NMT]
        assert_fails(nmt(*words, cwd=workdir, command=shell), "standard output: ", "No space left")

    @pytest.mark.parametrize("stream", ["<&-", ">&-"])
    def test_closed_streams(self, workdir: Path, stream: str) -> None:
        shell = ["bash", "-c", f'"$@" {stream}', "bash", *NMT]
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n", command=shell)
        assert_fails(result, "is closed; give ")

    def test_a_bundle_needs_no_tensorflow(self, workdir: Path) -> None:
        result = nmt("translate", cwd=workdir, stdin=b"o gato\n", command=LISTING_MODULES)
        assert result.code == 0
        assert result.out.count(b"\n") == 1
        modules = json.loads(result.message)
        assert "onnxruntime" in modules
        assert not {module.partition(".")[0] for module in modules} & set(HEAVY)
        assert "nmt_cli.recipe.config" not in modules  # slow to import, for settings of training

    @pytest.mark.slow
    def test_a_run_translates_like_its_bundle(self, workdir: Path) -> None:
        text = b"o gato\n\na mesa custa dez euros!\n"
        by_run = nmt("translate", "-m", RUN, cwd=workdir, stdin=text)
        assert by_run.code == 0, by_run.err
        assert by_run.out == nmt("translate", "-m", BUNDLE, cwd=workdir, stdin=text).out


class TestDefaultModel:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def make_model(self, folder: Path | str, marker: str) -> Path:
        Path(folder).mkdir(parents=True)
        Path(folder, marker).write_text("{}", encoding="utf-8")
        return Path(folder)

    def test_the_only_bundle_or_else_the_only_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(NmtError, match="no model: neither a bundle .* nmt quickstart"):
            find_model(None)
        run = self.make_model("runs/b", "run.json")
        assert find_model(None) == run
        assert capsys.readouterr().err == "using runs/b, the only model under runs/\n"
        self.make_model("runs/a", "run.json")
        with pytest.raises(NmtError, match="several models under runs/: runs/a, runs/b; name one"):
            find_model(None)
        bundle = self.make_model("exports/b", "manifest.json")
        self.make_model("exports/.a.half", "manifest.json")
        self.make_model("exports/saved-model", "saved_model.pb")
        assert find_model(None) == bundle
        assert find_model(run) == run

    @pytest.mark.train  # and serve
    def test_a_second_model_does_not_replace_the_first(self, workdir: Path) -> None:
        shutil.copytree(workdir / BUNDLE, workdir / "exports/experiment")
        for command in ("translate", "inspect", "package", "serve", "tokenize"):
            assert_fails(
                nmt(command, cwd=workdir, stdin=b"o gato\n"),
                f"several models under exports/: exports/experiment, {BUNDLE}; name one, or set "
                "the default with nmt models --default NAME",
            )

    def test_at_most_ten_models_are_listed(self) -> None:
        for number in range(11):
            self.make_model(f"exports/{number:02}", "manifest.json")
        with pytest.raises(NmtError, match="exports/00, .*exports/09, ...;") as caught:
            find_model(None)
        assert "exports/10" not in str(caught.value)

    @pytest.mark.train
    def test_a_default_is_set_used_and_unset(self, workdir: Path) -> None:
        shutil.copytree(workdir / BUNDLE, workdir / "exports/experiment")
        shutil.copytree(workdir / BUNDLE, workdir / "elsewhere")
        expected = nmt("translate", "-m", BUNDLE, cwd=workdir, stdin=b"o gato\n").out
        for name in (f"{BUNDLE}/", RUN, "elsewhere"):
            listed = nmt("models", "--default", name, cwd=workdir)
            assert (listed.code, listed.err) == (0, "")
            name = name.rstrip("/")
            marked = [row for row in listed.out.decode().splitlines() if row.endswith("(default)")]
            assert [row.split()[0] for row in marked] == [name]
            assert (workdir / ".nmt-model").read_text() == f"{name}\n"
            result = nmt("translate", cwd=workdir, stdin=b"o gato\n")
            assert result.out == expected
            assert result.err.startswith(f"using {name}, the default model\n")
        records = json.loads(nmt("models", "--json", cwd=workdir).out)
        assert {record["name"]: record["default"] for record in records} == {
            "exports/experiment": False,
            BUNDLE: False,
            RUN: False,
            "elsewhere": True,
        }
        listed = nmt("models", "--default", "", cwd=workdir)
        assert b"(default)" not in listed.out
        assert not (workdir / ".nmt-model").exists()
        assert nmt("models", "--default=", cwd=workdir).out == listed.out
        assert_fails(nmt("translate", cwd=workdir, stdin=b"o gato\n"), "several models under")

    def test_what_was_named_precedes_the_default(self, workdir: Path) -> None:
        (workdir / ".nmt-model").write_text(f"{RUN}\n")
        for words, environment in ((["-m", BUNDLE], {}), ([], {"NMT_MODEL": BUNDLE})):
            result = nmt("translate", *words, cwd=workdir, stdin=b"\n", environment=environment)
            assert (result.out, result.err) == (b"\n", "")

    def test_a_default_that_is_no_model(self, workdir: Path) -> None:
        (workdir / "folder").mkdir()
        for name, message in (
            ("absent", "absent: no such run or bundle"),
            ("exports/toy-pt-em", f"no such run or bundle; did you mean '{BUNDLE}'?"),
            ("folder", "folder: neither a run"),
        ):
            assert_fails(nmt("models", "--default", name, cwd=workdir), message)
            assert not (workdir / ".nmt-model").exists()

    def test_a_default_that_is_gone(self, workdir: Path) -> None:
        (workdir / ".nmt-model").write_text("exports/gone\n")
        assert_fails(
            nmt("translate", cwd=workdir, stdin=b"o gato\n"),
            "exports/gone: no such default model; set the default with nmt models --default NAME",
        )
        listed = nmt("models", cwd=workdir)
        assert (listed.code, listed.out.count(b"\n")) == (0, 2)
        assert listed.err.startswith("exports/gone (default): left out: exports/gone: neither")

    @pytest.mark.parametrize(
        ("name", "suggested"),
        [
            ("exports/minne", "exports/mine"),
            ("mine", "exports/mine"),
            ("export/mine", "exports/mine"),
            ("exports/trained", "runs/trained"),
            ("models/oter", "models/other"),
            ("runs/mine", "exports/mine"),
            ("exports/zzz", ""),
            ("nowhere/zzz", ""),
        ],
    )
    def test_the_nearest_model_is_suggested(self, name: str, suggested: str) -> None:
        self.make_model("exports/mine", "manifest.json")
        self.make_model("runs/trained", "run.json")
        self.make_model("models/other", "manifest.json")
        with pytest.raises(NmtError) as caught:
            find_model(Path(name))
        hint = f"; did you mean '{suggested}'?" if suggested else ""
        assert str(caught.value) == f"{name}: no such run or bundle{hint}"


def test_import_names_what_it_takes(tmp_path: Path) -> None:
    result = nmt("import", "nowhere", cwd=tmp_path)
    assert_fails(result, "nowhere: no such file, folder or installed model")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mien.toml", "did you mean 'mine.toml'?"),
        ("mine", "did you mean 'mine.toml'?"),
        ("ted-pt-em", "did you mean 'ted-pt-en'?"),
        ("recipes/ted-pt-em.toml", "did you mean 'ted-pt-en'?"),
        ("zzz.toml", "nmt comes with docs-pt-en, "),
    ],
)
def test_the_nearest_recipe_is_suggested(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    assert_fails(nmt("train", name, cwd=tmp_path), f"{name}: no such recipe; {hint}")


class TestSignals:
    OPTIONS = ("--set", "training.max_steps=100000", "--set", "training.validate_every=100000")

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_in_training_saves_and_prints_how_to_resume(
        self, workdir: Path, number: signal.Signals
    ) -> None:
        shutil.rmtree(workdir / "runs")
        words = [*NMT, "train", "toy.toml", *self.OPTIONS, "-o", "runs/it's mine"]
        with subprocess.Popen(words, cwd=workdir, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith("step "):
                    process.send_signal(number)
                    break
            rest = process.stderr.read()
            assert process.wait(60) == 130, rest
        message = rest.rstrip("\n").rpartition("\n")[2]
        assert message.startswith("nmt: stopped at step ")
        assert "Traceback" not in rest
        run = workdir / "runs" / "it's mine"
        assert sorted(path.name for path in run.parent.iterdir()) == [run.name]
        assert not [path for path in run.iterdir() if path.name.startswith(".")]
        with np.load(max((run / "checkpoints").iterdir())) as checkpoint:
            step = json.loads(bytes(checkpoint["progress"]))["step"]
        assert f"stopped at step {step:,}; checkpoint saved; " in message

        program, *words = shlex.split(message.partition("continue with: ")[2])
        assert program == "nmt"
        result = nmt(*words, "--set", f"training.max_steps={step + 3}", cwd=workdir)
        assert result.code == 0, result.err
        assert f"resuming at step {step:,}\n" in result.err
        assert f"trained {step + 3:,} steps" in result.err

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_elsewhere_leaves_no_files(
        self, workdir: Path, number: signal.Signals
    ) -> None:
        before = snapshot(workdir)
        words = [*NMT, "translate", "-m", BUNDLE, "-o", "out.txt"]
        with subprocess.Popen(
            words, cwd=workdir, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin
            process.stdin.write("o gato\n" * 2)  # more than one line
            process.stdin.flush()
            while not (workdir / "out.txt.part").exists():  # waiting for input with the file open
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        assert (process.returncode, err.strip()) == (130, "nmt: interrupted")
        assert snapshot(workdir) == before


def test_the_library_names_options_and_the_command_line_their_flags() -> None:
    flag = re.compile(r"(?<![\w-])--[a-z]")
    command = re.compile(r"\b(nmt|msgfmt|msgconv|ray) [^;]*--[a-z]")
    for path in sorted(Path(nmt_cli.__file__).parent.rglob("*.py")):
        if path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                message = ast.unparse(node)
                assert not flag.search(command.sub("", message)), f"{path}: {message}"
    assert as_typed("`n_best=4` needs `beam_size`") == "--n-best 4 needs --beam-size"
    assert as_typed("`verify=False`, `set=a.b=1`") == "--no-verify, --set a.b=1"
    assert as_typed("`ray start --head` and `A`") == "`ray start --head` and `A`"


@pytest.mark.parametrize(
    ("package", "extra"),
    [
        ("matplotlib", "plot"),
        ("markdown_it", "formats"),
        ("sacrebleu", "evaluate"),
        ("jax", "train-jax"),
        ("keras", "train"),
        ("x", "train"),
    ],
)
def test_a_missing_package_names_its_extra(package: str, extra: str) -> None:
    message = _explain(ModuleNotFoundError(name=f"{package}.inner"))
    assert message == f"this command needs {package}; pip install 'nmt_cli[{extra}]'"


def test_pip_installs_the_extra_of_an_installed_package() -> None:
    """Without an index: the package was installed from a checkout or a wheel."""
    words = ["-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "nmt_cli[plot]"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Requirement already satisfied: nmt_cli[plot]" in done.stdout
