"""Fake step models and tokenizers.

The step models follow the interface of `nmt_cli.search.step_model`: they get only the last
tokens and the ancestry, and derive each beam's history from them. A wrong ancestry, a
wrong `select` or a wrong order of tokens gives them a different history, and different scores.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.search.options import SearchOptions
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.step_model import Candidates, StepModel
from nmt_cli.search.translator import Translator
from nmt_cli.text.edits import Span
from nmt_cli.text.path import TextPath
from nmt_cli.text.steps import Step
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, TokenizerPair, grouped

# Maps a sentence (its source row without padding) and a history (START excluded) to
# log-probabilities of next tokens.
Follow = Callable[[tuple[int, ...], tuple[int, ...]], dict[int, float]]


@dataclass(frozen=True)
class State:
    source: np.ndarray  # [B, S]
    columns: np.ndarray  # [B, t * K], every token read so far: the cache


VOCABULARY = 200  # size of log_probs: enough for the tests' tokens and for ASCII in Characters


class FakeStepModel:
    """A step model that gets its log-probabilities from a function of (source, history)."""

    def __init__(self, follow: Follow, vocabulary: int = VOCABULARY) -> None:
        self.follow, self.vocabulary = follow, vocabulary
        self.batches: list[int] = []  # sentences in the batch at each step
        self.widths: list[tuple[int, int]] = []  # shape of each source batch

    alignment_heads = ()

    def encode(self, source: np.ndarray) -> State:
        assert source.dtype == np.int32
        self.widths.append(source.shape)
        return State(source, np.zeros((len(source), 0), np.int32))

    def step(
        self, state: State, tokens: np.ndarray, ancestry: np.ndarray
    ) -> tuple[Candidates, State]:
        count, beams = tokens.shape
        columns = np.concatenate([state.columns, tokens], axis=1)
        assert tokens.dtype == np.int32
        assert ancestry.dtype == np.bool_
        assert ancestry.shape == (count, beams, columns.shape[1])
        # One column of each earlier step, and the beam's own column of this step.
        assert (ancestry.reshape(count, beams, -1, beams).sum(axis=3) == 1).all()
        assert (ancestry[:, :, -beams:] == np.eye(beams, dtype=bool)).all()
        self.batches.append(count)
        after = State(state.source, columns)
        scores = np.full((count, beams, beams), -np.inf, np.float32)
        ids = np.zeros((count, beams, beams), np.int32)
        for b in range(count):
            for k in range(beams):
                following = self.follow(*self._read(after, ancestry, b, k))
                ranked = sorted(following.items(), key=lambda item: (-item[1], item))
                for c, (token, score) in enumerate(ranked[:beams]):
                    ids[b, k, c], scores[b, k, c] = token, score
        return Candidates(scores, ids), after

    def select(self, state: State, rows: np.ndarray) -> State:
        return State(state.source[rows], state.columns[rows])

    def log_probs(
        self, state: State, tokens: np.ndarray, ancestry: np.ndarray
    ) -> tuple[np.ndarray, State]:
        """Return log-probabilities [B, K, V]; tokens that `follow` omits get -inf."""
        _, after = self.step(state, tokens, ancestry)
        result = np.full((*tokens.shape, self.vocabulary), -np.inf, np.float32)
        for b, k in np.ndindex(*tokens.shape):
            for token, score in self.follow(*self._read(after, ancestry, b, k)).items():
                result[b, k, token] = score
        return result, after

    def attention(self, state: State, tokens: np.ndarray, ancestry: np.ndarray) -> np.ndarray:
        """Step n attends to source token n, or to the last one."""
        width = (state.source != PAD_ID).sum(axis=1)
        positions = np.minimum(ancestry.shape[2] // tokens.shape[1], width) - 1
        count, beams = tokens.shape
        weights = np.zeros((count, 1, 1, beams, state.source.shape[1]), np.float32)
        weights[np.arange(len(positions)), :, :, :, positions] = 1.0
        return weights

    @staticmethod
    def _read(
        state: State, ancestry: np.ndarray, b: int, k: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the source and history of a beam."""
        source = tuple(int(token) for token in state.source[b] if token != PAD_ID)
        start, *history = state.columns[b, ancestry[b, k]].tolist()
        assert start == START_ID
        return source, tuple(history)


def hashed(seed: int, tokens: Sequence[int], grain: int = 16, end_from: int = 0) -> Follow:
    """Return arbitrary scores for END and `tokens`: multiples of 1/grain, so that sums are exact.

    They are not a distribution: search does not need probabilities that sum to one. A coarse
    grain makes ties common. END has no probability before step `end_from`.
    """

    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        digest = hashlib.sha256(repr((seed, source, history)).encode()).digest()
        scores = {
            token: -(1 + digest[index] % (4 * grain)) / grain
            for index, token in enumerate((END_ID, *tokens))
        }
        return scores if len(history) >= end_from else {**scores, END_ID: -np.inf}

    return follow


def reference_search(
    follow: Follow, source: tuple[int, ...], beams: int, alpha: float, limit: int
) -> tuple[list[int], float]:
    """Compute the result of `nmt_cli.search.beam` for one sentence, with plain lists."""
    hypotheses: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        # Ties: lower token, then lower beam. A beam's position counts finished ones too.
        ranked = sorted(
            (-(total + score), token, place, history)
            for place, (total, history) in enumerate(hypotheses)
            for token, score in follow(source, history).items()
            if score > -np.inf
        )[: beams - len(finished)]
        hypotheses = []
        for negative, token, _, history in ranked:
            if token == END_ID:
                score = -negative / ((5 + length) / 6) ** alpha
                finished.append((score, list(history)))
            else:
                hypotheses.append((-negative, (*history, token)))
        if not hypotheses or length == limit:
            break
        best_open = max(total for total, _ in hypotheses)
        bound = best_open / ((5 + limit) / 6) ** alpha
        if finished and bound <= max(score for score, _ in finished):
            break
    if finished:
        score, ids = max(finished, key=lambda result: result[0])  # the earliest of equals
        return ids, score
    total, history = hypotheses[0]
    return list(history), total / ((5 + limit) / 6) ** alpha


def copying(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
    """Copy the source (which ends in END) token by token."""
    expected = source[len(history)] if len(history) < len(source) else END_ID
    return {token: -0.125 if token == expected else -9.0 for token in {expected, END_ID, 5}}


FIRST_CHARACTER_ID = 10


class Characters:
    """A tokenizer with one id per character; a blank line has no ids."""

    vocab_size = FIRST_CHARACTER_ID + 0x110000

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [
            [FIRST_CHARACTER_ID + ord(character) for character in line] if line.strip() else []
            for line in lines
        ]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [
            "".join(chr(id_ - FIRST_CHARACTER_ID) for id_ in ids if id_ >= FIRST_CHARACTER_ID)
            for ids in sequences
        ]

    def spans(self, line: str) -> list[Span]:
        return [(start, start + 1) for start in range(len(line))] if line.strip() else []

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        text, spans = "", list[Span]()
        for id_ in ids:
            added = self.decode([[id_]])[0]
            spans.append((len(text), len(text) + len(added)))
            text += added
        return text, spans

    def with_special_tokens(self, ids: Sequence[int]) -> list[int]:
        return [*ids, END_ID]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return self.decode([[id_] for id_ in ids])

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        return grouped([chr(id_ - FIRST_CHARACTER_ID) == " " for id_ in ids])

    def surfaces(self) -> list[bytes]:
        return [b""] * FIRST_CHARACTER_ID + [chr(character).encode() for character in range(0xD800)]


CHARACTERS = TokenizerPair(Characters(), Characters())


def fake_translator(
    model: StepModel,
    search: SearchOptions | None = None,
    max_source: int = 1000,
    tokenizers: TokenizerPair = CHARACTERS,
    steps: Sequence[Step] = (),
    keeps_code: bool = False,
    **settings: Any,
) -> Translator:
    """Return a translator that searches greedily by default."""
    beam_search = BeamSearch(model, tokenizers)
    path = TextPath(tokenizers, max_source, tuple(steps), keeps_code=keeps_code)
    return Translator(beam_search, path, search or options(1), **settings)


def options(beams: int = 4, alpha: float = 0.0, limit: int = 1000) -> SearchOptions:
    """Return search options with a length limit that does not depend on the source."""
    return SearchOptions(
        beam_size=beams,
        length_penalty=alpha,
        max_length=limit,
        length_ratio=1.0,
        length_extra=1_000_000,
    )
