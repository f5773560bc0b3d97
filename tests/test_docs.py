"""The documentation matches the code: links, names of files, commands, recipes and examples."""

import dataclasses
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from nmt_cli.bundle.manifest import DIGEST, Manifest
from nmt_cli.cli import cli
from nmt_cli.recipe.reading import load_recipe, recipe_from
from nmt_cli.text.tokenizer import TokenizerSpec
from tests.console import blocks, commands, environment, masked, run, serving

if TYPE_CHECKING:
    from nmt_cli.training.run import Run
    from tests.conftest import Once

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "benchmarks").glob("*.md")),
    ROOT / "exports" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
FOLDERS = {"nmt_cli", "benchmarks", "tests", "tools", "docs", "recipes"}
PACKAGES = {path.name for path in (ROOT / "nmt_cli").iterdir() if path.is_dir()}
PYTHON = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_overview_has_the_packages_in_the_order_of_their_layers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = " ".join(project["tool"]["importlinter"]["contracts"][0]["layers"])
    order = re.findall(r"nmt_cli\.(\w+)", layers)
    page = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.M)
    assert listed == order[: order.index("recipe") + 1]


def test_every_key_of_a_bundle_has_a_row_in_its_specification() -> None:
    page = (ROOT / "docs" / "reference" / "bundle-format.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page, re.M)
    rows = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    for kind in (Manifest, TokenizerSpec):
        assert {item.name for item in dataclasses.fields(kind)} <= rows
    assert DIGEST in rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_recipes_in_the_pages_are_valid(page: Path) -> None:
    for block in re.findall(r"^ *```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.M | re.S):
        values = tomllib.loads(block)
        values.pop("extends", None)
        recipe_from(values, where=page.name)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_are_valid_and_have_a_source_for_each_corpus_or_none(path: Path) -> None:
    data = load_recipe(path).data
    corpora = (*data.train, *data.synthetic)
    names = {corpus.rpartition("/")[2].replace(":", ".") for corpus in corpora}
    assert data.weights.keys() <= names
    if not path.stem.endswith("-student"):  # the sources of its teacher's text
        assert data.sources.keys() in (set(), names)


@pytest.mark.parametrize(
    "page",
    [*PAGES[1:], *sorted((ROOT / "benchmarks").glob("*.py"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_extras_are_installed_from_the_checkout(page: Path) -> None:
    """The package is not on PyPI: 'nmt_cli[EXTRA]' needs one that is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = page.read_text(encoding="utf-8")
    assert "nmt_cli[" not in text
    for extras in re.findall(r"['/](?:\.|nmt)\[([a-z0-9,-]+)\]", text):
        assert set(extras.split(",")) <= project["optional-dependencies"].keys(), extras


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"(?<![\w/.-])((?:\w+/)+(?:\w+\.(?:py|html|toml|md))?)(?![\w*])", text):
        package, _, rest = name.partition("/")
        if package in PACKAGES or (package in FOLDERS and rest):
            assert (ROOT / name).exists() or (ROOT / "nmt_cli" / name).exists(), name


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as on GitHub."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *RECIPES], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    for words in calls(page):
        command: click.Command = cli
        if words[0].startswith("-"):
            continue
        while isinstance(command, click.Group) and words and words[0].islower():
            assert words[0] in command.commands, " ".join(words)
            command = command.commands[words.pop(0)]
        known = {name for item in command.params for name in (*item.opts, *item.secondary_opts)}
        for word in words:
            if re.fullmatch(r"--?[a-z][a-z0-9-]*", word):
                assert word in known | {"-h", "--help"}, f"nmt {command.name} {word}"


def calls(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every nmt call in a page's code or a recipe's header."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".toml":
        code = re.findall(r"^# (.*)$", text, re.M)
    else:
        fences = re.findall(r"^ *```(.*?)\n(.*?)```", text, re.M | re.S)
        fenced = [block for language, block in fences if language != "python"]
        indented = re.findall(r"^    .*$", text, re.M)
        prose = re.sub(r"^ *```.*?```", "", text, flags=re.M | re.S)
        spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", prose)
        code = [*"\n".join([*fenced, *indented]).replace("\\\n", " ").split("\n"), *spans]
    for line in code:
        # Up to the end of the command: a pipe, a closing bracket or quote, or a comment.
        for call in re.findall(r"(?<![\w./-])nmt ((?:'[^']*'|\"[^\"]*\"|[^|;)`'\"#])*)", line):
            if re.match(r"[a-z]+  ", call):  # a list of commands and their descriptions
                continue
            words = re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", call.replace("\n", " ")).split()
            if words and re.fullmatch(r"[a-z]+|--?[a-z]+", words[0]):
                yield words


@pytest.fixture
def with_models(tiny_run: "Run", once: "Once", tmp_path: Path) -> Path:
    """A folder with the run, the bundle and the text that docs/python.md names."""
    from tests.systems import export_bundle

    def export(folder: Path) -> None:
        export_bundle(tiny_run, folder / "bundle", verify=False, attention="all")

    bundle = once("bundle-attention", export) / "bundle"
    for name, model in (("exports", bundle), ("runs", tiny_run.folder)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine-pt-en").symlink_to(model)
    (tmp_path / "text.pt").write_text("um gato\n\ndois\n", encoding="utf-8")
    return tmp_path


@pytest.mark.train
def test_the_examples_of_the_python_api_run(
    with_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(with_models)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PYTHON, re.M | re.S):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "exports/missing" in capsys.readouterr().out


def test_the_commands_of_the_translating_page_print_what_it_shows(tmp_path: Path) -> None:
    variables = {**environment(tmp_path), "NMT_MODEL": "exports/pt-en"}
    (tmp_path / "exports").symlink_to(ROOT / "exports")
    for _, block in blocks("translating.md"):
        for command, expected in commands(block):
            assert masked(run(command, tmp_path, variables)) == masked(expected), command


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_requests_of_the_serving_page_get_the_responses_that_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="needs the extra serve")
    variables = environment(tmp_path)
    with serving("nmt serve exports/pt-en exports/en-pt", ROOT, variables) as port:
        for _, block in blocks("serving.md"):
            for command, expected in commands(block):
                printed = run(command.replace(":5000", f":{port}"), tmp_path, variables)
                assert masked(printed) == masked(expected), command
