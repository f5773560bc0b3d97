"""Validation during training: loss on the development set, scores of real translations."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import keras
import numpy as np
from keras import ops

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.evaluate.scores import evaluate
from nmt_cli.host import without_warnings
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import translator_for
from nmt_cli.training.checkpoint import load_checkpoint, moving_averages
from nmt_cli.training.devices import BatchFeed, Devices, local_scope, on_tensorflow
from nmt_cli.training.distributed import broadcast
from nmt_cli.training.loss import TokenMean, are_first, smoothed_cross_entropy
from nmt_cli.training.model import new_model
from nmt_cli.training.run import Run

SAMPLES = 3  # translations logged per validation


@dataclass(frozen=True)
class ValidationResult:
    """The result of one validation: ``loss`` is in nats per target token, the scores are of greedy
    translations, and process 0 has sample translations."""

    loss: float
    accuracy: float
    bleu: float
    chrf: float
    samples: Sequence[dict[str, str]] = ()


class Validator:
    """Validates the compiled model of one training, on one device of process 0."""

    def __init__(self, model: keras.Model, run: Run, prepared: Prepared, devices: Devices) -> None:
        self._model, self._devices = model, devices
        if not devices.is_main:
            return
        training, decoding = run.recipe.training, run.recipe.decoding
        tokens = max(training.batch_tokens, run.recipe.data.max_tokens)
        self._dev = Batches(*prepared.arrays("dev"), tokens, run.recipe.seed)
        text, count = prepared.text("dev"), training.validate_sentences
        self._source, self._target = text.source[:count], text.target[:count]
        self._language = run.recipe.data.target
        self._twin = model
        with local_scope(devices):
            # A float32 copy, where that differs from the model in training or runs on one device.
            if training.precision != "float32" or devices.total > 1 or training.ema:
                policy = keras.config.dtype_policy()
                self._twin = new_model(run)
                keras.config.set_dtype_policy(policy)
            loss = partial(smoothed_cross_entropy, smoothing=training.label_smoothing)
            # A separate model of the same layers: evaluation resets the metrics that fit shows.
            self._evaluated = keras.Model(self._twin.inputs, self._twin.outputs)
            self._evaluated.compile(
                # Keras requires a loss; the real one is a metric, a mean over tokens.
                loss=lambda ids, logits: ops.zeros_like(ids, dtype="float32"),
                metrics=[TokenMean("token_loss", loss), TokenMean("accuracy", are_first)],
                jit_compile=not on_tensorflow(),
            )
            # Greedy search: beam 4 takes three times as long and raises all scores alike.
            # Repetitions are not searched again: a new model has many.
            options = DecodingOptions(beam_size=1, no_repeat_ngram=0)
            twin, tokenizers = KerasStepModel(self._twin), prepared.tokenizers()
            self._translator = translator_for(twin, tokenizers, decoding, options)

    def validate(self, checkpoint: Path | None = None) -> ValidationResult:
        """Validate, in process 0, the model as it is now, or a checkpoint, whose weights may then
        replace those of the model."""
        with local_scope(self._devices):
            if checkpoint:
                load_checkpoint(checkpoint, self._twin, training=False)
            elif self._twin is not self._model:
                current = moving_averages(self._model.optimizer) or self._model.trainable_weights
                for copy, weight in zip(self._twin.trainable_weights, current, strict=True):
                    copy.assign(np.asarray(weight))
            data, steps = BatchFeed(self._dev.once).dataset(), len(self._dev.order(0))
            metrics = self._evaluated.evaluate(data, steps=steps, verbose=0, return_dict=True)
            with without_warnings():
                translations = [result.text for result in self._translator.translate(self._source)]
        bleu, chrf = (score.value for score in evaluate(translations, self._target, self._language))
        lines = zip(self._source, self._target, translations, strict=True)
        names = ("source", "reference", "translation")
        samples = [dict(zip(names, texts, strict=True)) for texts in islice(lines, SAMPLES)]
        loss, accuracy = float(metrics["token_loss"]), float(metrics["accuracy"])
        return ValidationResult(loss, accuracy, bleu, chrf, samples)

    def broadcast(self, result: ValidationResult | None) -> ValidationResult | None:
        """Return process 0's result, or None, in all processes; only process 0 has the samples."""
        numbers = [1.0, *astuple(result)[:4]] if result else [0.0] * 5
        is_result, loss, accuracy, bleu, chrf = broadcast(self._devices, numbers)
        return result or (ValidationResult(loss, accuracy, bleu, chrf) if is_result else None)
