"""Dropping bad training pairs: empty, too long, badly aligned or repeated."""

from dataclasses import dataclass

from nmt_cli.data.corpus import Corpus
from nmt_cli.recipe.config import DataConfig

# The length ratio is not applied if the longer side has at most this many characters: it means
# little for short texts ("Sim.", "Yes, please.").
SHORT = 20


@dataclass
class Cleaning:
    """Numbers of pairs read, dropped by reason, and kept."""

    read: int = 0
    empty: int = 0
    too_long: int = 0
    ratio: int = 0
    duplicate: int = 0
    too_many_tokens: int = 0
    kept: int = 0

    def report(self, pairs: str = "pairs") -> list[str]:
        """Return one line per reason for the user; ``pairs`` names the pairs."""
        rows = [
            (f"{pairs} read", self.read),
            ("dropped, a side empty", self.empty),
            ("dropped, a side too long", self.too_long),
            ("dropped, length ratio", self.ratio),
            ("dropped, exact duplicate", self.duplicate),
            ("dropped, too many tokens", self.too_many_tokens),
            (f"{pairs} kept", self.kept),
        ]
        return [f"{label:<26}{count:>10,}" for label, count in rows]


def clean(
    corpora: list[Corpus], config: DataConfig, seen: set[tuple[str, str]] | None = None
) -> tuple[Corpus, Cleaning]:
    """Concatenate corpora, strip white space, and drop bad pairs.

    Args:
        corpora: the corpora.
        config: the limits.
        seen: earlier pairs, so that repetitions are dropped; kept pairs are added.
    """
    counts = Cleaning()
    seen = set() if seen is None else seen
    kept = Corpus("train", [], [])
    for corpus in corpora:
        for source, target in zip(corpus.source, corpus.target, strict=True):
            counts.read += 1
            source, target = source.strip(), target.strip()
            longer, shorter = max(len(source), len(target)), min(len(source), len(target))
            if not shorter:
                counts.empty += 1
            elif longer > config.max_characters:
                counts.too_long += 1
            elif longer > SHORT and longer > config.max_ratio * shorter:
                counts.ratio += 1
            elif (source, target) in seen:
                counts.duplicate += 1
            else:
                seen.add((source, target))
                kept.source.append(source)
                kept.target.append(target)
    counts.kept = len(kept)
    return kept, counts
