"""A bundle's graphs held to what search relies on, at every step.

A bundle comes from somewhere else. That its files are whole does not make its graphs right:
what ONNX Runtime refuses, and candidates that no search can use, end in one clear error.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.runtime.step_model import OnnxState, OnnxStepModel
from nmt_cli.search.step_model import BatchTooLarge, Candidates


class GuardedStepModel:
    """An :class:`OnnxStepModel` whose failures are the user's to understand.

    Args:
        model: what runs.
        folder: of its bundle, for errors.
        vocab_size: of the target side.
    """

    def __init__(self, model: OnnxStepModel, folder: Path, vocab_size: int) -> None:
        self._model = model
        self._folder = folder
        self._vocab_size = vocab_size

    def encode(self, source: NDArray[np.int32]) -> OnnxState:
        """As search.step_model.StepModel."""
        with self._blamed():
            return self._model.encode(source)

    def step(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[Candidates, OnnxState]:
        """As search.step_model.StepModel.

        Raises:
            NmtError: ONNX Runtime failed, or gave what are no candidates.
        """
        try:  # not _blamed, which costs a hundredth of a step
            candidates, state = self._model.step(state, tokens, ancestry)
        except BatchTooLarge:
            raise
        except Exception as error:
            raise self._failure(error) from error
        problem = self._problem(candidates, tokens)
        if problem:
            raise self._error(problem)
        return candidates, state

    def log_probs(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], OnnxState]:
        """As search.step_model.StepModel.

        Raises:
            NmtError: ONNX Runtime failed, or gave what are no probabilities.
        """
        with self._blamed():
            log_probs, state = self._model.log_probs(state, tokens, ancestry)
        shape = (*tokens.shape, self._vocab_size)
        if log_probs.shape != shape or math.isnan(log_probs.max()):
            raise self._error(f"no log-probabilities of shape {shape}")
        return log_probs, state

    def attention(
        self, state: OnnxState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """As search.step_model.StepModel.

        Raises:
            NmtError: the bundle does not tell, ONNX Runtime failed, or gave what are no weights.
        """
        with self._blamed():
            weights = self._model.attention(state, tokens, ancestry)
        if weights.shape[:2] != tokens.shape or not np.isfinite(weights).all():
            raise self._error("attention weights that are not numbers")
        return weights

    def select(self, state: OnnxState, rows: NDArray[np.int64]) -> OnnxState:
        """As search.step_model.StepModel."""
        with self._blamed():
            return self._model.select(state, rows)

    def _problem(self, candidates: Candidates, tokens: NDArray[np.int32]) -> str:
        """What is wrong with candidates, in words; "" if nothing is."""
        scores, ids = candidates.scores, candidates.ids
        shape = (*tokens.shape, min(tokens.shape[1], self._vocab_size))
        if scores.shape != shape or ids.shape != shape:
            return f"candidates of shape {scores.shape} and {ids.shape}, not {shape}"
        # As unsigned numbers negative ids are large; the least of numbers is NaN if one is.
        if int(ids.view(np.uint32).max()) >= self._vocab_size:
            return f"tokens outside its vocabulary of {self._vocab_size:,}"
        if math.isnan(scores.min()):
            return "scores that are not numbers"
        return ""

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except (BatchTooLarge, NmtError):  # the translator tries smaller ones
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> NmtError:
        """Of ONNX Runtime's own exceptions, which have no common base."""
        first = (str(error).splitlines() or [type(error).__name__])[0]
        return self._error(f"an error of ONNX Runtime: {first[:160]}")

    def _error(self, problem: str) -> NmtError:
        return NmtError(f"{self._folder}: its graphs gave {problem}", "export the bundle again")
