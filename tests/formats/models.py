"""Fake models: honest ones, and hostile ones that damage what they receive."""

import random
from collections.abc import Callable, Sequence

Translate = Callable[[Sequence[str]], list[str]]


def unchanged(texts: Sequence[str]) -> list[str]:
    return list(texts)


def upper(texts: Sequence[str]) -> list[str]:
    return [text.upper() for text in texts]


def marked(texts: Sequence[str]) -> list[str]:
    """Change all words, keep everything else and lengthen the text, as a good model would."""
    return [f"Ü {text} ü" for text in texts]


def recorded(answer: Translate = unchanged) -> tuple[list[list[str]], Translate]:
    """Return a list of the texts of each call, and a model that fills it."""
    calls: list[list[str]] = []

    def translate(texts: Sequence[str]) -> list[str]:
        calls.append(list(texts))
        return answer(texts)

    return calls, translate


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
            return "".join(each for each in text if chance.random() < 0.8)
        return "".join(word + chance.choice([" ", *_BAD]) for word in words)

    return lambda texts: [answer(text) for text in texts]
