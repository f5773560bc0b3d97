"""Completion in real shells with the output of nmt completion."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from nmt_cli.cli import cli
from tests.cli.conftest import nmt

# For each shell: print the completions of the last argument. Functions that exist only in
# interactive shells are replaced.
REQUESTS = {
    "bash": """
        compopt() { :; }
        COMP_WORDS=(nmt "$@"); COMP_CWORD=$#
        _nmt_completion nmt
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        _path_files() { : }
        compadd() { print -l -- ${(P)@[-1]} }
        _describe() { print -l -- ${${(P)@[-2]}%%:*} }
        words=(nmt "$@"); CURRENT=$#words
        _nmt_completion
    """,
    "fish": """
        complete -C "nmt $argv"
    """,
}
QUIET = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}


@dataclass(frozen=True)
class Script:
    """The output of nmt completion for a shell."""

    shell: str
    text: str

    def completions(self, workdir: Path, *words: str) -> list[str]:
        """Return the completions of the last word."""
        # Without zsh's completion system there is no compdef.
        before = "compdef() { : }\n" if self.shell == "zsh" else ""
        request = workdir / "request"
        request.write_text(before + self.text + REQUESTS[self.shell], encoding="utf-8")
        path = f"{workdir / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [self.shell, *QUIET[self.shell], request.name, *words],
            cwd=workdir,
            env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        # fish adds a tab and a description to some.
        return [line.partition("\t")[0] for line in done.stdout.splitlines() if line]


@pytest.fixture(params=sorted(REQUESTS), scope="module")
def script(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Script:
    shell = str(request.param)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    printed = nmt("completion", shell, cwd=tmp_path_factory.mktemp("anywhere"))
    assert (printed.code, printed.err) == (0, "")
    return Script(shell, printed.out.decode())


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A folder with two bundles, a run, and nmt in bin/."""
    program = tmp_path / "bin" / "nmt"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom nmt_cli.cli import main\nmain()\n")
    program.chmod(0o755)
    for marker in (
        "exports/one/manifest.json",
        "exports/one-int8/manifest.json",
        "exports/.half/manifest.json",
        "exports/tensorflow/saved_model.pb",
        "runs/one/run.json",
    ):
        (tmp_path / marker).parent.mkdir(parents=True)
        (tmp_path / marker).touch()
    return tmp_path


class TestEachShell:
    def test_commands(self, script: Script, workdir: Path) -> None:
        assert script.completions(workdir, "tra") == ["train", "translate"]

    def test_models(self, script: Script, workdir: Path) -> None:
        bundles = ["exports/one", "exports/one-int8"]
        assert script.completions(workdir, "translate", "-m", "exports/o") == bundles

    def test_recipes(self, script: Script, workdir: Path) -> None:
        assert script.completions(workdir, "train", "phr") == ["phrasebook"]


class TestNames:
    """Completions for any shell, as (kind, value)."""

    def completions(self, *words: str) -> list[tuple[str, str]]:
        bash = BashComplete(cli, {}, "nmt", "_NMT_COMPLETE")
        *before, last = words
        return [(each.type, each.value) for each in bash.get_completions(before, last)]

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["plot", "attention", "Olá", "-m", "r"], ["runs/one"]),
            (["inspect", "exports/one-"], ["exports/one-int8"]),
            (["verify", "e"], ["exports/one", "exports/one-int8"]),
            (["verify", "exports/one", "--run", ""], ["runs/one"]),
            (["export", "r"], ["runs/one"]),
            (["export", "e"], []),
        ],
        ids=" ".join,
    )
    def test_folders(
        self,
        words: list[str],
        expected: list[str],
        workdir: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(workdir)
        folders = [("plain", each) for each in expected]
        assert self.completions(*words) == (folders or [("dir", words[-1])])

    def test_recipes_are_files_too(self) -> None:
        assert self.completions("train", "ted") == [("plain", "ted-pt-en")]
        assert self.completions("plot", "schedule", "docs-pt-en", "ted") == [("plain", "ted-pt-en")]
        assert self.completions("train", "mine") == [("file", "mine")]

    def test_options(self) -> None:
        assert self.completions("translate", "--beam") == [("plain", "--beam-size")]


class TestCommand:
    def test_the_help_says_how_to_install_it(self, tmp_path: Path) -> None:
        result = nmt("completion", "--help", cwd=tmp_path)
        for words in (b".zshrc", b"bash-completion/completions/nmt", b"fish/completions/nmt.fish"):
            assert words in result.out

    def test_an_unsupported_shell(self, tmp_path: Path) -> None:
        result = nmt("completion", "tcsh", cwd=tmp_path)
        assert result.code == 2
        assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.err
