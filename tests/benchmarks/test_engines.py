"""The comparison of engines: what is left out, what is measured, and its table."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from comparison import process
from comparison.engines import ENGINES, SCRIPT, Model, exports, installed_bytes, measure
from comparison.plan import Text
from engines import table

from nmt_cli.training.run import Run
from tests.systems import WORDS

LINES = [" ".join(WORDS[start : start + 3]) for start in range(4)]


def test_engines_that_are_absent_or_have_no_such_model_are_left_out(
    tiny_run: Run, tmp_path: Path
) -> None:
    by_format = {engine.format: replace(engine, packages=()) for engine in ENGINES}
    absent = replace(by_format["marian"], packages=("no-such-package",))
    said: list[str] = []
    engines = [absent, by_format["firefox"]]
    assert list(exports(tiny_run, tmp_path, said.append, engines)) == []
    assert said == [
        "Marian left out: no-such-package is not installed",
        "Firefox left out: Firefox's engine cannot represent model.start = 'embedding' "
        "(its decoder starts from zeros)",
    ]


def test_rows_and_table(
    tiny_run: Run, tiny_bundle: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SETTLE_SECONDS", 0)
    tokenizers = tiny_run.tokenizers()
    text = Text.of(LINES, tokenizers.source, tiny_run.recipe.decoding)
    model = Model(ENGINES[0], "float32", tiny_bundle("float32"))
    rows = json.loads(json.dumps(measure([model], text, tokenizers.target, repeats=1, threads=1)))
    assert [row["beam"] for row in rows] == [1, 4]
    for row in rows:
        assert row["same lines"] == 1
        assert row["tokens/s"]["min"] <= row["tokens/s"]["median"] <= row["tokens/s"]["max"]
        assert row["single, ms"] > 0
    assert rows[0]["peak MiB"] > 10
    assert rows[0]["installed MB"] > 1 > rows[0]["model MB"] > 0
    machine = {"date": "2026-01-01", "cpu": "a processor", "instructions": ["avx2"]}
    result = {"model": "tiny", "machine": machine, "versions": {"nmt": "1"}, "rows": rows}
    result |= {"settings": {"threads": 1, "repeats": 1}, "text": {"lines": 4}}
    first, _, reason, _, heads, _, *cells = table(result | {"left_out": ["Marian left out"]})
    assert first == "tiny, 4 lines, 1 repeats, threads: 1; 2026-01-01, a processor (avx2); nmt 1"
    assert reason == "- Marian left out"
    assert [line.count("|") for line in cells] == [heads.count("|")] * 2
    assert cells[0].startswith("| nmt, float32 | 1 | own | ")


def test_an_installation_has_what_its_packages_require() -> None:
    def own_size(package: str) -> int:
        return sum(file.size or 0 for file in metadata.files(package) or [])

    assert installed_bytes(["numpy"]) == own_size("numpy")
    required = own_size("onnxruntime") + own_size("numpy")
    assert installed_bytes(["onnxruntime"]) > required
    assert installed_bytes(["nmt_cli", "numpy"]) == installed_bytes(["nmt_cli"]) > required


def test_workers_load_only_the_libraries_of_their_engine() -> None:
    others = {"numpy", "onnxruntime", "sentencepiece", "nmt_cli.search"}
    script = (
        f"import sys, comparison.engine_worker; sys.exit(any(m in sys.modules for m in {others}))"
    )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", script], env=os.environ | path).returncode == 0


@pytest.mark.slow
def test_a_run_from_the_shell(tiny_run: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(tiny_run.folder), "--text", str(tmp_path / "text")]
    command += ["--repeats", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["text"] == {"lines": 4, "left_out": 0}
    engines = {row["engine"].partition(",")[0] for row in result["rows"]}
    left_out = {line.partition(" ")[0] for line in result["left_out"]}
    assert engines | left_out == {engine.name for engine in ENGINES}
    assert "nmt" in engines
