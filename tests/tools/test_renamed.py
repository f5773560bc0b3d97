"""Pairs with other names: what is replaced, and by what."""

import random
import re
from pathlib import Path

import pytest

from tools.renamed import (
    EVERYDAY,
    PART,
    PLACEHOLDERS,
    TIMES,
    TOKEN,
    WRITTEN,
    Pair,
    rename,
    renamed,
    shared,
)

PROSE = {"gato", "the", "module", "name", "total"}
WORDS = ["socket", "buffer", "yellow"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("O módulo zlib usa foo_bar.", "The zlib module uses foo_bar.", ["zlib", "foo_bar"]),
        ("Veja os.path.join e %s, ${HOME}.", "See os.path.join and %s, ${HOME}.",
         ["os.path.join", "%s", "${HOME}"]),
        ("{nome}: 404 de PHP", "{nome}: 404 of PHP", ["{nome}", "404", "PHP"]),
        ("O total de gato", "The total of gato", []),  # words of prose
        ("usa zlib e zlib", "uses zlib", []),  # not equally often
        ("em são", "in são", []),  # not in ASCII
        ("Zlib lê zstd.", "Zlib reads zstd.", ["zstd"]),  # may be a word of the language
    ],
)  # fmt: skip
def test_what_both_sides_share(source: str, target: str, expected: list[str]) -> None:
    assert shared((source, target), PROSE) == expected


def test_both_sides_get_the_same_names() -> None:
    pair = ("Em HTTPServer.read(), httpserver lê %s.", "In HTTPServer.read(), httpserver reads %s.")
    tokens = shared(pair, PROSE)
    assert tokens == ["HTTPServer.read", "httpserver", "%s"]
    for seed in range(20):
        source, target = renamed(pair, tokens, WORDS, random.Random(seed))
        new = TOKEN.findall(source)
        assert len(new) == 5
        assert source == f"Em {new[1]}(), {new[2]} lê {new[4]}."
        assert target == f"In {new[1]}(), {new[2]} reads {new[4]}."
        assert re.fullmatch(r"[A-Z]+[A-Z][a-z]+\.[a-z]+", new[1])
        assert new[2].islower()
        assert new[4] in PLACEHOLDERS


def test_a_word_stays_the_same_word_and_a_number_as_long() -> None:
    pair = ("Get_File, getFile 8.12 de 1", "Get_File, getFile 8.12 of 1")
    tokens = ["Get_File", "getFile", "8.12"]
    source, _ = renamed(pair, tokens, WORDS, random.Random(3))
    first, second, number = TOKEN.findall(source)[:3]
    assert [part.lower() for part in PART.findall(first)] == [
        part.lower() for part in PART.findall(second)
    ]
    assert re.fullmatch(r"8\.[1-9]\d", number)


def write(folder: Path, texts: dict[str, list[Pair]]) -> None:
    """Write corpora, and a pair for each of the others that are read."""
    others = {name: [("o gato", "the cat")] for name in (*EVERYDAY, *WRITTEN)}
    for name, pairs in (others | texts).items():
        for side, language in enumerate(("pt", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(lines)


def test_made_from_a_folder(tmp_path: Path) -> None:
    docs = [(f"O item_{letter} existe", f"Item item_{letter} exists") for letter in "abcdef"]
    write(tmp_path, {"docs": [*docs, ("Não existe.", "It does not exist.")]})
    made = rename(tmp_path, ["docs"], count=4)
    assert made == rename(tmp_path, ["docs"], count=4)
    assert len(made) == 4
    for source, target in made:
        (name,) = set(source.split()) & set(target.split())
        assert (source, target) == (f"O {name} existe", f"Item {name} exists")
    assert len(rename(tmp_path, ["docs"])) == 6
    assert len(rename(tmp_path, ["docs", "general_ewt", "wrapped", "renamed"])) == 6


def test_numbers_of_everyday_text(tmp_path: Path) -> None:
    sentences = [("Ana vê 37 gatos, às 12:45.", "Ana sees 37 cats at 12:45.")]
    talks = [("Há 3.000 gatos.", "There are 3,000 cats.")]  # not written alike
    write(tmp_path, {"sentences": sentences, "talks": talks})
    made = rename(tmp_path, [])
    assert len(set(made)) == TIMES
    for source, target in made:
        first, *rest = re.findall(r"\d+", source)
        assert len(first) == 2
        assert source == f"Ana vê {first} gatos, às {':'.join(rest)}."
        assert target == f"Ana sees {first} cats at {':'.join(rest)}."
