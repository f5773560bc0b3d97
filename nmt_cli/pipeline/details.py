"""What a translation is told of, beside its text."""

from dataclasses import dataclass
from typing import Any

from nmt_cli.search.rejoining import Translation
from nmt_cli.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Details:
    """What is asked for.

    Attributes:
        target: names the tokens.
        scores, alignments, tokens: each of them.
        all: an object of all there is, n-best lists and time included.
    """

    target: Tokenizer
    scores: bool = False
    alignments: bool = False
    tokens: bool = False
    all: bool = False

    def of(self, translation: Translation) -> dict[str, Any]:
        """Fields by name, in the order in which columns stand."""
        found: dict[str, Any] = {}
        if self.scores or self.all:
            found["score"] = round(translation.score, 6)
        if self.alignments:
            found["alignment"] = [f"{i}-{j}" for i, j in translation.alignment or []]
        if self.tokens or self.all:
            ids = [token for token, _ in translation.token_scores]
            found["tokens"] = self.target.tokens(ids)
        if self.all:
            found["token_scores"] = [round(each, 6) for _, each in translation.token_scores]
        return found

    def full(self, best: Translation) -> dict[str, Any]:
        """All that is told of a line: its translation, n-best list and time."""
        found = {"translation": best.text, **self.of(best)}
        if best.others:
            found["n_best"] = [
                {"translation": each.text, **self.of(each)} for each in (best, *best.others)
            ]
        return {**found, "seconds": round(best.seconds, 6)}
