"""NMT_* environment variables, terminals and colours."""

import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

from nmt_cli.cli import cli
from nmt_cli.cli.commands import every_command
from nmt_cli.training.log import TrainingLog
from tests.cli.conftest import NMT, assert_fails, nmt

COMMANDS = dict(every_command(cli, "nmt"))
PARAMETERS = [
    (name, parameter) for name in COMMANDS for parameter in COMMANDS[name].params if name != "nmt"
]
VARIABLES = {name for _, parameter in PARAMETERS for name in parameter.envvar or []}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "shell.md"


@pytest.fixture(autouse=True)
def _without_the_users_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES & os.environ.keys():
        monkeypatch.delenv(name)


def parsed(command: str, *words: str) -> dict[str, Any]:
    """Return the parsed options and arguments of a command."""
    node: click.Command = cli
    for name in command.split():
        assert isinstance(node, click.Group)
        node = node.commands[name]
    parent = click.Context(cli, **cli.context_settings)
    return node.make_context(command, list(words), parent).params


def model(command: str, *words: str) -> list[Path]:
    """Return the models of a command, whether it takes one or several."""
    values = parsed(command, *words)
    models = values.get("models", values.get("model"))
    return list(models) if isinstance(models, tuple) else [models]


class TestVariables:
    @pytest.mark.parametrize(
        ("variable", "value", "command", "words", "expected"),
        [
            ("NMT_TRANSLATE_BEAM_SIZE", "1", "translate", [], {"beam_size": 1}),
            ("NMT_TRAIN_RESUME", "1", "train", [], {"resume": True}),
            ("NMT_TRAIN_RESUME", "no", "train", [], {"resume": False}),
            ("NMT_EXPORT_VERIFY", "0", "export", [], {"verify": False}),
            ("NMT_TRAIN_SET", "a=1 b=2", "train", [], {"overrides": ("a=1", "b=2")}),
            ("NMT_BENCH_BATCH", "own 8", "bench", ["m"], {"batch": (0, 8)}),
            ("NMT_BENCH_JSON", "true", "bench", ["m"], {"as_json": True}),
            ("NMT_PLOT_ATTENTION_LAYER", "2", "plot attention", ["x"], {"layer": 2}),
            (
                "NMT_AVERAGE_CHECKPOINT",
                os.pathsep.join("ab"),
                "average",
                [],
                {"checkpoint": (Path("a"), Path("b"))},
            ),
        ],
        ids=lambda each: each if isinstance(each, str) and each.startswith("NMT_") else "",
    )
    def test_options_from_variables(
        self,
        variable: str,
        value: str,
        command: str,
        words: list[str],
        expected: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv(variable, value)
        assert parsed(command, *words).items() >= expected.items()

    def test_the_command_line_overrides_variables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NMT_TRANSLATE_BEAM_SIZE", "1")
        assert parsed("translate", "--beam-size", "7")["beam_size"] == 7

    def test_an_empty_variable_is_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = parsed("translate")
        for name in ("NMT_MODEL", "NMT_TRANSLATE_MODEL", "NMT_TRANSLATE_BEAM_SIZE"):
            monkeypatch.setenv(name, "")
        assert parsed("translate") == before

    def test_no_two_options_share_a_variable(self) -> None:
        variables = [
            name for _, each in PARAMETERS for name in each.envvar or [] if name != "NMT_MODEL"
        ]
        assert len(variables) == len(set(variables))
        assert all(re.fullmatch("NMT(_[A-Z0-9]+)+", each) for each in variables)

    def test_every_option_has_a_variable(self) -> None:
        assert {"nmt translate", "nmt plot attention"} <= set(COMMANDS)
        for command, each in PARAMETERS:
            argument = isinstance(each, click.Argument)
            assert each.envvar or argument, (command, each.name)


class TestModel:
    def test_every_model_option_reads_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NMT_MODEL", "exports/mine")
        for command, words in (
            ("translate", []),
            ("evaluate", []),
            ("inspect", []),
            ("serve", []),
            ("backtranslate", ["mono.en", "-o", "x"]),  # required
            ("distill", ["train.pt", "-o", "x"]),
            ("plot attention", ["Olá"]),
            ("plot masks", ["Olá"]),
        ):
            assert model(command, *words) == [Path("exports/mine")], command

    def test_commands_that_take_several_models_split_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        several = os.pathsep.join(("exports/one", "exports/two"))
        monkeypatch.setenv("NMT_MODEL", several)
        assert model("translate") == [Path("exports/one"), Path("exports/two")]
        result = nmt("translate", cwd=tmp_path)
        assert_fails(result, "exports/one: no such run or bundle (from NMT_MODEL)")

    def test_nothing_else_reads_it(self) -> None:
        for command, parameter in PARAMETERS:
            arguments = ("nmt inspect", "model"), ("nmt serve", "models"), ("nmt package", "bundle")
            expected = "--model" in parameter.opts or (command, parameter.name) in arguments
            assert ("NMT_MODEL" in (parameter.envvar or [])) == expected

    def test_the_variable_of_a_command_overrides_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NMT_MODEL", "exports/mine")
        monkeypatch.setenv("NMT_TRANSLATE_MODEL", "exports/small")
        assert model("translate") == [Path("exports/small")]
        assert model("inspect") == [Path("exports/mine")]
        assert model("translate", "-m", "runs/one") == [Path("runs/one")]


class TestBadValues:
    @pytest.mark.parametrize(
        ("variable", "value", "words"),
        [
            ("NMT_TRANSLATE_BEAM_SIZE", "many", ["translate"]),
            ("NMT_TRANSLATE_DEVICE", "tpu", ["translate"]),
            ("NMT_TRAIN_FORCE", "perhaps", ["train"]),
            ("NMT_BENCH_BATCH", "8 ours", ["bench", "m"]),
        ],
    )
    def test_one_line_names_the_variable(
        self, variable: str, value: str, words: list[str], tmp_path: Path
    ) -> None:
        result = nmt(*words, cwd=tmp_path, environment={variable: value})
        assert_fails(result, f"nmt: {variable}: ", f"'{value.split()[-1]}'", "unset it", code=2)
        assert result.err.count("\n") == 1

    def test_an_error_about_a_path_names_its_variable(self, tmp_path: Path) -> None:
        environment = {"NMT_MODEL": "exports/gone/"}
        result = nmt("inspect", cwd=tmp_path, environment=environment)
        assert_fails(result, "exports/gone: no such run or bundle (from NMT_MODEL)")
        (tmp_path / "exports" / "gone").mkdir(parents=True)
        result = nmt("translate", cwd=tmp_path, environment=environment, stdin=b"a\n")
        assert_fails(result, "exports/gone: neither a run", "(from NMT_MODEL)")

    def test_errors_in_typed_values_do_not_mention_variables(self, tmp_path: Path) -> None:
        environment = {"NMT_MODEL": "exports/one", "NMT_TRANSLATE_BEAM_SIZE": "many"}
        result = nmt("inspect", "absent", cwd=tmp_path, environment=environment)
        assert result.err == "nmt: absent: no such run or bundle\n"
        result = nmt("translate", "--beam-size", "0", cwd=tmp_path, environment=environment)
        assert result.code == 2
        assert result.err.startswith("Usage: ")
        assert "NMT_" not in result.err


def new_terminal() -> tuple[int, int]:
    """Return both ends of a terminal: the test's and the program's."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 120))  # without a width, no progress is shown
    return leader, follower


def on_terminal(*words: str, cwd: Path, **environment: str) -> tuple[int, bytes]:
    """Run nmt in a terminal; return its exit code and output."""
    leader, follower = new_terminal()
    terminal = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        [*NMT, *words],
        cwd=cwd,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**terminal, **environment},
    )
    os.close(follower)
    shown = all_of(leader)
    return process.wait(60), shown


def all_of(leader: int) -> bytes:
    """Read a terminal until its other end is closed, then close this end."""
    shown = b""
    with suppress(OSError):  # raised at the end, on Linux
        while more := os.read(leader, 65536):
            shown += more
    os.close(leader)
    return shown


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}], ids=["", "NO_COLOR"])
class TestColours:
    """nmt prints no colours."""

    @pytest.mark.parametrize(
        ("words", "code", "shown"),
        [
            (["--help"], 0, b"Exit codes"),
            (["translate", "--beam-size", "x"], 2, b"Error: "),
            (["inspect", "absent"], 1, b"nmt: absent"),
            (["prepare", "toy.toml"], 0, b"encoding"),  # with a progress bar
        ],
        ids=lambda argument: argument[0] if isinstance(argument, list) else "",
    )
    def test_commands(
        self, words: list[str], code: int, shown: bytes, environment: dict[str, str], corpus: Path
    ) -> None:
        exit_code, output = on_terminal(*words, cwd=corpus, **environment)
        assert exit_code == code
        assert shown in output
        assert b"\x1b" not in output

    def test_training_progress(
        self, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        leader, follower = new_terminal()
        with open(follower, "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            log = TrainingLog(tmp_path, 0, 100, validated=True)
            values = dict.fromkeys(("loss", "accuracy", "tokens_per_second", "learning_rate"), 1.0)
            log.step(1, 9.0)
            log.progress(5, 0, values, 60.0)
            log.message("a line above the progress bar")
            log.close()
        shown = all_of(leader)
        assert b"step 1/100" in shown
        assert b"epoch 1" in shown
        assert b"\x1b" not in shown


@pytest.mark.slow
def test_a_whole_training_prints_no_colours(corpus: Path) -> None:
    code, output = on_terminal("train", "toy.toml", cwd=corpus)
    assert code == 0
    assert b"epoch" in output
    assert b"\x1b" not in output


class TestPage:
    def test_variables_in_the_page_exist(self) -> None:
        mentioned = set(re.findall(r"\bNMT_[A-Z][A-Z_]*[A-Z]\b", PAGE.read_text(encoding="utf-8")))
        assert "NMT_MODEL" in mentioned
        assert mentioned - {"NMT_COMMAND_OPTION"} <= VARIABLES

    def test_exit_codes_are_in_page_and_help(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        for code in ("0", "1", "2", "130"):
            assert f"| {code} |" in text
            assert re.search(rf"\b{code} [a-z]", cli.epilog or "")
