"""Every export has a card that shows how to use it."""

import inspect
import re
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

from nmt_cli.bundle.card import bundle_card
from nmt_cli.bundle.manifest import Verification
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.training.run import Run

ROOT = Path(__file__).parents[2]
USAGE = sorted(Path(str(files("nmt_cli.export"))).glob("usage/*.md"))


@pytest.fixture(scope="module")
def trained(tiny_run: Run) -> TrainedModel:
    return TrainedModel.open(tiny_run, ExportOptions(checkpoint=tiny_run.last))


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_format_writes_a_card(name: str) -> None:
    verify = import_module(EXPORTERS[name].module).verify
    source = inspect.getsource(getattr(verify, "func", verify))
    assert ("_write_manifest(" if name == "onnx" else "return trained.write_card(") in source
    assert name == "onnx" or any(name.split("-")[0] in path.stem for path in USAGE)


@pytest.mark.parametrize("path", USAGE, ids=lambda path: path.stem)
def test_usage_is_filled_in(path: Path, trained: TrainedModel, tmp_path: Path) -> None:
    trained.write_card(tmp_path, "float32", "as a test", path.stem, Verification())
    card = (tmp_path / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert card.startswith("# toy-xx-yy: xx to yy, as a test\n")
    usage = card.partition("## Use\n")[2].partition("## Training\n")[0]
    assert "THIS_FOLDER" in usage or "model.run(" in usage
    assert not re.search(r"\{[a-z]+\.", usage)
    for block in re.findall(r"(?:^    .*\n|^\n)+", usage, re.M):
        if "import " in block:
            compile(inspect.cleandoc(block), path.name, "exec")


def test_signatures_stay_in_their_cells() -> None:
    manifest = read_manifest(ROOT / "exports" / "pt-en")
    (row,) = re.findall(r"^\| first .* BLEU .*$", bundle_card(manifest), re.M)
    assert row.endswith(r"| `nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:2.6.0` |")
