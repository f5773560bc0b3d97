"""Open a trained model, whatever form it has: a run (Keras) or a bundle (ONNX Runtime).

The only module that asks which of the two a folder is. Frameworks are imported when needed:
translating with a bundle never loads TensorFlow.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import NmtError
from nmt_cli.recipe.architecture import ModelConfig, architecture_of
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.search.attention import AttentionMaps
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.scoring import PairScore, aligned, score_pairs
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import TokenizerPair

RUN = "run.json"
Warn = Callable[[str], None]
# Threads, workers, device and provider, as of open.
Hardware = tuple[int | None, int | None, str, str | None]


def open(
    path: str | Path,
    *more: str | Path,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "cpu",
    provider: str | None = None,
    warn: Warn = lambda message: None,
) -> "TranslationModel":
    """Open a run or a bundle for translation.

    The files of a bundle are checked here, once; its graphs are loaded when they are first used.

    Args:
        path: folder of the run or bundle.
        more: further models with the same vocabularies: an ensemble, whose probabilities are
            averaged. The first model's settings apply.
        threads: CPU cores to use; None for all. The last four arguments are for bundles only.
        workers: batches translated in parallel; None for one per thread.
        device: "cpu", "cuda", or "auto" for CUDA if the installed onnxruntime has it.
        provider: an execution provider of ONNX Runtime by name, instead of ``device``.
        warn: receives warnings: an unverified bundle, an over-long line that is split.

    Raises:
        NmtError: the folder is not a run or bundle, is damaged, or cannot run as requested.
    """
    hardware = (threads, workers, device, provider)
    models = [_open(Path(each), hardware, warn) for each in (path, *more)]
    return models[0] if len(models) == 1 else _Ensemble(models, warn)


def _open(path: Path, hardware: Hardware, warn: Warn) -> "TranslationModel":
    if kind_of(path) == "bundle":
        return _Bundle(path, hardware, warn)
    if hardware != (None, None, "cpu", None):
        raise NmtError(
            f"{path}: is a run; threads, workers, device and provider are for bundles only",
            "make a bundle with nmt export --onnx",
        )
    return _Run(path, warn)


def kind_of(path: Path) -> str:
    """Whether a folder is a "bundle" or a "run".

    Raises:
        NmtError: it is neither.
    """
    if (path / MANIFEST).exists():
        return "bundle"
    if (path / RUN).exists():
        return "run"
    if (path / "nmt_ctranslate2.json").exists():
        raise NmtError(
            f"{path}: a CTranslate2 model", "its MODEL_CARD.md explains how to translate with it"
        )
    if (path / "saved_model.pb").exists():
        raise NmtError(
            f"{path}: a TensorFlow SavedModel", "nmt translates with runs and ONNX bundles"
        )
    raise NmtError(
        f"{path}: neither a run (no {RUN}) nor a bundle (no {MANIFEST})",
        "give a folder written by nmt train or nmt export --onnx",
    )


def describe(path: Path) -> dict[str, Any]:
    """Everything that a run or bundle records about itself, for JSON; reads no weights.

    Raises:
        NmtError: the folder is not a run or bundle, or its description is damaged.
    """
    if kind_of(path) == "bundle":
        from nmt_cli.bundle.description import describe_bundle

        return describe_bundle(path)
    from nmt_cli.training.description import describe_run

    return describe_run(path)


class TranslationModel(ABC):
    """A trained model with its tokenizers, ready to translate.

    Attributes:
        kind: "run", "bundle" or "ensemble".
        path: its folder.
        languages: source and target, as the recipe named them.
        tokenizers: of both sides.
        config: the recipe's [model] table.
        decoding: the search settings used unless options say otherwise.
    """

    kind: str
    path: Path
    languages: tuple[str, str]
    tokenizers: TokenizerPair
    config: ModelConfig
    decoding: DecodingConfig

    def __init__(self, path: Path, warn: Warn) -> None:
        self.path = path
        self._warn = warn

    def translate(
        self, lines: Iterable[str], options: DecodingOptions | None = None, **overrides: Any
    ) -> Iterator[Translation]:
        """Translate lines, in order: one translation for each, lazily.

        Lines are read up to 2,048 ahead, so that lines of similar length can share a batch. A
        line's translation does not depend on the other lines.

        Args:
            lines: sentences, without line ends.
            options: decoding options; None for the model's own settings.
            overrides: single decoding options by name, as in ``beam_size=8``.

        Raises:
            OptionError: the options contradict each other.
            NmtError: the model cannot be loaded or run, or there is not enough memory.
        """
        chosen = replace(options or DecodingOptions(), **overrides)
        sentences = len(lines) if isinstance(lines, Sized) else 2
        return self.translator(chosen, sentences).translate(lines)

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        length_penalty: float | None = None,
    ) -> Iterator[PairScore]:
        """Score given translations as the search would, in order and lazily.

        Args:
            sources: lines.
            targets: their translations, aligned.
            length_penalty: None for the model's own; 0 gives plain log-probabilities.

        Raises:
            NmtError: one side has more lines, or the model cannot be loaded or run.
        """
        translator = self.translator(DecodingOptions(length_penalty=length_penalty))
        return score_pairs(translator, aligned(sources, targets))

    def attention(self, source: str, target: str | None = None) -> AttentionMaps:
        """Attention weights of a sentence and its translation.

        Args:
            source: a sentence.
            target: its translation; None for the model's own.

        Raises:
            NmtError: a side is blank or longer than the model reads at a time, or the model
                provides no attention weights.
        """
        self._check_attention()
        self._ids("source", source, self.decoding.max_source)
        if target is None:
            target_ids = next(self.translate([source])).ids
        else:
            target_ids = self._ids("target", target, self.decoding.max_length - 1)
        return self._attention(source, target_ids)

    def describe(self) -> dict[str, Any]:
        """Everything that the run or bundle records about itself, for JSON."""
        return describe(self.path)

    def translator(self, options: DecodingOptions | None = None, sentences: int = 2) -> Translator:
        """A translator with these options.

        Args:
            options: None for the model's own settings.
            sentences: how many will be translated, as far as is known: a lone one gets all
                threads, several get one each.

        Raises:
            OptionError: the options contradict each other.
            NmtError: the model cannot be loaded, or cannot do what the options request.
        """
        resolved = SearchOptions.of(self.decoding, options)
        self._check_length(resolved)
        if resolved.needs_attention:
            self._check_attention()
        model, workers = self._step_model(sentences)
        return Translator(
            model, self.tokenizers, resolved, self.decoding.max_source, self._warn, workers
        )

    def fingerprint(self) -> list[str]:
        """Hashes and names that distinguish this model from any other."""
        # A bundle's manifest holds the hashes of its files; the weights of a run are read whole.
        marks = [self.path / MANIFEST, self.path / RUN, *sorted(self.path.glob("*.npz"))]
        found = [hashlib.sha256(each.read_bytes()).hexdigest() for each in marks if each.exists()]
        return [*found, *sorted(each.name for each in self.path.glob("checkpoints/*"))]

    def close(self) -> None:
        """Release the loaded graphs; they are loaded again when needed."""
        self.__dict__.pop("_loaded", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @abstractmethod
    def _step_model(self, sentences: int) -> tuple[StepModel, int]:
        """What the search runs on, and the number of batches to run in parallel."""

    @abstractmethod
    def _attention(self, source: str, target: list[int]) -> AttentionMaps:
        """Attention weights for a sentence and the ids of its translation without END."""

    def _check_attention(self) -> None:  # noqa: B027 - Keras models always provide it
        """Raise NmtError if the model provides no attention weights."""

    def _check_length(self, options: SearchOptions) -> None:
        positions = architecture_of(self.config).max_positions(self.config)
        if positions is not None and options.max_length > positions:
            raise NmtError(
                f"--max-length {options.max_length}: {self.path} has learned positions for "
                f"{positions} tokens",
                "use a smaller one",
            )

    def _ids(self, side: str, text: str, longest: int) -> list[int]:
        tokenizer = self.tokenizers.source if side == "source" else self.tokenizers.target
        (ids,) = tokenizer.encode([text])
        if not ids:
            raise NmtError(f"the {side} is blank", "give a sentence")
        if len(ids) > longest:
            raise NmtError(
                f"the {side} has {len(ids)} tokens; the model reads at most {longest} at a time",
                "give a shorter sentence",
            )
        return ids


class _Bundle(TranslationModel):
    """A bundle, run by ONNX Runtime."""

    kind = "bundle"

    def __init__(self, path: Path, hardware: Hardware, warn: Warn) -> None:
        from nmt_cli.runtime.device import find_provider
        from nmt_cli.runtime.load import checked_manifest

        super().__init__(path, warn)
        self._threads, self._workers, device, provider = hardware
        self._provider = find_provider(device, provider)
        self._manifest = checked_manifest(path, warn)
        self.languages = self._manifest.source_language, self._manifest.target_language
        self.config, self.decoding = self._manifest.architecture, self._manifest.decoding

    @cached_property
    def tokenizers(self) -> TokenizerPair:  # type: ignore[override]
        from nmt_cli.runtime.load import checked_tokenizers

        return checked_tokenizers(self.path, self._manifest)

    def _step_model(self, sentences: int) -> tuple[StepModel, int]:
        from nmt_cli.runtime.device import share_threads
        from nmt_cli.runtime.step_model import OnnxStepModel

        threads = share_threads(self._threads, self._workers, sentences)
        loaded: dict[int, StepModel] = self._loaded
        if threads.each not in loaded:
            loaded[threads.each] = OnnxStepModel(
                self.path, self._manifest, threads.each, self._provider
            )
        return loaded[threads.each], threads.workers

    @cached_property
    def _loaded(self) -> dict[int, StepModel]:
        """Step models by threads per batch."""
        return {}

    def _check_attention(self) -> None:
        from nmt_cli.runtime.step_model import attention_graph

        attention_graph(self.path, self._manifest)

    def _attention(self, source: str, target: list[int]) -> AttentionMaps:
        from nmt_cli.search.forced import forced_attention

        return forced_attention(self._step_model(1)[0], self.tokenizers, source, target)


class _Run(TranslationModel):
    """A run, whose model Keras runs."""

    kind = "run"

    def __init__(self, path: Path, warn: Warn) -> None:
        from nmt_cli.training.run import Run

        super().__init__(path, warn)
        self.run = Run.open(path)
        recipe = self.run.recipe
        self.languages = recipe.data.source, recipe.data.target
        self.config, self.decoding = recipe.model, recipe.decoding

    @cached_property
    def tokenizers(self) -> TokenizerPair:  # type: ignore[override]
        return self.run.tokenizers()

    @cached_property
    def _loaded(self) -> Any:
        """The Keras model with the run's preferred weights."""
        from nmt_cli.frameworks import import_keras

        import_keras()
        from nmt_cli.training.model import trained_model

        return trained_model(self.run, self.run.preferred)[0]

    def _step_model(self, sentences: int) -> tuple[StepModel, int]:
        keras_model = self._loaded
        from nmt_cli.model.step_model import KerasStepModel

        return KerasStepModel(keras_model), 1

    def _attention(self, source: str, target: list[int]) -> AttentionMaps:
        keras_model = self._loaded
        from nmt_cli.model.step_model import KerasStepModel

        return KerasStepModel(keras_model).attention_maps(self.tokenizers, source, target)


class _Ensemble(TranslationModel):
    """Several models with the same vocabularies, whose probabilities are averaged."""

    kind = "ensemble"

    def __init__(self, models: Sequence[TranslationModel], warn: Warn) -> None:
        first = models[0]
        super().__init__(first.path, warn)
        self.languages, self.tokenizers = first.languages, first.tokenizers
        self.config, self.decoding = first.config, first.decoding
        self._models = models
        for other in models[1:]:
            if _vocabularies(other) != _vocabularies(first):
                raise NmtError(
                    f"{first.path} and {other.path} have different vocabularies",
                    "an ensemble needs models that share their tokenizers",
                )

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "models": [each.describe() for each in self._models]}

    def fingerprint(self) -> list[str]:
        return [mark for each in self._models for mark in each.fingerprint()]

    def close(self) -> None:
        for each in self._models:
            each.close()

    def _step_model(self, sentences: int) -> tuple[StepModel, int]:
        from nmt_cli.search.ensemble import EnsembleStepModel

        found = [each._step_model(sentences) for each in self._models]
        models, workers = zip(*found, strict=True)
        return EnsembleStepModel(models), min(workers)

    def _check_attention(self) -> None:
        for each in self._models:
            each._check_attention()

    def _check_length(self, options: SearchOptions) -> None:
        for each in self._models:
            each._check_length(options)

    def _attention(self, source: str, target: list[int]) -> AttentionMaps:
        raise NmtError("an ensemble has no attention weights of its own", "open one of its models")


def _vocabularies(model: TranslationModel) -> list[list[str]]:
    sides = (model.tokenizers.source, model.tokenizers.target)
    return [each.tokens(range(each.vocab_size)) for each in sides]


__all__ = ["TranslationModel", "describe", "kind_of", "open"]
