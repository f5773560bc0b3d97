"""Count how often a model keeps emoji, symbols and foreign words, which its vocabulary lacks.

    python benchmarks/symbols.py MODEL PREFIX

PREFIX.pt and PREFIX.en are aligned texts that the model has not seen. Each line gets what
`data.symbols` of a recipe puts into training text, by chance but the same each time; 300 lines of
each kind. A translation keeps them if its characters that neither language has are those of its
source, in order. With `--show`, those that do not are listed.
"""

import random
import re
import sys
from pathlib import Path

import nmt_cli
from nmt_cli.data.variants import with_emoji, with_foreign_word, with_symbol
from nmt_cli.text.lines import read_lines

LINES = 300
KINDS = {"emoji": with_emoji, "foreign words": with_foreign_word, "symbols": with_symbol}
OF_BOTH_LANGUAGES = re.compile(r"[\x00-\x7fºª“”’…—–À-ÖØ-öø-ÿ]")


def foreign(text: str) -> str:
    """The characters of a text that neither language has."""
    return OF_BOTH_LANGUAGES.sub("", text)


def main() -> None:
    """Translate the lines and print the counts."""
    words = [word for word in sys.argv[1:] if word != "--show"]
    if len(words) != 2:
        sys.exit("usage: python benchmarks/symbols.py MODEL PREFIX [--show]")
    pairs = list(
        zip(*(read_lines(Path(f"{words[1]}.{side}")) for side in ("pt", "en")), strict=True)
    )
    chance = random.Random(7)
    with nmt_cli.open(words[0]) as model:
        side = ("pt", "en").index(model.languages[0])
        for kind, change in KINDS.items():
            sources = [change(pair, chance)[side] for pair in pairs[:LINES]]
            translations = [result.text for result in model.translate(sources)]
            lost = [
                translated
                for translated in zip(sources, translations, strict=True)
                if foreign(translated[0]) != foreign(translated[1])
            ]
            print(f"{kind:<14}{len(sources) - len(lost):>4} of {len(sources)}")
            if "--show" in sys.argv:
                print(*(f"{source}\t{translation}" for source, translation in lost), sep="\n")


if __name__ == "__main__":
    main()
