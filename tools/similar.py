"""Keep the translations of `nmt distill` that are similar to references.

    python -m tools.similar DISTILLED.pt DISTILLED.en CORPUS.pt CORPUS.en [CORPUS.pt CORPUS.en]...

Of each pair whose source is a source of a corpus, chrF of the translation against the corpus's own
must be at least 62, but not 100: a translation that leaves words out teaches to leave words out,
and one that is the same is in the corpus anyway. Pairs without a reference stay. The first two
files are replaced. Needs the extra ``evaluate``.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sacrebleu.metrics import CHRF

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import aligned, read_lines, write_lines

Pair = tuple[str, str]
LEAST = 62


def similar(pairs: Iterable[Pair], references: Mapping[str, str]) -> list[Pair]:
    """Pairs whose translation is similar to the reference of their source, or that have none."""
    chrf = CHRF()
    kept = []
    for source, translation in pairs:
        reference = references.get(source)
        if reference is not None and (
            translation == reference or chrf.sentence_score(translation, [reference]).score < LEAST
        ):
            continue
        kept.append((source, translation))
    return kept


def read(source: Path, target: Path) -> list[Pair]:
    """The pairs of two aligned files."""
    return list(aligned(read_lines(source), read_lines(target), (str(source), str(target))))


def main(paths: list[Path]) -> None:
    """Filter the pairs of the first two files by those of the others."""
    distilled, *corpora = zip(paths[::2], paths[1::2], strict=True)
    references = {source: target for corpus in corpora for source, target in read(*corpus)}
    pairs = read(*distilled)
    kept = similar(pairs, references)
    for place, path in enumerate(distilled):
        write_lines(path, [pair[place] for pair in kept])
    print(f"kept {len(kept):,} of {len(pairs):,} pairs")


if __name__ == "__main__":
    if len(sys.argv) < 5 or len(sys.argv) % 2 == 0:
        sys.exit(
            "usage: python -m tools.similar DISTILLED.pt DISTILLED.en CORPUS.pt CORPUS.en\n"
            "           [CORPUS.pt CORPUS.en]..."
        )
    try:
        main([Path(argument) for argument in sys.argv[1:]])
    except NmtError as error:
        sys.exit(f"error: {error}")
