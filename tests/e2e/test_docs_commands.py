"""Run the commands of the pages, the recipes' headers and the help, with tiny models and texts.

Three pages have tests of their own, which compare what their commands print: the tutorial
(test_tutorial.py), the pages about translating and serving (tests/test_docs.py).
"""

import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.conftest import Once
from tests.console import environment, run
from tests.systems import export_bundle, untrained_run, write_toy_corpus

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/evaluating.md",
    "docs/exporting.md",
    "docs/training.md",
    "docs/reference/cli.md",
    "docs/reference/export-formats.md",
]
ELSEWHERE = {
    "docs/tutorial.md": "tests/e2e/test_tutorial.py",
    "docs/translating.md": "tests/test_docs.py",
    "docs/serving.md": "tests/test_docs.py",
}
# All commands that no test runs as they are printed, by how they begin, and why.
NOT_RUN = {
    "nmt quickstart": "trains for two minutes; tests/e2e/test_quickstart.py runs it",
    "nmt serve": "does not end; tests/test_docs.py and tests/serve run servers",
    "nmt import opus": "a model that is not included; tests/huggingface and tests/marian have some",
    "nmt translate -m runs/opus": "the same",
    "nmt export runs/opus": "the same",
    "nmt import model.npz": "the same",
    "nmt import en-es": "the same",
    "nmt train student-tiny": "text that is not included, and an hour",
    "nmt train docs-pt-en": "text that is not included; tests/training trains on several devices",
    "nmt prepare docs-pt-en": "text that is not included",
    "nmt plot lengths docs-pt-en": "text that is not included; tests/cli/test_plot.py draws others",
    "nmt train mine.toml --set training.precision=mixed_bfloat16": "needs a GPU",
    "KERAS_BACKEND=jax nmt train": "several hosts; tests/training/test_processes.py runs processes",
    "srun ": "needs Slurm",
    "- nmt train": "needs Kubernetes",
    "nmt translate texts -m exports/mine-pt-en -o translated --engine ray": "tests/ray runs jobs",
    "nmt translate 's3:": "needs S3; tests/ray reads URLs",
    "nmt average runs/docs-pt-en": "needs three checkpoints; tests/cli/test_average.py",
    "nmt verify exports/docs-pt-en --run": "docs/exporting.md has the same command",
    "nmt export runs/tiny-pt-en --firefox": "8 bits need a trained model; tests/marian",
    "nmt export runs/mine-de-en --web": "needs an npm package; tests/web",
    "nmt translate -m pt-en letter.txt": "needs an installed wheel; tests/cli/test_package.py",
    "nmt package exports/pt-en && pip": "installs a wheel; tests/cli/test_package.py",
    "eval ": "tests/cli/test_completion.py runs shells",
    "nmt completion fish >": "writes at home; tests/cli/test_completion.py",
    "nmt evaluate -m exports/docs-pt-en --source hostile.pt": "benchmarks/hostile_lines.py",
    "nmt translate text.pt --shard $SLURM": "needs Slurm",
}
# The models that pages name: with random weights, with a log of two steps, and real ones.
RUNS = ["mine-de-en", "phrasebook-pt-en"]
TRAINED = ["mine-pt-en", "one", "two", "docs-pt-en", "ted-pt-en"]
BUNDLES = ["mine-de-en", "mine-de-en-int8", "mine-pt-en", "mine"]
BUNDLES += ["docs-pt-en", "docs-pt-en-int8"]
SHIPPED = {"pt-en": "pt-en", "en-pt": "en-pt", "mine-en-de": "en-pt", "docs-en-pt": "en-pt"}
SHIPPED |= {"large-de-en": "pt-en", "big-pt-en": "pt-en"}
TEXTS = ["test.de", "test.en", "test.pt", "old.en", "new.en", "web.de", "file.de", "letter.txt"]
TEXTS += ["mono.en", "corpus.de", "train.pt", "news.xx", "news.yy"]
CORPORA = ["news", "manuals", "mono.bt", "distilled", "my-corpus", "my-dev"]
STUDENT = {
    "norm": "post",
    "decoder": "ssru",
    "positions": "marian",
    "start": "zero",
    "output_bias": True,
}
# Short trainings and outputs that may exist.
VARIABLES = {
    "NMT_TRAIN_SET": "training.max_steps=2 training.warmup_steps=1 training.validate_every=2 "
    "training.validate_sentences=2",
    **{f"NMT_{command}_FORCE": "1" for command in ("TRAIN", "EXPORT", "BACKTRANSLATE", "DISTILL")},
    "NMT_IMPORT_FORCE": "1",
    "NMT_AVERAGE_FORCE": "1",
}
MINE = """
name = "mine"
data = {source = "xx", target = "yy", root = "corpora", train = ["news"], dev = ["my-dev"]}
tokenizer = {vocab_size = 320, character_coverage = 1.0}
model = {d_model = 32, feed_forward = 64, heads = 2, encoder_layers = 2, decoder_layers = 1}
training = {batch_tokens = 1024, max_steps = 2, warmup_steps = 1, log_every = 1}
decoding = {max_length = 24}
"""


def blocks(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the blocks of commands of a page, each with the recipe that precedes it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith("cli.md"):
        yield "", re.findall(r"^  Example: (.*)$", text, re.M)
        return
    pattern = r"^```(\w*)[^\n]*\n(.*?)^```|((?:^    [^\n]*\n|^\n)+)"
    recipe = ""
    for language, fenced, indented in re.findall(pattern, text, re.M | re.S):
        block = fenced or indented
        if language == "toml":
            recipe = block
        elif language not in ("python", "json") and (commands := list(commands_of(block))):
            yield recipe, commands
            recipe = ""


def commands_of(block: str) -> Iterator[str]:
    """Yield the commands of nmt in a block, without prompts and comments."""
    for line in block.replace("\\\n", " ").splitlines():
        command = re.sub(r"\s{2,}#.*", "", line.strip().removeprefix("$ "))
        if re.search(r"(?<![\w./-])nmt [a-z]", command) and not command.startswith("run written"):
            yield re.sub(r"\s{2,}", " ", command)


def is_run(command: str) -> bool:
    return not command.startswith(tuple(NOT_RUN))


def test_each_command_is_run_somewhere_or_listed() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += [ROOT / "exports" / "README.md", ROOT / "benchmarks" / "README.md"]
    for page in pages:
        name = str(page.relative_to(ROOT))
        if name not in PAGES and name not in ELSEWHERE:
            left = [command for _, block in blocks(name) for command in block if is_run(command)]
            assert not left, f"{name}: test these, or list them in NOT_RUN"


def test_the_list_is_no_longer_than_it_must_be() -> None:
    pages = [*PAGES, *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
    pages += ["benchmarks/README.md"]
    printed = [command for page in pages for _, block in blocks(page) for command in block]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in printed), start


@pytest.fixture
def world(once: Once, tmp_path: Path) -> Path:
    """A folder with everything that the pages name."""
    folder = tmp_path / "world"
    shutil.copytree(once("world", fill) / "world", folder, symlinks=True)
    return folder


def fill(folder: Path) -> None:
    """Make the texts, the runs and the bundles of the world."""
    world = folder / "world"
    for path in (world / "corpora", folder / "tiny", folder / "student"):
        path.mkdir(parents=True)
    write_toy_corpus(world)
    sides = [(world / f"train.{side}").read_text(encoding="utf-8") for side in ("xx", "yy")]
    for name in TEXTS:
        (world / name).write_text("\n".join(sides[0].split("\n")[:20]) + "\n", encoding="utf-8")
    for name, place in product(CORPORA, (world, world / "corpora")):
        for text, codes in zip(sides, (("xx", "pt"), ("yy", "en")), strict=True):
            for code in codes:
                (place / f"{name}.{code}").write_text(text, encoding="utf-8")
    student = untrained_run(folder / "student", model=STUDENT)
    untrained = untrained_run(folder / "tiny", data={"test": ["train"]})
    export_bundle(untrained, folder / "bundle", attention="all", verify=True)
    (world / "mine.toml").write_text(MINE, encoding="utf-8")
    run("nmt train mine.toml -o ../trained", world, environment(folder))
    shutil.copytree(student.folder, world / "runs" / "tiny-pt-en")
    shutil.copytree(folder / "tiny" / "prepared", world / "prepared" / "toy-xx-yy")
    for name in RUNS:
        shutil.copytree(untrained.folder, world / "runs" / name)
    for name in TRAINED:
        shutil.copytree(folder / "trained", world / "runs" / name)
    for name in BUNDLES:
        shutil.copytree(folder / "bundle", world / "exports" / name)
    for name, pair in SHIPPED.items():
        (world / "exports" / name).symlink_to(ROOT / "exports" / pair)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: str, world: Path, tmp_path: Path) -> None:
    variables = {**environment(tmp_path), **VARIABLES}
    failed = []
    for recipe, block in blocks(page):
        (world / "mine.toml").write_text(recipe or MINE, encoding="utf-8")
        for command in filter(is_run, block):
            script = f"set -o pipefail; {command}\necho exit code $?"
            *printed, code = run(script, world, variables)
            if code != "exit code 0":
                failed.append(f"{command}: {code}: {printed[-1:]}")
    assert not failed, "\n".join(failed)
