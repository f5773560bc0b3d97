"""Judging a model in training: loss on the development set, scores through the real search."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.model.build import build_model
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.config import Recipe
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training.checkpoint import load_checkpoint, moving_averages
from nmt_cli.training.cluster import told
from nmt_cli.training.devices import ALONE, Devices, apart
from nmt_cli.training.feed import Feed
from nmt_cli.training.loss import TokenAccuracy, TokenLoss

SAMPLES = 3  # translations shown at each validation


@dataclass(frozen=True)
class Sample:
    """A sentence of the development set and what the model makes of it."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Judgement:
    """One validation.

    Attributes:
        loss: smoothed cross-entropy, nats a target token.
        accuracy: share of tokens ranked first under the reference history.
        bleu, chrf: of greedy translations of the first sentences of the set.
        samples: a few of them.
    """

    loss: float
    accuracy: float
    bleu: float
    chrf: float
    samples: tuple[Sample, ...]

    def score(self, metric: str) -> float:
        """The score that a recipe's training.metric names; larger is better."""
        return {"bleu": self.bleu, "chrf": self.chrf, "loss": -self.loss}[metric]


class Validator:
    """Runs validations of one training.

    Args:
        model: the model in training, compiled.
        recipe: its recipe.
        prepared: where its development set is.
        devices: that it trains on. Validation takes one device of process 0 alone.
    """

    def __init__(
        self, model: keras.Model, recipe: Recipe, prepared: Prepared, devices: Devices = ALONE
    ) -> None:
        self._model, self._devices = model, devices
        if devices.leads:
            with apart(devices):
                self._prepare(recipe, prepared)

    def _prepare(self, recipe: Recipe, prepared: Prepared) -> None:
        training = recipe.training
        tokens = max(training.batch_tokens, recipe.data.max_tokens)
        self._dev = Batches(*prepared.arrays("dev"), tokens, recipe.seed)
        text, count = prepared.text("dev"), training.validate_sentences
        self._source, self._target = text.source[:count], text.target[:count]
        self._twin = self._float32_twin(recipe, prepared)
        # A model of its own around the same layers: fit's metrics stay as they are.
        self._judge = keras.Model(self._twin.inputs, self._twin.outputs)
        self._judge.compile(
            loss=_nothing,  # Keras wants one; ours is among the metrics, a mean over tokens
            metrics=[TokenLoss(training.label_smoothing), TokenAccuracy()],
            jit_compile=keras.backend.backend() != "tensorflow",
        )
        # Greedy: beam 4 takes three times as long and moves all scores up alike.
        decoding = recipe.decoding
        self._translator = Translator(
            KerasStepModel(self._twin),
            prepared.tokenizers(),
            SearchOptions.of(decoding, DecodingOptions(beam_size=1)),
            decoding.max_source,
        )

    def _float32_twin(self, recipe: Recipe, prepared: Prepared) -> keras.Model:
        """The model to judge: the one in training, or a float32 copy where that one is mixed,
        spread over devices, or has moving averages, which are what will be translated with."""
        plain = recipe.training.precision == "float32" and self._devices.total == 1
        if plain and not recipe.training.ema:
            return self._model
        tokenizers = prepared.tokenizers()
        policy = keras.config.dtype_policy()
        keras.config.set_dtype_policy("float32")
        twin = build_model(
            recipe.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, recipe.seed
        )
        keras.config.set_dtype_policy(policy)
        return twin

    def judge(self) -> Judgement:
        """Validate the model as it is now, in process 0."""
        with apart(self._devices):
            if self._twin is not self._model:
                current = moving_averages(self._model.optimizer) or self._model.trainable_weights
                for ours, theirs in zip(self._twin.trainable_weights, current, strict=True):
                    ours.assign(np.asarray(theirs))
            return self._judgement()

    def judge_weights(self, checkpoint: Path) -> Judgement:
        """Validate the weights of a checkpoint: those in the model may be lost."""
        with apart(self._devices):
            load_checkpoint(checkpoint, self._twin, training=False)
            return self._judgement()

    def shared(self, judgement: Judgement | None) -> Judgement | None:
        """Process 0's judgement in all processes, without samples in the others; None if it
        has none.

        Raises:
            NmtError: a process was lost.
        """
        numbers = [0.0] * 5
        if judgement:
            numbers = [1.0, judgement.loss, judgement.accuracy, judgement.bleu, judgement.chrf]
        made, loss, accuracy, bleu, chrf = told(self._devices, numbers)
        if self._devices.leads:
            return judgement
        return Judgement(loss, accuracy, bleu, chrf, samples=()) if made else None

    def _judgement(self) -> Judgement:
        measured = self._judge.evaluate(
            Feed(self._dev.once).dataset(),
            steps=self._dev.steps_per_epoch(),
            verbose=0,
            return_dict=True,
        )
        translations = [each.text for each in self._translator.translate(self._source)]
        bleu, chrf = (each.value for each in evaluate(translations, self._target))
        lines = zip(self._source, self._target, translations, strict=True)
        samples = tuple(Sample(*each) for each, _ in zip(lines, range(SAMPLES), strict=False))
        loss, accuracy = float(measured["token_loss"]), float(measured["accuracy"])
        return Judgement(loss, accuracy, bleu, chrf, samples)


def _nothing(ids: Any, logits: Any) -> Any:
    return ops.zeros_like(ids, dtype="float32")
