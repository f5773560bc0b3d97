"""Fake models: honest ones, and hostile ones that damage what they receive."""

import random
import re
from collections.abc import Callable, Iterable, Sequence

from nmt_cli.formats.placing import Translate
from nmt_cli.search.lines import Translation


def answering(answers: Sequence[str]) -> Translate:
    """Return a model that answers any texts with these translations."""
    return Translate(lambda texts: [Translation(answer, 0.0, []) for answer in answers])


def by_text(answer: Callable[[str], str]) -> Translate:
    """Return a model that translates each text with a function."""
    return Translate(lambda lines: [Translation(answer(line.text), 0.0, []) for line in lines])


unchanged = by_text(str)
upper = by_text(str.upper)
# Changes all words, keeps everything else and lengthens the text, as a good model would.
marked = by_text(lambda text: f"Ü {text} ü")


def recorded(model: Translate = unchanged) -> tuple[list[list[str]], Translate]:
    """Return a list of the texts of each call, and a model that fills it."""
    calls: list[list[str]] = []

    def translate(texts: Sequence[str]) -> Iterable[Translation]:
        calls.append([line.text for line in texts])
        return model.lines(texts)

    return calls, Translate(translate)


_BAD = [
    "%s", "%d", "{0}", "{}", "<b>", "</i>", "\\", "\\N", "`", "**", "_", "[", "](x)", "](",
    "|", "#", "- ", "1. ", "> ", "\n", "\r\n", "\n\n", "\u2028", "\x00", "\t", "&amp;", '"',
    "```", "---", "===", "http://x.y", "$HOME", "--> ", "00:00:01,000 --> 00:00:02,000", "7",
    "10.12.2020", "<!--", "~~", "  \n", "![", "    ", "#, fuzzy", 'msgstr "', "字", "…", "$$",
]  # fmt: skip


def hostile(seed: int) -> Translate:
    """Return a model that drops, repeats, reverses or adds text, or returns none, at random."""

    def answer(text: str) -> str:
        chance = random.Random(f"{seed} {text}")
        words = text.split(" ")
        trick = chance.randrange(9)
        if trick == 0:
            return ""
        if trick == 1:
            return text[::-1]
        if trick == 2:
            return text + text
        if trick == 3:
            return " ".join(words[::-1])
        if trick == 4:
            return chance.choice(_BAD)
        if trick == 5:
            return text.replace(" ", "\n")
        if trick == 6:
            return chance.choice(_BAD) + text + chance.choice(_BAD)
        if trick == 7:
            return "".join(character for character in text if chance.random() < 0.8)
        return "".join(word + chance.choice([" ", *_BAD]) for word in words)

    return by_text(answer)


def shuffled(seed: int) -> Translate:
    """Return a model that reorders, drops and adds words, and aligns them at random."""

    def answer(text: str) -> Translation:
        chance = random.Random(f"{seed} {text}")
        words = [match.span() for match in re.finditer(r"\S+", text)]
        new = [text[slice(*word)].upper() for word in words]
        chance.shuffle(new)
        new = new[: chance.randrange(len(new)) + 1] + ["MAIS"] * chance.randrange(2)
        result = " ".join(new)
        targets = [match.span() for match in re.finditer(r"\S+", result)]
        pairs = [(chance.randrange(len(words)), target) for target in range(len(targets))]
        return Translation(
            result, 0.0, [], alignment=pairs, source_words=words, target_words=targets
        )

    return Translate(lambda lines: [answer(line.text) for line in lines], aligns=True)
