"""The models of a server: which there are, replaced bundles, and memory."""

import logging
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nmt_cli.errors import ModelError, NmtError
from nmt_cli.models import TranslationModel, kind_of
from nmt_cli.models import open as open_model
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.pivot import PivotTranslator, options_before, pivot
from nmt_cli.search.segments import SegmentSearch
from nmt_cli.search.translator import Translator
from nmt_cli.text.languages import base_language

logger = logging.getLogger(__name__)

# Names, inodes, times and sizes of files: others once any was replaced or changed.
_Files = frozenset[tuple[str, int, int, int]]


class ServedModel:
    """A bundle and the languages it translates between.

    Its graphs are private copies of its files, which may be overwritten while they are used.

    Attributes:
        steps: the model itself.
        name: as its card has it.
        source, target: codes of the languages, in lower case.
        has_attention: whether its translations can have alignments.
        version: of its files; a replaced bundle has another one.
        size: bytes of its files.
        used: when it last translated.
    """

    def __init__(self, folder: Path) -> None:
        if kind_of(folder) != "bundle":
            hint = "export it with nmt export --onnx"
            raise ModelError(f"{folder}: only bundles can be served", hint)
        self.folder, self.steps = folder, (self,)
        self._lock = threading.Lock()
        self._refused: tuple[_Files, NmtError] | None = None
        self._seen = _files_of(folder)
        self.source, self.target = "", ""
        self._set(*self._opened())
        self.used = 0.0

    def _opened(self) -> "tuple[TranslationModel, _Files]":
        """Open the bundle, unless these files were refused before."""
        files = _files_of(self.folder)
        if self._refused and self._refused[0] == files:
            raise self._refused[1]
        try:
            model = open_model(self.folder, threads=1, workers=1, private=True)
            languages = tuple(code.lower() for code in model.languages)
            if self.source and languages != (self.source, self.target):
                raise ModelError(f"{self.folder}: now translates between other languages")
            model.translator()  # loads the graphs
        except NmtError as error:
            self._refused = files, error
            raise
        return model, files

    def _set(self, model: TranslationModel, files: "_Files") -> None:
        self._model: TranslationModel | None = model
        self._files, self._translators = files, dict[DecodingOptions, Translator]()
        self.name = model.name
        self.has_attention, self.beam_size = model.has_attention, model.decoding.beam_size
        self.source, self.target = (code.lower() for code in model.languages)
        self.version = " ".join(model.fingerprint())
        self.size = sum(size for *_, size in files)

    @property
    def is_loaded(self) -> bool:
        """Whether its graphs are in memory."""
        return self._model is not None

    def translator(self, options: DecodingOptions, pause: Callable[[], None]) -> Translator:
        """Return a translator with these options; the model is loaded if it is not.

        Args:
            pause: called before each batch.
        """
        self.used = time.monotonic()
        with self._lock:
            if self._model is None:
                self._set(*self._opened())
            assert self._model is not None
            if options not in self._translators:
                self._translators[options] = self._model.translator(options)
            translator = self._translators[options]
        return replace(translator, search=_Pausing(translator.search, pause))

    def release(self) -> bool:
        """Free its memory once no batch uses it; the next one loads it again.

        A model whose files have changed stays: a refused bundle cannot be loaded.
        """
        with self._lock:
            if _files_of(self.folder) != self._files:
                return False
            self._model = None
            self._translators.clear()
            return True

    def reload_if_changed(self) -> None:
        """Open the bundle again if it was replaced, can be read, and is not being copied.

        Batches that are being translated keep the old one.
        """
        files, before = _files_of(self.folder), self._seen
        self._seen = files
        refused = self._refused and self._refused[0]
        if not files or files != before or files in (self._files, refused):
            return
        try:
            model = self._opened()
        except NmtError as error:
            logger.warning(f"{error.args[0]}; still serving the previous bundle")
        else:
            with self._lock:
                self._set(*model)
            logger.warning(f"{self.folder}: reloaded")


class ServedPivot:
    """Served models that translate one after the other; the attributes are as in ServedModel."""

    def __init__(self, steps: tuple[ServedModel, ...]) -> None:
        self.steps = steps
        self.source, self.target = steps[0].source, steps[-1].target
        self.name = ", then ".join(step.name for step in steps)

    @property
    def has_attention(self) -> bool:
        """Whether its translations can have alignments."""
        return all(step.has_attention for step in self.steps)

    @property
    def beam_size(self) -> int:
        """That of the last model."""
        return self.steps[-1].beam_size

    @property
    def version(self) -> str:
        """Of the files of all models."""
        return " ".join(step.version for step in self.steps)

    def translator(self, options: DecodingOptions, pause: Callable[[], None]) -> PivotTranslator:
        """Return a translator with these options; see ServedModel."""
        *before, last = self.steps
        steps = [step.translator(options_before(options), pause) for step in before]
        return pivot([*steps, last.translator(options, pause)])


Direction = ServedModel | ServedPivot


@dataclass(frozen=True)
class _Pausing:
    """A search that pauses before each batch."""

    wrapped: SegmentSearch
    pause: Callable[[], None]

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        self.pause()
        return self.wrapped.search(batch, options)

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        self.pause()
        return self.wrapped.force(pairs, attention)


class Models:
    """All models of a server.

    Args:
        folders: of the bundles.
        memory: bytes of models that may be loaded at the same time; 0 for no limit. The least
            recently used model is unloaded.

    Attributes:
        sources, all_targets, languages: codes of the source languages, of the target languages
            and of both, sorted.
    """

    def __init__(self, folders: Sequence[Path], memory: int) -> None:
        self._memory = memory
        self.served: list[ServedModel] = []
        self._pivots: dict[tuple[ServedModel, ...], ServedPivot] = {}
        for folder in dict.fromkeys(folders):
            self.served.append(ServedModel(folder))
            self.make_room(self.served[-1])
        by_languages: dict[tuple[str, str], Path] = {}
        for model in self.served:
            other = by_languages.setdefault((model.source, model.target), model.folder)
            if other != model.folder:
                reason = f"both translate from {model.source} to {model.target}"
                raise ModelError(f"{other} and {model.folder} {reason}", "serve one of them")
        self.sources = sorted({model.source for model in self.served})
        self.all_targets = sorted({model.target for model in self.served})
        self.languages = sorted({*self.sources, *self.all_targets})

    def targets(self, source: str) -> list[str]:
        """Return the codes of the languages that a language can be translated to, sorted."""
        return sorted(steps[-1].target for steps in self._ways(source))

    def find(self, source: str, target: str) -> Direction | None:
        """Return the model for two languages, or the fewest that lead from one to the other.

        A code with a region also finds the language without it, and the reverse.
        """
        wanted = base_language(target)
        near = [way for way in self._ways(source) if base_language(way[-1].target) == wanted]
        exact = source.lower(), target.lower()
        best = max(
            near,
            key=lambda way: (
                -len(way),
                (way[0].source == exact[0]) + (way[-1].target == exact[1]),
            ),
            default=None,
        )
        if best is None or len(best) == 1:
            return best and best[0]
        return self._pivots.setdefault(best, ServedPivot(best))

    def is_same(self, source: str, target: str) -> bool:
        """Whether two codes mean the same served language: pt and pt-BR do, pt-PT and pt-BR not."""
        one, other = source.lower(), target.lower()
        is_same = one == other or base_language(one) == other or one == base_language(other)
        return is_same and base_language(one) in map(base_language, self.languages)

    def _ways(self, source: str) -> Iterator[tuple[ServedModel, ...]]:
        """Yield the models that lead from a language to each other one, the fewest first."""
        reached, ways = {base_language(source)}, [tuple[ServedModel, ...]()]
        while ways:
            further = list[tuple[ServedModel, ...]]()
            for way in ways:
                base = base_language(way[-1].target if way else source)
                further += [
                    (*way, model)
                    for model in self.served
                    if base_language(model.source) == base
                    and base_language(model.target) not in reached
                ]
            reached |= {base_language(way[-1].target) for way in further}
            yield from further
            ways = further

    def make_room(self, needed: Direction) -> None:
        """Unload the least recently used models until there is room for those of a direction."""
        loaded = [model for model in self.served if model.is_loaded and model not in needed.steps]
        excess = sum(model.size for model in [*needed.steps, *loaded]) - self._memory
        for model in sorted(loaded, key=lambda model: model.used) if self._memory else ():
            if excess > 0 and model.release():
                excess -= model.size


def _files_of(folder: Path) -> _Files:
    """Describe all files of a folder; nothing if it is missing, or changes at the moment."""
    try:
        found = [(str(path), path.stat()) for path in folder.rglob("*")]
    except OSError:
        return frozenset()
    return frozenset(
        (name, status.st_ino, status.st_mtime_ns, status.st_size)
        for name, status in found
        if stat.S_ISREG(status.st_mode)
    )
