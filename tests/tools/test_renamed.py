"""Pairs with other names: what is replaced, and by what."""

import random
import re
from pathlib import Path

import pytest

from tools.renamed import EVERYDAY, PART, PLACEHOLDERS, TOKEN, rename, renamed, shared

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
    assert [each.lower() for each in PART.findall(first)] == [
        each.lower() for each in PART.findall(second)
    ]
    assert re.fullmatch(r"8\.[1-9]\d", number)


def test_made_from_a_folder(tmp_path: Path) -> None:
    texts = {name: [("o gato", "the cat")] for name in EVERYDAY}
    texts["docs"] = [(f"O item_{each} existe", f"Item item_{each} exists") for each in "abcdef"]
    texts["docs"].append(("Não existe.", "It does not exist."))
    for name, pairs in texts.items():
        for side, language in enumerate(("pt", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (tmp_path / f"{name}.{language}").write_text(lines)
    made = rename(tmp_path, texts, count=4)
    assert made == rename(tmp_path, texts, count=4)
    assert len(made) == 4
    for source, target in made:
        (name,) = set(source.split()) & set(target.split())
        assert (source, target) == (f"O {name} existe", f"Item {name} exists")
    assert len(rename(tmp_path, texts)) == 6
