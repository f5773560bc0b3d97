"""The quickstart as a new user sees it, with real training and a real installation (slow)."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NMT = [sys.executable, "-m", "nmt_cli"]


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """The folder and the output of a finished quickstart."""
    folder = tmp_path_factory.mktemp("quickstart")
    done = subprocess.run(
        [*NMT, "quickstart"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, done


@pytest.mark.slow
def test_it_reaches_80_bleu_on_unseen_combinations(quickstart):
    _, done = quickstart
    row = next(line for line in done.stdout.splitlines() if "\tBLEU\t" in line)
    _, _, value, *_, signature = row.split("\t")
    assert float(value) >= 80
    assert "tok:13a" in signature


@pytest.mark.slow
def test_it_shows_every_command(quickstart):
    _, done = quickstart
    for command in ("prepare", "train", "evaluate", "export", "translate"):
        assert f"$ nmt {command}" in done.stderr
    assert "Where is the pharmacy?" in done.stdout


@pytest.mark.slow
def test_its_last_command_works_in_the_same_shell(quickstart):
    folder, done = quickstart
    last = done.stderr.splitlines()[-1].removeprefix("$ ")
    assert "translate -m exports/phrasebook-pt-en" in last
    again = subprocess.run(
        last, shell=True, cwd=folder, capture_output=True, text=True, check=False
    )
    assert again.stdout == "Where is the pharmacy?\n", again.stderr


@pytest.mark.slow
def test_it_reports_progress_from_the_first_step_on(quickstart):
    _, done = quickstart
    assert "Expect 90 BLEU" in done.stderr
    assert "the first step took" in done.stderr


@pytest.mark.slow
def test_its_bundle_needs_only_the_base_install(quickstart, tmp_path):
    folder, _ = quickstart
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", ROOT]
    subprocess.run(pip, check=True, capture_output=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list"], check=True, capture_output=True, text=True
    ).stdout.lower()
    assert "tensorflow" not in listed
    assert "keras" not in listed
    assert "lxml" not in listed
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "nmt", "translate"],
        input="Onde fica a farmácia?\n\nEla não quer duas maçãs verdes.\n",
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["Where is the pharmacy?", ""]
    assert len(done.stdout.splitlines()) == 3
    # A missing package is named, without a traceback.
    missing = subprocess.run(
        [tmp_path / "venv" / "bin" / "nmt", "train", "phrasebook"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert missing.returncode == 1
    assert "pip install 'nmt_cli[train]'" in missing.stderr
    assert "Traceback" not in missing.stderr
