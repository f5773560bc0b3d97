"""Lines to translate, and their translations."""

import math
from dataclasses import dataclass, field, replace

from nmt_cli.text.edits import Span
from nmt_cli.text.glossary import Term, whole_words

# Of the log-odds of the quality.
_QUALITY_AT_0, _QUALITY_SLOPE = 2.2, 4.0


@dataclass(frozen=True)
class Line:
    """A line to translate.

    Attributes:
        phrases: in the target language; what its translation must contain.
        placeholders: spans of the text that its translation must contain as they are.
        terms: in the text; its translation should contain their translations. None for none,
            even if the translator has a glossary.
        where: what messages call it; default: its number.
    """

    text: str
    phrases: tuple[str, ...] = ()
    placeholders: tuple[Span, ...] = ()
    terms: tuple[Term, ...] | None = ()
    where: str = field(default="", compare=False)

    def is_satisfied_by(self, translation: "Translation") -> bool:
        """Return whether a translation has all phrases, as whole words."""
        phrases = [" ".join(phrase.split()) for phrase in self.phrases]
        return all(phrase and whole_words(phrase).search(translation.text) for phrase in phrases)

    def best_of(self, free: "Translation", constrained: "Translation") -> "Translation":
        """Return constrained translations, after the free one if it has all phrases."""
        ranked, seconds = constrained.n_best, free.seconds + constrained.seconds
        if self.is_satisfied_by(free):
            further = [other for other in ranked if other.text != free.text]
            ranked = [free, *further][: len(ranked)]
        others = [replace(other, others=[]) for other in ranked[1:]]
        return replace(ranked[0], others=others, seconds=seconds)


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Attributes:
        text: the line itself if it is blank.
        score: sum of the penalised log-probabilities of its parts; 0 for a blank line.
        ids: token ids of all parts, END excluded.
        tokens: the tokens, including the END of each part.
        token_scores: their log-probabilities.
        alignment: (source word, target word), counted from 0, in target order; None if not
            requested. Words are separated by white space.
        source_words, target_words: the spans of all words of the line and of ``text``, if an
            alignment was requested.
        attention: of each target word to source words, as (source, target, weight), from 0 to 1,
            if an alignment was requested; small weights are left out.
        others: further translations, best first, if several were requested.
        seconds: search time, the line's share of its batches.
    """

    text: str
    score: float
    ids: list[int]
    tokens: list[str] = field(default_factory=list)
    token_scores: list[float] = field(default_factory=list)
    alignment: list[tuple[int, int]] | None = None
    source_words: list[Span] = field(default_factory=list)
    target_words: list[Span] = field(default_factory=list)
    attention: list[tuple[int, int, float]] = field(default_factory=list)
    others: list["Translation"] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def quality(self) -> int | None:
        """The chrF to expect of the translation, from 0 to 100; None if nothing was translated.

        A logistic function of the mean log-probability of its tokens, fitted on docs.dev and
        tatoeba.dev (benchmarks/quality.py).
        """
        if not self.token_scores:
            return None
        mean = sum(self.token_scores) / len(self.token_scores)
        return round(100 / (1 + math.exp(-(_QUALITY_AT_0 + _QUALITY_SLOPE * mean))))

    @property
    def n_best(self) -> list["Translation"]:
        """All translations of the line, best first."""
        return [self, *self.others]
