"""Open a trained model, whatever form it has: a run (Keras) or a bundle (ONNX Runtime).

:func:`kind_of` tells the two apart for all other modules. Frameworks are imported when needed:
translating with a bundle never loads TensorFlow.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import model_folder
from nmt_cli.errors import InputError, ModelError, OptionError
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.languages import base_language
from nmt_cli.text.lines import aligned
from nmt_cli.training import RUN

# The modules of the search are imported by methods: the graphs of a bundle are loaded meanwhile.
if TYPE_CHECKING:
    from nmt_cli.runtime.load import Bundle
    from nmt_cli.search.alignment import AttentionMaps
    from nmt_cli.search.lines import Translation
    from nmt_cli.search.pivot import PivotTranslator
    from nmt_cli.search.step_model import StepModel
    from nmt_cli.search.trace import Search
    from nmt_cli.search.translator import Translator

_OTHERS = {
    "nmt_ctranslate2.json": "a CTranslate2 model; see its MODEL_CARD.md for how to translate",
    "saved_model.pb": "a TensorFlow SavedModel; nmt translates with runs and ONNX bundles",
    "config.json": "a model for transformers; make a run of it with nmt import",
}


def open(
    path: str | Path,
    *more: str | Path,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "cpu",
    provider: str | None = None,
    private: bool = False,
) -> "TranslationModel":
    """Open a run or a bundle for translation.

    The files of a bundle are checked here, once; a run's model is loaded when it is first used.

    Args:
        path: folder of the run or bundle, or the name of an installed model.
        more: further models with the same vocabularies: an ensemble, whose probabilities are
            averaged. The first model's settings apply.
        threads: CPU cores to use; None for all. This and the next three are for bundles only.
        workers: batches translated in parallel; None for one per thread.
        device: "cpu", "cuda", or "auto" for CUDA if the installed onnxruntime has it.
        provider: an execution provider of ONNX Runtime by name, instead of ``device``.
        private: read a bundle into memory, so that its files may be overwritten; takes more memory.
    """
    hardware = (threads, workers, device, provider, private)
    members = [_member(model_folder(Path(name)), hardware) for name in (path, *more)]
    for member in members[1:]:
        if _vocabularies(member) != _vocabularies(members[0]):
            reason = f"{members[0].folder} and {member.folder} have different vocabularies"
            raise ModelError(reason, "an ensemble needs models that share their tokenizers")
    return TranslationModel(members)


def _member(folder: Path, hardware: tuple[Any, ...]) -> "Bundle | _Run":
    if kind_of(folder) == "bundle":
        from nmt_cli.runtime.load import Bundle

        return Bundle(folder, *hardware)
    if hardware != (None, None, "cpu", None, False):
        raise OptionError(
            f"{folder}: is a run; `threads`, `workers`, `device` and `provider` are for bundles",
            "make a bundle with nmt export",
        )
    return _Run(folder)


def kind_of(path: Path) -> str:
    """Return "bundle" or "run", whichever a folder is; others raise ModelError."""
    if (path / MANIFEST).exists():
        return "bundle"
    if (path / RUN).exists():
        return "run"
    for marker, problem in _OTHERS.items():
        if (path / marker).exists():
            raise ModelError(f"{path}: {problem}")
    reason = f"{path}: neither a run (no {RUN}) nor a bundle (no {MANIFEST})"
    raise ModelError(reason, "give a folder written by nmt train or nmt export")


def describe(path: Path) -> dict[str, Any]:
    """Return what a run or bundle records about itself, for JSON, without reading weights."""
    if kind_of(path) == "bundle":
        from nmt_cli.bundle.card import describe_bundle

        return describe_bundle(path)
    from nmt_cli.training.run import describe_run

    return describe_run(path)


class TranslationModel(AbstractContextManager["TranslationModel"]):
    """A trained model with its tokenizers, or an ensemble of several, ready to translate.

    Attributes:
        kind: "run", "bundle" or "ensemble".
        path: its folder.
        name: of the recipe with its languages, as the bundle's card has it.
        languages: source and target, as the recipe named them.
        tokenizers: of both sides.
        config: the recipe's [model] table.
        decoding: the search settings used unless options say otherwise.
        has_attention: whether it can align words.
    """

    def __init__(self, members: "Sequence[Bundle | _Run]") -> None:
        self._members, first = members, members[0]
        self.kind = "ensemble" if len(members) > 1 else first.kind
        self.path, self.name, self.languages = first.folder, first.name, first.languages
        self.tokenizers = first.tokenizers
        self.config, self.decoding = first.config, first.decoding
        self.has_attention = all(member.has_attention for member in members)

    def translate(
        self,
        lines: Iterable[str],
        options: DecodingOptions | None = None,
        *,
        constraints: Iterable[Sequence[str]] | None = None,
        **overrides: Any,
    ) -> "Iterator[Translation]":
        """Translate lines, in order: one translation for each, lazily.

        Up to 2,048 lines are read ahead. A line's translation does not depend on the other lines.

        Args:
            lines: sentences, without line ends.
            options: decoding options; None for the model's own settings.
            constraints: for each line, words and phrases that its translation must contain.
            overrides: single decoding options by name, as in ``beam_size=8``.

        Raises:
            OptionError: the options contradict each other.
            InputError: a phrase cannot be placed, or lines and constraints differ in number.
        """
        chosen = replace(options or DecodingOptions(), **overrides)
        lines = _listed("lines", lines)
        translator = self.translator(chosen, single=isinstance(lines, Sized) and len(lines) < 2)
        if constraints is None:
            return translator.translate(lines)
        if chosen.sample:
            raise OptionError("`constraints` and `sample` cannot be combined")
        from nmt_cli.search.lines import Line

        return translator.translate(
            Line(line, tuple(_listed("the constraints of a line", phrases)))
            for line, phrases in aligned(lines, constraints, ("lines", "constraints"))
        )

    def score(
        self, sources: Iterable[str], targets: Iterable[str], length_penalty: float | None = None
    ) -> "Iterator[Translation]":
        """Score given translations of lines as the search would, in order and lazily.
        The length penalty is the model's own by default; 0 gives plain log-probabilities."""
        sources, targets = _listed("sources", sources), _listed("targets", targets)
        translator = self.translator(DecodingOptions(length_penalty=length_penalty))
        return translator.score(aligned(sources, targets))

    def attention(self, source: str, target: str | None = None) -> "AttentionMaps":
        """Return the attention weights of a sentence and ``target``, or the model's translation.

        A given translation belongs to the source as it is, which is not edited then.
        """
        from nmt_cli.search.alignment import forced_attention, named_words
        from nmt_cli.search.parts import written_part
        from nmt_cli.text.edits import MappedText

        translator = self.translator(DecodingOptions(alignments=True), single=True)
        path, limit = replace(translator.path, edits=False), translator.options.max_length - 1
        if target is None:
            # As it is if it has columns or no words, or if it is translated in pieces.
            for way in (replace(translator.path, splits=False), path):
                passage, chosen = replace(translator, path=way).best(source)
                if len(chosen) == 1:
                    break
        else:
            (passage,) = path.read([source], [False])
            (ids,) = self.tokenizers.target.encode([target])
            _check("target", 0 < len(ids) <= limit, limit)
        _check("source", len(passage.parts) == 1, path.max_source)
        (unit,) = passage.parts
        if target is None:
            ids = chosen[unit].ids
            text, spans = written_part(path, passage, unit, chosen[unit])
        else:
            text, spans = MappedText(target), list(self.tokenizers.target.spans(target))
        line, starts = passage.joined({unit: text.text})
        read = [unit.text.origin(*span) for span in path.token_spans(unit)]
        written = [(starts[unit] + start, starts[unit] + end) for start, end in spans]
        return replace(
            forced_attention(translator.model, unit.ids, ids),
            source_words=named_words(source, read, path.before_source),
            target_words=named_words(line, written),
        )

    def trace(
        self, line: str, options: DecodingOptions | None = None
    ) -> "tuple[Translation, list[Search]]":
        """Translate a line and record every step of its search.

        An over-long line has a search for each of its parts; one whose translation repeated itself
        has further ones.
        """
        if options and options.sample:
            raise OptionError("`trace` and `sample` cannot be combined")
        from nmt_cli.search.segments import BeamSearch
        from nmt_cli.search.trace import Trace

        record = Trace(self.tokenizers)
        translator = self.translator(options, single=True)
        search = BeamSearch(translator.model, self.tokenizers, record)
        recording = replace(translator, search=search, workers=1, batch_tokens=1)
        (translation,) = recording.translate([line])
        return translation, record.searches

    def describe(self) -> dict[str, Any]:
        """Return what the run or bundle records about itself, for JSON."""
        models = [describe(member.folder) for member in self._members]
        return {"kind": self.kind, "models": models} if models[1:] else models[0]

    def translator(
        self, options: DecodingOptions | None = None, single: bool = False
    ) -> "Translator":
        """Make a translator with these options, or the model's own settings.

        If there is only a ``single`` sentence to translate, it gets all threads; several get one
        thread each.

        Raises:
            OptionError: the options contradict each other or the model.
            ModelError: the model cannot be loaded, or cannot do what the options request.
        """
        from nmt_cli.search.step_model import EnsembleStepModel
        from nmt_cli.search.translator import translator_for

        resolved = SearchOptions.of(self.decoding, options)
        for member in self._members:
            if resolved.needs_attention and not member.config.attends:
                reason = f"{member.folder}: the model has no attention to the source"
                raise ModelError(reason, "use a model with attention")
            limit = member.config.position_limit
            if limit is not None and resolved.max_length > limit:
                raise OptionError(
                    f"`max_length={resolved.max_length}`: {member.folder} has learned positions "
                    f"for {limit} tokens",
                    "use a smaller one",
                )
        loaded = [member.step_model(single, resolved.needs_attention) for member in self._members]
        models, workers = zip(*loaded, strict=True)
        model = EnsembleStepModel(models) if models[1:] else models[0]
        known = self.languages, self.has_attention
        return translator_for(model, self.tokenizers, self.decoding, options, min(workers), *known)

    def fingerprint(self) -> list[str]:
        """Return hashes and names that distinguish this model from any other."""
        from nmt_cli.bundle.reading import file_record

        marks = []
        for folder in (member.folder for member in self._members):
            # A bundle's manifest has the hashes of its files; weights of a run are read whole.
            paths = [folder / MANIFEST, folder / RUN, *sorted(folder.glob("*.npz"))]
            marks += [file_record(path).sha256 for path in paths if path.exists()]
            marks += sorted(path.name for path in folder.glob("checkpoints/*"))
        return marks

    def close(self) -> None:
        """Release the loaded graphs; they are loaded again when needed."""
        for member in self._members:
            member.loaded.clear()

    def __exit__(self, *exception: object) -> None:
        self.close()


class PivotModel(AbstractContextManager["PivotModel"]):
    """Models that translate one after the other, each from the language of the one before.

    Attributes:
        languages: source of the first and target of the last.
        has_attention: whether all can align words.
    """

    kind = "pivot"

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        """``models`` are two or more, in order."""
        if len(models) < 2:
            raise OptionError("`pivot` needs two models or more", "give `model` several times")
        for before, after in pairwise(models):
            languages = before.languages[1], after.languages[0]
            if base_language(languages[0]) != base_language(languages[1]):
                reason = f"{before.path} translates to {languages[0]}, but {after.path} from"
                raise ModelError(f"{reason} {languages[1]}", "give the models in order")
        self._models = models
        self.languages = models[0].languages[0], models[-1].languages[1]
        self.has_attention = all(model.has_attention for model in models)

    def translate(
        self, lines: Iterable[str], options: DecodingOptions | None = None
    ) -> "Iterator[Translation]":
        """Translate lines; see TranslationModel."""
        return self.translator(options).translate(_listed("lines", lines))

    def translator(
        self, options: DecodingOptions | None = None, single: bool = False
    ) -> "PivotTranslator":
        """Make a translator; only the last model makes more than one translation of a line.

        Raises:
            OptionError: the options have a glossary, or contradict a model.
            ModelError: see TranslationModel.
        """
        from nmt_cli.search.pivot import options_before, pivot

        options = options or DecodingOptions()
        if options.glossary:
            raise OptionError("`glossary` and `pivot` cannot be combined")
        before = options_before(options)
        steps = [model.translator(before, single) for model in self._models[:-1]]
        return pivot([*steps, self._models[-1].translator(options, single)])

    def fingerprint(self) -> list[str]:
        """Return hashes and names that distinguish these models from any others."""
        return [mark for model in self._models for mark in model.fingerprint()]

    def __exit__(self, *exception: object) -> None:
        for model in self._models:
            model.close()


AnyModel = TranslationModel | PivotModel


class _Run:
    """A run, whose model Keras runs."""

    kind = "run"

    def __init__(self, path: Path) -> None:
        from nmt_cli.training.run import Run

        self.folder, self._run = path, Run.open(path)
        recipe = self._run.recipe
        self.name, self.languages = recipe.label, (recipe.data.source, recipe.data.target)
        self.tokenizers = self._run.tokenizers()
        self.config, self.decoding = recipe.model, recipe.decoding
        self.has_attention = recipe.model.attends
        self.loaded: dict[int, StepModel] = {}

    def step_model(self, single: bool, attention: bool) -> "tuple[StepModel, int]":
        """Return the model with the run's preferred weights, for one batch at a time."""
        if not self.loaded:
            from nmt_cli.host import import_keras
            from nmt_cli.training.checkpoint import check_size

            check_size(self._run.preferred, self._run.weights)  # before Keras takes memory
            import_keras()
            from nmt_cli.model.step_model import KerasStepModel
            from nmt_cli.training.model import trained_model

            self.loaded[1] = KerasStepModel(trained_model(self._run, self._run.preferred)[0])
        return self.loaded[1], 1


def _listed(name: str, texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str | bytes):  # whose items are characters
        problem = f"{name}: {texts!r:.40} is a text, not a list of texts"
        raise InputError(problem, "put it in a list")
    return texts


def _vocabularies(member: "Bundle | _Run") -> list[list[str]]:
    sides = (member.tokenizers.source, member.tokenizers.target)
    return [tokenizer.tokens(range(tokenizer.vocab_size)) for tokenizer in sides]


def _check(side: str, is_readable: bool, limit: int) -> None:
    if not is_readable:
        problem = f"the {side} is blank, or has more than the {limit} tokens that the model reads"
        raise InputError(problem, "give one sentence")
