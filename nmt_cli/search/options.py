"""What search is asked for: of every sentence alike, and of one alone."""

import math
from dataclasses import dataclass

from nmt_cli.recipe.config import DecodingConfig


@dataclass(frozen=True)
class Sampling:
    """Tokens drawn at random in place of the best ones.

    Attributes:
        seed: with a sentence's number it decides all that is drawn for it.
        temperature: log-probabilities are divided by it; below 1 the likely become likelier.
        top_k: draw among this many best tokens; 0: among all.
        top_p: draw among the best tokens that have this much probability together (Holtzman et
            al. 2020, https://arxiv.org/abs/1904.09751); 1: among all.
    """

    seed: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


@dataclass(frozen=True)
class SearchOptions:
    """What search may do; the defaults stand in :class:`nmt_cli.recipe.config.DecodingConfig`.

    Attributes:
        beam_size: hypotheses followed at a time; 1 is greedy search. As many samples are drawn.
        length_penalty: alpha; 0 compares plain sums, larger values favour longer output.
        max_length: tokens of a translation at most, END included.
        length_ratio, length_extra: and at most ``ceil(ratio * source tokens) + extra``.
        n_best: hypotheses kept of a sentence, at most ``beam_size``.
        min_length: tokens of a translation at least, END excluded.
        coverage_penalty: beta of Wu et al. 2016, equation 15; 0: none.
        repetition_penalty: log-probabilities of tokens that a hypothesis has already are
            multiplied by it (Keskar et al. 2019, https://arxiv.org/abs/1909.05858); 1: none.
        no_repeat_ngram: a hypothesis has no so many tokens twice in the same order; 0: it may.
        without_unknown: whether the unknown token is never taken.
        sampling: how to draw; None: search.
    """

    beam_size: int
    length_penalty: float
    max_length: int
    length_ratio: float
    length_extra: int
    n_best: int = 1
    min_length: int = 0
    coverage_penalty: float = 0.0
    repetition_penalty: float = 1.0
    no_repeat_ngram: int = 0
    without_unknown: bool = False
    sampling: Sampling | None = None

    @classmethod
    def of(
        cls,
        config: DecodingConfig,
        beam_size: int | None = None,
        length_penalty: float | None = None,
    ) -> "SearchOptions":
        """A recipe's settings, with what the user asked for instead."""
        return cls(
            config.beam_size if beam_size is None else beam_size,
            config.length_penalty if length_penalty is None else length_penalty,
            config.max_length,
            config.length_ratio,
            config.length_extra,
        )

    def limit(self, source_tokens: int) -> int:
        """The most tokens that a translation of so many source tokens may have."""
        return min(
            self.max_length, math.ceil(self.length_ratio * source_tokens) + self.length_extra
        )


@dataclass(frozen=True)
class Request:
    """What is asked of one sentence.

    Attributes:
        number: what it is to be drawn by, where tokens are drawn; the same at each run.
        prefix: tokens that its translation begins with.
        phrases: tokens that must stand in it, each phrase together.
    """

    number: int = 0
    prefix: tuple[int, ...] = ()
    phrases: tuple[tuple[int, ...], ...] = ()

    @property
    def asked(self) -> int:
        """How many tokens the translation cannot do without."""
        return len(self.prefix) + sum(map(len, self.phrases))


NOTHING_MORE = Request()
