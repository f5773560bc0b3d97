"""Measure word alignments: the alignment error rate (Och and Ney 2003) of links set by hand.

    python -m benchmarks.alignment MODEL [--reverse] [--heads] [--held-out SOURCE TARGET]

alignment.tsv has Portuguese sentences, and the words of their English translations, each with the
Portuguese words that it is linked to; after a question mark, a link is possible, but not sure.

--reverse is for models from English. --heads also measures each layer and head; --held-out the
heads that nmt export would choose with these two aligned files.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from nmt_cli import models
from nmt_cli.export.alignment import alignment_heads
from nmt_cli.search.alignment import AttentionMaps, word_weights
from nmt_cli.search.step_model import Floats, Head, aligning_weights

FILE = Path(__file__).with_suffix(".tsv")
EDGES = ".,;:!?"


class Pair(NamedTuple):
    """A sentence, its translation, and links: (source word, target word), counted from 0."""

    source: str
    target: str
    sure: set[tuple[int, int]]
    possible: set[tuple[int, int]]

    def reversed(self) -> "Pair":
        """Return the pair of the other direction."""
        links = ({(target, source) for source, target in pairs} for pairs in self[2:])
        return Pair(self.target, self.source, *links)


def read(line: str) -> Pair:
    """Read a line of alignment.tsv; the second ``o`` of a sentence is ``o#2`` there."""
    source, words = line.split("\t")
    names = dict[str, int]()
    for number, word in enumerate(source.split()):
        name, count = word.strip(EDGES), 1
        while f"{name}#{count}" in names:
            count += 1
        names[f"{name}#{count}"] = number
    target, sure, possible = list[str](), set[tuple[int, int]](), set[tuple[int, int]]()
    for number, item in enumerate(words.split()):
        word, _, linked = item.partition("=")
        target.append(word)
        for name in linked.split("+"):
            key = name.lstrip("?")
            links = possible if name[0] == "?" else sure
            links.add((names[key if "#" in key else f"{key}#1"], number))
    return Pair(source, " ".join(target), sure, possible)


def error_rate(
    pairs: Sequence[Pair], maps: Sequence[AttentionMaps], layers: Sequence[Floats]
) -> float:
    """Return the rate of links to the source word with the most weight, of each target word.

    ``layers`` are weights, [T, S], for each pair.
    """
    sure, possible, links, expected = 0, 0, 0, 0
    for pair, words, layer in zip(pairs, maps, layers, strict=True):
        columns, rows = (
            [tokens for _, tokens in side] for side in (words.source_words, words.target_words)
        )
        found = {(int(row.argmax()), n) for n, row in enumerate(word_weights(layer, columns, rows))}
        sure += len(found & pair.sure)
        possible += len(found & (pair.sure | pair.possible))
        links += len(found)
        expected += len(pair.sure)
    return 1 - (sure + possible) / (links + expected)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--heads", action="store_true")
    parser.add_argument("--held-out", type=Path, nargs=2, metavar=("SOURCE", "TARGET"))
    arguments = parser.parse_args()
    pairs = [read(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    if arguments.reverse:
        pairs = [pair.reversed() for pair in pairs]
    with models.open(arguments.model) as model:
        maps = [model.attention(pair.source, pair.target) for pair in pairs]
        step_model, chosen = model.translator().model, None
        if arguments.held_out:
            sides = (path.read_text(encoding="utf-8").splitlines() for path in arguments.held_out)
            source, target = model.tokenizers.source, model.tokenizers.target
            first, second = (
                side.encode(lines) for side, lines in zip((source, target), sides, strict=True)
            )
            sources = [source.with_special_tokens(ids) for ids in first]
            chosen = alignment_heads(step_model, list(zip(sources, second, strict=True)))
    cross = [words.cross for words in maps]
    print("| weights | alignment error rate |\n|---|---|")

    def row(name: str, layers: Sequence[Floats]) -> None:
        print(f"| {name} | {100 * error_rate(pairs, maps, layers):.1f}% |")

    def by_heads(heads: Sequence[Head]) -> list[Floats]:
        return [aligning_weights(weights[None], heads)[0] for weights in cross]

    row("without a choice of heads", by_heads(()))
    row(
        f"the model's heads, {list(step_model.alignment_heads)}",
        by_heads(step_model.alignment_heads),
    )
    if chosen is not None:
        row(f"heads chosen by held-out text, {list(chosen)}", by_heads(chosen))
    if arguments.heads:
        layers, heads = cross[0].shape[:2]
        for layer in range(layers):
            row(f"mean of layer {layer}", [weights[layer].mean(axis=0) for weights in cross])
        for head in product(range(layers), range(heads), (0, 1)):
            row(f"head {head}", by_heads([head]))


if __name__ == "__main__":
    main()
