"""The models of a server: one for each pair of languages, reloaded when its files change."""

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.models import TranslationModel, kind_of
from nmt_cli.models import open as open_model
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator

logger = logging.getLogger(__name__)


class ServedModel:
    """A bundle and the languages it translates between.

    Attributes:
        source, target: codes of the languages, in lower case.
        has_attention: whether its translations can have alignments.
        beam_size: of its settings.
        version: of its files; a replaced bundle has another one.
        size: bytes of its files.
        used: when it last translated.
    """

    def __init__(self, folder: Path) -> None:
        if kind_of(folder) != "bundle":
            raise ModelError(
                f"{folder}: only bundles can be served", "export it with nmt export --onnx"
            )
        self.folder = folder
        self._lock = threading.Lock()
        self._file = _manifest_file(folder)
        self._set(self._open())
        self.used = 0.0

    def _open(self) -> TranslationModel:
        return open_model(self.folder, threads=1, workers=1)

    def _set(self, model: TranslationModel) -> None:
        self._model, self._translators = model, dict[DecodingOptions, Translator]()
        self.has_attention, self.beam_size = model.has_attention, model.decoding.beam_size
        self.source, self.target = (code.lower() for code in model.languages)
        self.version = " ".join(model.fingerprint())
        self.size = sum(path.stat().st_size for path in self.folder.glob("*") if path.is_file())

    @property
    def is_loaded(self) -> bool:
        """Whether its graphs are in memory."""
        return bool(self._translators)

    def translator(self, options: DecodingOptions) -> Translator:
        """Return a translator with these options; the model is loaded if it is not."""
        self.used = time.monotonic()
        with self._lock:
            if options not in self._translators:
                self._translators[options] = self._model.translator(options)
            return self._translators[options]

    def release(self) -> None:
        """Free its memory once no batch uses it; the next one loads it again."""
        with self._lock:
            self._translators.clear()
            self._model.close()

    def reload_if_changed(self) -> None:
        """Open the bundle again if it was replaced and can be read.

        Batches that are being translated keep the old one.
        """
        file = _manifest_file(self.folder)
        if file == self._file:
            return
        try:
            model = self._open()
            if tuple(code.lower() for code in model.languages) != (self.source, self.target):
                raise ModelError(f"{self.folder}: now translates between other languages")
        except NmtError as error:
            if file is not None:
                logger.warning(f"{error.args[0]}; still serving the previous bundle")
        else:
            with self._lock:
                self._set(model)
            logger.warning(f"{self.folder}: reloaded")
        self._file = file


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
        self.served = [ServedModel(folder) for folder in dict.fromkeys(folders)]
        by_languages: dict[tuple[str, str], Path] = {}
        for model in self.served:
            other = by_languages.setdefault((model.source, model.target), model.folder)
            if other != model.folder:
                raise ModelError(
                    f"{other} and {model.folder} both translate from {model.source} to "
                    f"{model.target}",
                    "serve one of them",
                )
        self.sources = sorted({model.source for model in self.served})
        self.all_targets = sorted({model.target for model in self.served})
        self.languages = sorted({*self.sources, *self.all_targets})

    def targets(self, source: str) -> list[str]:
        """Return the codes of the languages that a language can be translated to, sorted."""
        return sorted(model.target for model in self.served if model.source == source)

    def find(self, source: str, target: str) -> ServedModel | None:
        """Return the model for two languages.

        A code with a region also finds the language without it, and the reverse.
        """
        near = [
            model
            for model in self.served
            if (_base(model.source), _base(model.target)) == (_base(source), _base(target))
        ]
        exact = source.lower(), target.lower()
        return max(
            near,
            key=lambda model: (model.source == exact[0]) + (model.target == exact[1]),
            default=None,
        )

    def make_room(self, needed: ServedModel) -> None:
        """Unload the least recently used models until there is room for this one."""
        loaded = [model for model in self.served if model.is_loaded and model is not needed]
        excess = sum(model.size for model in [needed, *loaded]) - self._memory
        for model in sorted(loaded, key=lambda model: model.used) if self._memory else ():
            if excess > 0:
                model.release()
                excess -= model.size


def _base(code: str) -> str:
    return code.lower().replace("_", "-").partition("-")[0]


def _manifest_file(folder: Path) -> tuple[int, int] | None:
    """Identify the manifest's file, which differs once a bundle is replaced; None without one."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
