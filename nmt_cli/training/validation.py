"""Judging a model in training: loss on the development set, BLEU through the real search."""

from dataclasses import dataclass

import keras

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepare import Prepared
from nmt_cli.evaluate.metrics import bleu
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.model.transformer import build_transformer
from nmt_cli.recipe import Recipe
from nmt_cli.search.beam import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training.feed import Feed


@dataclass(frozen=True)
class Judgement:
    """One validation.

    Attributes:
        loss: smoothed cross-entropy, nats a token, mean over the batches.
        accuracy: share of tokens ranked first under the reference history.
        bleu: of greedy translations of the first sentences of the set.
    """

    loss: float
    accuracy: float
    bleu: float


class Validator:
    """Runs validations of one training.

    Args:
        model: the model in training, compiled.
        recipe: its recipe.
        prepared: where its development set is.
    """

    def __init__(self, model: keras.Model, recipe: Recipe, prepared: Prepared) -> None:
        self._model = model
        self._dev = Batches(*prepared.arrays("dev"), recipe.training.batch_tokens, recipe.seed)
        text, count = prepared.text("dev"), recipe.training.validate_sentences
        self._source, self._target = text.source[:count], text.target[:count]
        self._twin = self._float32_twin(recipe, prepared)
        # Greedy: beam 4 takes three times as long and moves all scores up alike.
        decoding = recipe.decoding
        self._translator = Translator(
            KerasStepModel(self._twin),
            prepared.tokenizers(),
            SearchOptions.of(decoding, beam_size=1),
            decoding.max_source,
        )

    def _float32_twin(self, recipe: Recipe, prepared: Prepared) -> keras.Model:
        """The model search runs on: the same one, or a float32 copy of a mixed one."""
        if recipe.training.precision == "float32":
            return self._model
        tokenizers = prepared.tokenizers()
        policy = keras.config.dtype_policy()
        keras.config.set_dtype_policy("float32")
        twin = build_transformer(
            recipe.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, recipe.seed
        )
        keras.config.set_dtype_policy(policy)
        return twin

    def __len__(self) -> int:
        return len(self._source)

    def judge(self) -> Judgement:
        """Validate the model as it is now."""
        if self._twin is not self._model:
            for ours, theirs in zip(self._twin.weights, self._model.weights, strict=True):
                ours.assign(theirs)
        measured = self._model.evaluate(
            Feed(self._dev.once()).dataset(),
            steps=self._dev.steps_per_epoch(),
            verbose=0,
            return_dict=True,
        )
        translations = [each.text for each in self._translator.translate(self._source)]
        return Judgement(
            float(measured["loss"]), float(measured["accuracy"]), bleu(translations, self._target)
        )
