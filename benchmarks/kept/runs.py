"""Several sentences in a line, lines above the limit, and text that is no language."""

import base64
import random
import re
from collections.abc import Iterator

from benchmarks.kept.cases import DIRECTIONS, Case, family
from benchmarks.kept.words import parallel, sentences


@family
def many_sentences(chance: random.Random) -> Iterator[Case]:
    """Three to eight short sentences in a line: none disappears."""
    for direction in DIRECTIONS:
        for _ in range(30):
            texts = list(map(str, sentences(direction, chance.randint(3, 8), chance)))
            ends = [text[:-1] + chance.choice([".", ".", "!", "…", "..."]) for text in texts]
            yield Case(direction, "text", " ".join(ends) + "\n", tuple(texts))


@family
def sentence_ends(chance: random.Random) -> Iterator[Case]:
    """Abbreviations, initials, numbers, quotes, brackets and ellipses among sentences."""
    frames = parallel("""
        O Sr. Costa e a Sra. Lima estão aqui. {} {} = Mr. Costa and Mrs. Lima are here. {} {}
        O dr. Silva chegou às 10 h. {} {} = Dr. Silva arrived at 10 a.m. {} {}
        Eles moram na Av. Paulista, 10. {} {} = They live on St. James St. near the bank. {} {}
        J. R. Silva escreveu o livro. {} {} = J. R. Silva wrote the book. {} {}
        "{}" Depois ela saiu. {} = "{}" Then she left. {}
        ({}) {} = ({}) {}
        Comprei pão, leite etc. {} {} = I bought bread, milk, etc. {} {}
        Custa R$ 3,50. {} {} = It costs $3.50. {} {}
        Veja a p. 12. {} {} = See p. 12. {} {}
        Use frutas, p. ex. maçãs. {} {} = Use fruit, e.g. apples. {} {}
        Ele disse: “{}” {} = He said: “{}” {}
        Bem... {} {} = Well... {} {}
        O que é isso?! {} {} = What is this?! {} {}
        A Profa. Costa leu a carta. {} {} = Prof. Costa read the letter. {} {}
        Ele mora nos EUA. {} {} = He lives in the U.S. {} {}
    """)
    names = ["Costa", "Lima", "Silva", "Paulista", "James"]
    for direction in DIRECTIONS:
        for frame in frames[direction]:
            for _ in range(2):
                texts = list(map(str, sentences(direction, 2, chance)))
                source = frame.replace("{}", "%s") % tuple(texts)
                keep = tuple(name for name in names if name in source)
                yield Case(direction, "text", f"{source}\n", tuple(texts), keep)


def _lower(match: re.Match[str]) -> str:
    return match[0].lower()


@family
def long_lines(chance: random.Random) -> Iterator[Case]:
    """Lines of thousands of characters: sentences, clauses, or words without punctuation."""
    joints = {
        "pt-en": [". ", ", e ", "; ", " e ", " mas "],
        "en-pt": [". ", ", and ", "; ", " and ", " but "],
    }
    for direction in DIRECTIONS:
        texts = list(map(str, sentences(direction, 100, chance)))
        for number in range(20):
            chosen = chance.sample(texts, chance.randint(25, 60))
            joint = joints[direction][number % 5]
            clauses = [text[:-1] for text in chosen]
            if joint != ". ":
                clauses[1:] = [re.sub("^(?!Ana)[A-Z]", _lower, clause) for clause in clauses[1:]]
            yield Case(direction, "text", f"{joint.join(clauses)}.\n", tuple(chosen))


@family
def noise(chance: random.Random) -> Iterator[Case]:
    """Text that is no language stays as it is, within 10 s, and the line after it is translated."""
    hello = {
        "pt-en": ("Bom dia, meu amigo.", "friend"),
        "en-pt": ("Good morning, my friend.", "amig"),
    }
    letters = "bcdfghjklmnpqrstvwxz"
    for direction in DIRECTIONS:
        line, friend = hello[direction]
        for size in (60, 300, 1000, 4000, 8000, 30_000):
            data = chance.randbytes(size * 3 // 4)
            runs = [
                base64.b64encode(data).decode(),
                data.hex()[:size],
                chance.choice("xa=-.") * size,
                "".join(chance.choice(letters) for _ in range(size)),
            ]
            for run in runs:
                source = f"{run}\n{line}\n"
                yield Case(direction, "text", source, keep=(run, friend), seconds=10)
