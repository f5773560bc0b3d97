"""nmt writes nothing but what was asked for, and connects to nothing."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest

from tests.cli.conftest import NMT, nmt
from tests.translators import load_bundle

PYTHON_API = (
    "import sys, nmt_cli\n"
    "for each in nmt_cli.open(sys.argv[1], workers=2, threads=2).translate(['um', 'dois']):\n"
    "    print(each.text)\n"
)
COMMANDS = {
    "command": [*NMT, "translate", "-m"],
    "Python": [sys.executable, "-c", PYTHON_API],
}
# Every command that loads a large library, with a system that it trains itself.
ALL_COMMANDS = (
    "train toy.toml",
    "evaluate -m runs/toy-pt-en",
    "export runs/toy-pt-en --onnx",
    "export runs/toy-pt-en --saved-model",
    "translate",
    "plot alignment -m runs/toy-pt-en o -o plot.png",
    "report runs/toy-pt-en",
)
COMPLAINT = re.compile(r"warn|home|permission|matplotlib|keras[./]", re.IGNORECASE)
# Only the traced calls stop a process.
TRACED = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "trace"]
TRACED += ["-e", "trace=connect,sendto,sendmsg,sendmmsg"]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_translating_writes_nothing_at_home(
    tiny_bundle: Callable[[str], Path], tmp_path: Path, command: list[str]
) -> None:
    # The harness checks that the home folder stays empty.
    done = nmt(tiny_bundle("float32"), cwd=tmp_path, stdin=b"um dois\n", command=command)
    assert (done.code, done.err) == (0, "")


def test_telemetry_is_off_if_onnxruntime_was_imported_first(
    tiny_bundle: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(onnxruntime, "disable_telemetry_events", lambda: calls.append("off"))
    load_bundle(tiny_bundle("float32"))
    assert calls


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.parametrize("home", [{}, {"HOME": "/dev/null/home"}], ids=["empty", "unwritable"])
def test_a_plot_writes_nothing_at_home(system: Path, tmp_path: Path, home: dict[str, str]) -> None:
    """Of the libraries that it loads, Keras and matplotlib have files at home by default. They may
    not complain if it cannot be written."""
    words = ["plot", "alignment", "-m", system / "runs" / "toy-pt-en", "o gato."]
    done = nmt(*words, "-o", "plot.png", cwd=tmp_path, environment=home, process=True)
    assert (done.code, done.err) == (0, "plot written to plot.png\n")


@pytest.mark.slow
def test_no_command_writes_at_home_or_connects(corpus: Path) -> None:
    # The telemetry of onnxruntime waits some seconds before it looks up its host.
    idle = ["sh", "-c", '(cat; sleep 12) | "$@"', "sh"]
    traced = TRACED if shutil.which("strace") else []
    for words in ALL_COMMANDS:
        command = [*(idle if words.startswith("translate") else []), *traced, *NMT]
        done = nmt(*words.split(), cwd=corpus, stdin=b"o gato\n", command=command)
        assert done.code == 0, done.err
        assert not COMPLAINT.search(done.err), done.err
        if traced:
            calls = (corpus / "trace").read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"AF_INET|sin_port", calls), calls
