"""Count how many everyday lines a model translates acceptably, and list the others.

    python benchmarks/everyday.py MODEL

The lines are those of everyday.tsv in the model's direction: single words, capitals, missing
punctuation, greetings, numbers, dates, times, statements, questions, commands, strings of
interfaces. Its header describes the notation and what does not count; placeholders, tags and
addresses must be kept exactly.
"""

import re
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import nmt_cli
from nmt_cli.evaluate.checks import spans

FILE = Path(__file__).with_name("everyday.tsv")
QUOTES = str.maketrans("‘’“”«»", '\'\'""""')


@dataclass(frozen=True)
class Line:
    """A line to translate, and its acceptable translations, normalized."""

    category: str
    source: str
    answers: set[str]

    def accepts(self, translation: str) -> bool:
        """Whether a translation is one of the answers and keeps all placeholders."""
        kept = {span for span in spans(self.source) if span[0] != "number"}
        return kept <= spans(translation).keys() and normalized(translation) in self.answers


def read(direction: str) -> list[Line]:
    """Read the lines of a direction, such as "pt-en"."""
    rows = [
        row.split("\t")
        for row in FILE.read_text(encoding="utf-8").splitlines()
        if not row.startswith("#")
    ]
    return [
        Line(category, source, {one for answer in answers.split(" | ") for one in expanded(answer)})
        for each_direction, category, source, answers in rows
        if each_direction == direction
    ]


def expanded(answer: str) -> set[str]:
    """All readings of an answer with [alternatives|in brackets], normalized."""
    parts = re.split(r"\[(.*?)\]", answer)  # text and alternatives in turns
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return {normalized("".join(reading)) for reading in product(*choices)}


def normalized(text: str) -> str:
    """Drop what does not make a translation unacceptable."""
    text = unicodedata.normalize("NFC", text).translate(QUOTES).casefold()
    return re.sub(r"[.!?…\s]+$", "", " ".join(re.sub(r",(?=\s|$)", " ", text).split()))


def main() -> None:
    """Translate the lines and print the results."""
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/everyday.py MODEL")
    with nmt_cli.open(sys.argv[1]) as model:
        lines = read("-".join(model.languages))
        if not lines:
            sys.exit(f"{FILE.name} has no lines from {' to '.join(model.languages)}")
        translations = [result.text for result in model.translate([line.source for line in lines])]
    accepted: Counter[str] = Counter()
    for line, translation in zip(lines, translations, strict=True):
        accepted[line.category] += line.accepts(translation)
        if not line.accepts(translation):
            print(f"{line.category}\t{line.source}\t{translation}")
    print()
    for category, count in Counter(line.category for line in lines).items():
        print(f"{category:<14}{accepted[category]:>4} of {count}")
    print(f"{'all':<14}{accepted.total():>4} of {len(lines)}")


if __name__ == "__main__":
    main()
