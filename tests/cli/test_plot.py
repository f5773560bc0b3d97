"""nmt plot and nmt report, at the command line."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from nmt_cli import models
from nmt_cli.cli import cli
from nmt_cli.errors import NmtError
from nmt_cli.plot.report import _drawings
from tests.cli.conftest import assert_fails, nmt
from tests.cli.test_shell import BUNDLE, RUN
from tests.test_shipped import EXPORTS


@pytest.fixture
def here(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(workdir)
    return workdir


def run(*words: str) -> Path:
    """Run nmt in this process, where Keras is loaded only once, with an image as output."""
    done = CliRunner().invoke(cli, [*words, "-o", "p.png"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    return Path("p.png")


@pytest.mark.parametrize(
    "words",
    [
        ("attention", "o gato está aqui.", "-m", RUN),
        ("attention", "o gato.", "--target", "the cat.", "-m", RUN, "--part", "decoder"),
        ("attention", "o gato.", "-m", RUN, "--part", "encoder", "--layer", "1", "--head", "2"),
        ("attention", "o gato."),
        ("attention", "o gato.", "--part", "encoder"),
        ("alignment", "o gato está aqui.", "-m", RUN),
        ("masks", "o gato.", "sim", "--target", "the cat.", "--target", "yes", "-m", BUNDLE),
        ("masks", "--ids", "7 6 0 0 1", "1 2 3 0 0"),
        ("positions", RUN, "--length", "20"),
        ("positions", RUN, "--length", "20", "--curves", "positions"),
        ("positions", RUN, "--length", "20", "--curves", "positions", "--position", "3"),
        ("positions", "toy.toml", "--dimension", "3", "--set", "model.positions=concatenated"),
        ("embeddings", "-m", RUN),
        ("embeddings", "-m", RUN, "--words", "o, gato,casas", "--side", "target"),
        ("embeddings", "-m", BUNDLE, "--words", "gato"),
        ("schedule", "toy.toml", "ted-pt-en", "--steps", "100"),
        ("history", RUN),
        ("history",),
        ("lengths", "toy.toml"),
    ],
    ids=" ".join,
)
def test_every_plot_is_drawn(here: Path, words: tuple[str, ...]) -> None:
    run("plot", *words)


REFUSED = [
    (
        ("attention", "o gato.", "-m", BUNDLE),
        "was exported without attention weights",
        "`attention`",
    ),
    (
        ("attention", "o gato.", "-m", BUNDLE, "--part", "encoder"),
        f"{BUNDLE}: was exported without attention weights",
        "use the run",
    ),
    (("alignment", " ", "-m", RUN), "the source is blank", "give one sentence"),
    (
        ("alignment", "o gato. " * 200, "-m", RUN),
        "the source is blank, or has more",
        "give one sentence",
    ),
    (
        ("alignment", "o gato.", "--target", "the cat. " * 200, "-m", RUN),
        "the target is blank, or has more",
        "give one sentence",
    ),
    (("attention", "o gato.", "-m", RUN, "--layer", "9"), "`layer=9`: the model has 1", "give 1"),
    (("positions", RUN, "--dimension", "16"), "`dimension=16`: the table has 16", "give 0 to 15"),
    (
        ("positions", RUN, "--curves", "positions", "--length", "9", "--position", "9"),
        "`position=9`: the table has 9",
        "give 0 to 8",
    ),
    (
        ("embeddings", "-m", RUN, "--words", "gato,木,日本"),
        "not in the vocabulary: 木, 日本",
        "give other `words`",
    ),
    (
        ("positions", "toy.toml", "--set", "model.positions=none"),
        "its model has no position vectors",
        "use a Transformer",
    ),
    (
        ("positions", "toy.toml", "--set", "model.positions=learned"),
        "its positions are learned, and a recipe has no weights",
        "name a run folder",
    ),
    (("history", "exports"), "exports: not a run", "train first"),
    (
        ("lengths", "toy.toml", "--set", "training.batch_tokens=0"),
        "with training.batch_tokens = 0, the size of a batch is not known before a training",
        "set it to a number",
    ),
    (("lengths", "ted-pt-en"), "not a prepared folder", "run nmt prepare"),
    (("schedule", "nothing"), "nothing: no such recipe", "nmt comes with"),
]


@pytest.mark.parametrize(
    ("words", "message", "hint"), REFUSED, ids=lambda argument: str(argument)[:40]
)
def test_invalid_plots(here: Path, words, message: str, hint: str) -> None:
    with pytest.raises(NmtError) as caught:
        CliRunner().invoke(cli, ["plot", *words, "-o", "p.png"], catch_exceptions=False)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert not Path("p.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("masks", "--ids", "1 2", "3 x"), "--ids: 'x' is not a token id"),
        (("masks", "--ids", "1 2", ""), "--ids: give at least one id for each sentence"),
        (("masks", "a", "b", "--target", "c"), "give one --target for each SOURCE, or none"),
        (
            ("positions", "toy.toml", "--curves", "all", "--dimension", "1"),
            "--dimension needs --curves dimensions",
        ),
        (("positions", "toy.toml", "--position", "1"), "--position needs --curves positions"),
    ],
    ids=str,
)
def test_plots_that_contradict_themselves(here: Path, words: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(cli, ["plot", *words, "-o", "p.png"])
    assert done.exit_code == 2
    assert message in done.output


def test_a_bundle_has_self_attention(here: Path, with_attention: Path) -> None:
    shutil.rmtree("exports")
    shutil.copytree(with_attention, "exports/with-attention")
    for part in ("encoder", "decoder"):
        run("plot", "attention", "o gato.", "--part", part)


def test_a_plot_needs_an_output_and_a_format(workdir: Path) -> None:
    result = nmt("plot", "history", RUN, cwd=workdir)
    assert result.code == 2
    assert "give -o FILE, --show, or both" in result.err
    result = nmt("plot", "history", RUN, "-o", "p.jpg", cwd=workdir)
    assert_fails(result, "p.jpg: unknown image format", "use a name that ends in .png or .svg")
    environment = {"MPLBACKEND": "agg", "DISPLAY": ""}
    result = nmt("plot", "history", RUN, "--show", cwd=workdir, environment=environment)
    assert_fails(result, "--show: there is no display", "--output")


CHROMIUM = next(
    (path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), ""
)
# The script reports in the page's title what the browser rendered.
PROBE = """<script>
window.addEventListener("load", () => {
  const images = [...document.images];
  const whole = images.filter(each => each.complete && each.naturalWidth > 100);
  const inside = [...document.querySelectorAll("td")].some(each => each.scrollWidth > 2000);
  const dark = getComputedStyle(document.body).backgroundColor;
  document.title = `page ${document.documentElement.scrollWidth}, ` +
    `${dark}, images ${whole.length} of ${images.length}, overflow ${inside}, ` +
    `foreign ${performance.getEntriesByType("resource").filter(
      each => !each.name.startsWith("data:")).length}`;
});
</script>"""


def test_a_report_is_one_self_contained_page(here: Path, tmp_path: Path) -> None:
    source = here / RUN / "held_out.source.txt"
    lines = source.read_text(encoding="utf-8").splitlines()
    lines[0] = "<b>o gato</b> & a água"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = CliRunner().invoke(cli, ["report", RUN, "--lines", "20"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (here / RUN / "report.html").read_text(encoding="utf-8")
    for part in ("toy-pt-en", "nrefs:1|bs:1000|", "Worst sentences", "Recipe"):
        assert part in page
    for metric in ("BLEU", "chrF++", "TER"):
        cells = re.search(rf"<td>{re.escape(metric)}<.*?>([\d.]+)<.*?>([\d.]+) to ([\d.]+)<", page)
        score, low, high = map(float, cells.groups())
        assert low <= score <= high
    assert "unreliable with fewer than 100 lines" in page
    assert "&lt;b&gt;o gato&lt;/b&gt; &amp; a água" in page
    assert "<b>o gato" not in page
    assert "decoder_layers = 1" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    if not CHROMIUM:
        pytest.skip("no browser is installed")
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("</head>", f"{PROBE}</head>"), encoding="utf-8")
    images = page.count("<img ")
    assert images >= 1
    shown = f"images {images} of {images}, overflow false, foreign 0"
    for width, dark in ((360, False), (1200, True)):
        ground = "rgb(22, 24, 28)" if dark else "rgb(255, 255, 255)"
        title = rendered(probed, tmp_path, width, dark)
        # Headless Chromium has no window narrower than 500 pixels; a frame does.
        assert title == f"page {width}, {ground}, {shown}"


def rendered(page: Path, folder: Path, width: int, dark: bool) -> str:
    """Return the title that the script gives a page in a frame of some width."""
    frame = folder / f"frame-{width}.html"
    frame.write_text(
        f"<iframe id=page src='{page.name}' width={width} height=2000 frameborder=0></iframe>"
        "<script>page.onload = () => setTimeout(() => "
        "{ document.title = page.contentDocument.title }, 500)</script>",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user"]
    options += ["--allow-file-access-from-files", "--hide-scrollbars", "--virtual-time-budget=9000"]
    options.append(f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    shown = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", f"file://{frame}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr[-500:]
    return shown.stdout.partition("<title>")[2].partition("</title>")[0]


def test_a_report_draws_the_longest_sentences_that_can_be_read() -> None:
    source = ["Sim.", "O gato está aqui.", "a água " * 12, "Eu gosto do livro azul."]
    with models.open(EXPORTS / "pt-en") as model:
        drawings = _drawings(model, source, list(model.translate(source)))
    assert [line for line, *_ in drawings] == [source[3], source[1]]
    for _, translation, *images in drawings:
        assert translation.endswith(".")
        assert all(image.startswith("data:image/svg+xml;base64,") for image in images)


def test_a_report_does_not_overwrite_other_files(here: Path, tmp_path: Path) -> None:
    kept = tmp_path / "notes.txt"
    kept.write_bytes(b"kept")
    for output, message in (
        (kept, "notes.txt: not the name of an HTML file; use a name that ends in .html"),
        (tmp_path / "a.html", "a.html: is a folder, not a file"),
    ):
        (tmp_path / "a.html").mkdir(exist_ok=True)
        with pytest.raises(NmtError, match=message):
            CliRunner().invoke(cli, ["report", RUN, "-o", str(output)], catch_exceptions=False)
    assert kept.read_bytes() == b"kept"


def test_a_run_without_a_log_has_no_report(here: Path) -> None:
    (here / RUN / "log.jsonl").unlink()
    with pytest.raises(NmtError, match="the log is empty"):
        CliRunner().invoke(cli, ["report", RUN], catch_exceptions=False)
    assert not (here / RUN / "report.html").exists()
