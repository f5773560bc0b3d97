"""Measure glossaries: the terms that the references of a test set use, and the model does not.

    python -m benchmarks.glossary MODEL --source FILE --target FILE [--limit N] [--show N]

Of each sentence, a word of the reference is taken that is aligned to one word of the source, and
that the model's own translation lacks. The sentence is translated again with these two words as a
glossary; the reference then shows whether the rest of the translation is still good.
"""

import argparse
import random
import re
from pathlib import Path

import sacrebleu

from nmt_cli import models
from nmt_cli.host import without_warnings
from nmt_cli.models import TranslationModel
from nmt_cli.search.lines import Line
from nmt_cli.text.glossary import Glossary

MIN_WEIGHT = 0.7  # attention of the word of the reference to that of the source
SHARED = 0.5  # no other word of the reference may have so much
WORD = re.compile(r"[^\W\d_]{4,}")
EDGES = ".,;:!?\"'()“”«»…-"


def terms(model: TranslationModel, source: str, reference: str) -> list[tuple[str, str]]:
    """Return words in lower case of a sentence, each with the word of the reference for it."""
    maps = model.attention(source, reference)
    weights, found = maps.word_weights, []
    for row, (target, _) in zip(weights, maps.target_words, strict=True):
        column = int(row.argmax())
        pair = maps.source_words[column][0].strip(EDGES), target.strip(EDGES)
        is_single = (weights[:, column] > SHARED).sum() == 1
        if row[column] > MIN_WEIGHT and is_single and all(map(WORD.fullmatch, pair)):
            found.append(pair)
    return [pair for pair in found if all(map(str.islower, pair))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    sides = [
        path.read_text(encoding="utf-8").split("\n")[: arguments.limit]
        for path in (arguments.source, arguments.target)
    ]
    rng, lines, free, references = random.Random(1), [], [], []
    with models.open(arguments.model) as model, without_warnings():
        translator = model.translator()
        own = [translation.text for translation in translator.translate(sides[0])]
        for source, reference, translation in zip(*sides, own, strict=True):
            if not (source.strip() and reference.strip()):
                continue
            try:
                pairs = terms(model, source, reference)
            except models.InputError:  # too long to align
                continue
            lacking = [pair for pair in pairs if not re.search(rf"\b{pair[1]}\b", translation)]
            if lacking:
                glossary = Glossary(dict([rng.choice(lacking)]))
                lines.append(Line(source, terms=glossary.found(source)))
                free.append(translation)
                references.append(reference)
        placed = [translation.text for translation in translator.translate(lines)]
    print("| translations | terms | BLEU | chrF++ |\n|---|---|---|---|")
    for name, texts in (("without glossary", free), ("with the term", placed)):
        bleu = sacrebleu.corpus_bleu(texts, [references]).score
        chrf = sacrebleu.corpus_chrf(texts, [references], word_order=2).score
        pairs = zip(lines, texts, strict=True)
        count = sum(all(term.count_in(text) for term in line.terms) for line, text in pairs)
        print(f"| {name} | {count} of {len(lines)} | {bleu:.1f} | {chrf:.1f} |")
    for line, before, after in list(zip(lines, free, placed, strict=True))[: arguments.show]:
        pairs = [f"{term.source} -> {term.target}" for term in line.terms]
        print(f"\n{line.text}\n{before}\n{after}  ({', '.join(pairs)})")


if __name__ == "__main__":
    main()
