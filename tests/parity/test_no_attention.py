"""A recurrent model without attention: its bundle translates like Keras, and what needs attention
is refused in one line or done without it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import nmt_cli
from nmt_cli.cli import cli
from nmt_cli.errors import ModelError
from tests.conftest import Once
from tests.systems import export_bundle, untrained_run

LINES = ["um gato", "", "casa sol três dois", "café " * 9]


@pytest.fixture(scope="module")
def folder(once: Once) -> Path:
    """A folder with a run and its bundle, which is verified."""

    def fill(folder: Path) -> None:
        run = untrained_run(folder, model={"architecture": "rnn", "attention": "none"})
        export_bundle(run, folder / "bundle", verify=True)

    return once("no-attention", fill)


def failed(*words: object) -> str:
    """Return the message of a command that must fail."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert isinstance(done.exception, ModelError), done.output
    return str(done.exception)


def test_a_bundle_translates_like_keras(folder: Path) -> None:
    with nmt_cli.open(folder / "run") as run, nmt_cli.open(folder / "bundle") as bundle:
        for options in ({"beam_size": 1}, {"n_best": 3}, {"prefix": "sol"}):
            one, other = (list(model.translate(LINES, **options)) for model in (run, bundle))
            assert [line.text for line in one] == [line.text for line in other]
            for left, right in zip(one, other, strict=True):
                assert left.score == pytest.approx(right.score, abs=1e-3)
        assert not run.has_attention
        assert not bundle.has_attention


@pytest.mark.parametrize("part", ["run", "bundle"])
def test_what_needs_attention_is_refused(folder: Path, part: str, tmp_path: Path) -> None:
    model = folder / part
    message = f"{model}: the model has no attention to the source; use a model with attention"
    text = tmp_path / "text.xx"
    text.write_text("um gato\n")
    for options in (["--alignments"], ["--unk", "copy"], ["--coverage-penalty", "1"]):
        assert message in failed("translate", text, "-m", model, *options)
    for plot in ("attention", "alignment"):
        assert message in failed("plot", plot, "um gato", "-m", model, "-o", tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()
    with nmt_cli.open(model) as opened, pytest.raises(ModelError, match="has no attention"):
        opened.attention("um gato", "gato")


def test_an_export_with_attention_is_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    message = failed("export", folder / "run", "--onnx", "--attention", "-o", out)
    assert "`attention`: the model has no attention to the source; omit it" in message
    assert not out.exists()


@pytest.mark.parametrize("part", ["run", "bundle"])
def test_documents_are_translated_without_it(folder: Path, part: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>um <b>gato</b> casa</p>")
    words = ["translate", page, "--format", "html", "-m", folder / part]
    words += ["-o", tmp_path / "out.html"]
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "out.html").read_text()
    assert text.count("<b>") == text.count("</b>") == 1
