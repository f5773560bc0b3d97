"""The notebooks run, and their committed outputs are those of the code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
def test_the_notebooks_run(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in NOTEBOOKS]
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "run_notebooks.py", "--check"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert [path.read_bytes() for path in NOTEBOOKS] == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_was_run_in_order(path: Path) -> None:
    assert path.stat().st_size < 1_000_000
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert "/tmp/" not in text


def test_the_tour_says_how_to_open_it_and_how_long_it_took() -> None:
    text = (ROOT / "docs" / "notebooks" / "tour.ipynb").read_text(encoding="utf-8")
    first, *others = json.loads(text)["cells"]
    intro = "".join(first["source"])
    assert "    pip install '.[train,plot]' jupyterlab\n" in intro
    assert "    jupyter lab docs/notebooks/tour.ipynb\n" in intro
    (stated,) = re.findall(r"The training took ([\d.]+ minutes)", intro)
    assert f"steps in {stated}" in json.dumps(others)
