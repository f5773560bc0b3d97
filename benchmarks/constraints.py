"""Measure constraints: phrases that translations have anyway, and others of the references.

    python -m benchmarks.constraints MODEL --source FILE --target FILE [--limit N] [--show N]

Of each sentence, some words of its translation are required, which should change nothing. Then
words of the reference are required that the translation lacks; the reference shows whether the
rest of the translation is still good.
"""

import argparse
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from nmt_cli import models
from nmt_cli.host import without_warnings
from nmt_cli.models import TranslationModel

WORDS = (1, 3)  # a phrase has one to three
EDGES = ".,;:!?\"'()“”«»…-"


def has(text: str, phrase: str) -> bool:
    """Whether a text has a phrase as whole words."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def phrase_of(rng: random.Random, text: str, other: str | None = None) -> str:
    """Return some words of a text that another one lacks; "" if there are none."""
    words = text.split()
    phrases = {
        " ".join(words[start : start + size]).strip(EDGES)
        for size in range(WORDS[0], WORDS[1] + 1)
        for start in range(len(words) - size + 1)
    }
    found = sorted(
        phrase
        for phrase in phrases
        if has(text, phrase) and phrase.strip() and not (other and has(other, phrase))
    )
    return rng.choice(found) if found else ""


def constrained(
    model: TranslationModel, lines: Sequence[str], phrases: Sequence[str], beam: int | None
) -> tuple[list[str], float]:
    """Return translations that have phrases, and the seconds they took."""
    began = time.perf_counter()
    required = [[phrase] for phrase in phrases]
    found = [one.text for one in model.translate(lines, constraints=required, beam_size=beam)]
    return found, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--beam-size", type=int)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    sources, references = (
        path.read_text(encoding="utf-8").split("\n")[: arguments.limit]
        for path in (arguments.source, arguments.target)
    )
    rng, beam = random.Random(1), arguments.beam_size
    with models.open(arguments.model) as model, without_warnings():
        began = time.perf_counter()
        free = [translation.text for translation in model.translate(sources, beam_size=beam)]
        seconds = time.perf_counter() - began
        rows = [
            row for row in zip(sources, references, free, strict=True) if all(map(str.strip, row))
        ]
        own = [(*row, phrase_of(rng, row[2])) for row in rows]
        own = [row for row in own if row[3]]
        others = [(*row, phrase_of(rng, row[1], row[2])) for row in rows]
        others = [row for row in others if row[3]]
        same, _ = constrained(model, [row[0] for row in own], [row[3] for row in own], beam)
        changed = [pair for pair in zip(own, same, strict=True) if pair[0][2] != pair[1]]
        print(f"{len(changed)} of {len(own)} translations change by a phrase that they have")
        placed, taken = constrained(
            model, [row[0] for row in others], [row[3] for row in others], beam
        )
    print("| translations | with the phrase | BLEU | chrF++ | seconds |\n|---|---|---|---|---|")
    expected = [row[1] for row in others]
    for name, texts, cost in (
        ("free", [row[2] for row in others], seconds * len(others) / len(sources)),
        ("with a phrase of the reference", placed, taken),
    ):
        bleu = sacrebleu.corpus_bleu(texts, [expected]).score
        chrf = sacrebleu.corpus_chrf(texts, [expected], word_order=2).score
        count = sum(has(text, row[3]) for text, row in zip(texts, others, strict=True))
        print(f"| {name} | {count} of {len(others)} | {bleu:.1f} | {chrf:.1f} | {cost:.1f} |")
    for row, text in [*changed, *zip(others, placed, strict=True)][: arguments.show]:
        source, _, before, phrase = row
        print(f"\n{source}\n{before}\n{text}  ({phrase})")


if __name__ == "__main__":
    main()
