"""A tiny model trained and exported by ``nmt``, and checks of command results."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Once
from tests.harness import LISTING_MODULES, NMT, Result, nmt

__all__ = ["LISTING_MODULES", "NMT", "Result", "assert_fails", "nmt", "snapshot"]

RECIPE = """
name = "toy"
[data]
train = ["toy"]
test = ["toy"]
sources = {toy = "CC0: this test"}
[tokenizer]
vocab_size = 300
[model]
d_model = 16
feed_forward = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
[training]
batch_tokens = 512
max_steps = 20
validate_every = 20
validate_sentences = 4
log_every = 5
[decoding]
max_length = 32
length_extra = 2
"""

SUBJECTS = (
    ("o gato", "the cat"),
    ("o cão", "the dog"),
    ("a menina", "the girl"),
    ("o menino", "the boy"),
    ("a casa", "the house"),
    ("o livro", "the book"),
    ("o pão", "the bread"),
    ("a mesa", "the table"),
    ("o carro", "the car"),
    ("a flor", "the flower"),
)
PREDICATES = (
    ("está aqui", "is here"),
    ("está ali", "is there"),
    ("já não existe", "is no more"),
    ("não fala", "does not speak"),
    ("custa dez euros", "costs ten euros"),
)
ENDS = ((".", "."), ("!", "!"), (" hoje.", " today."), (" agora.", " now."))


def assert_fails(result: Result, *fragments: str, code: int = 1) -> None:
    """Check that a command failed with one line that contains the fragments."""
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    assert "unexpected" not in result.message
    assert result.message.startswith("nmt: "), result.err
    assert result.err.count("nmt: ") == 1
    for fragment in fragments:
        assert fragment in result.message


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Return all paths below a folder, with the content of files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def write_corpus(folder: Path) -> None:
    """Write 200 aligned pairs: toy.pt and toy.en."""
    pairs = [
        (f"{subject[0]} {predicate[0]}{end[0]}", f"{subject[1]} {predicate[1]}{end[1]}")
        for subject in SUBJECTS
        for predicate in PREDICATES
        for end in ENDS
    ]
    for side, suffix in enumerate(("pt", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"toy.{suffix}").write_text(text, encoding="utf-8")


def write_system(folder: Path) -> None:
    """Write a recipe and its text, prepared data, a trained run and its bundle."""
    write_corpus(folder)
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    for words in (["train", "toy.toml"], ["export", "--onnx"]):
        result = nmt(*words, cwd=folder)
        assert result.code == 0, result.err


@pytest.fixture(scope="session")
def system(once: Once) -> Path:
    """A folder with toy.toml, its text, prepared/, runs/toy-pt-en and exports/toy-pt-en."""
    return once("system", write_system)


@pytest.fixture(scope="session")
def with_attention(system: Path, once: Once) -> Path:
    """A bundle of the same model that also computes attention weights."""

    def export(folder: Path) -> None:
        words = ["export", "--onnx", "--attention", "all", "-o", folder / "bundle"]
        result = nmt(*words, cwd=system)
        assert result.code == 0, result.err

    return once("attention", export) / "bundle"


@pytest.fixture
def workdir(system: Path, tmp_path: Path) -> Path:
    """A copy of the system folder for one test to change."""
    return Path(shutil.copytree(system, tmp_path / "workdir"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with only the recipe and its text."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_corpus(folder)
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    return folder
