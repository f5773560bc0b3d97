"""The models that a server has: one for each direction, reloaded when their files change."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import NmtError
from nmt_cli.models import TranslationModel, kind_of, open
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator


class Direction:
    """A bundle and the languages it translates between.

    Attributes:
        source, target: codes of the languages, in lower case.
        tokenizers: of both sides.
        has_attention: whether its translations can have alignments.
        version: of its files; a replaced bundle has another one.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        if kind_of(folder) != "bundle":
            raise NmtError(
                f"{folder}: only bundles can be served", "export it with nmt export --onnx"
            )
        self.folder, self._warn = folder, warn
        self._lock = threading.Lock()
        self._signature = _signature(folder)
        self._take(self._open())
        self.used = 0.0

    def _open(self) -> TranslationModel:
        return open(self.folder, threads=1, workers=1)

    def _take(self, model: TranslationModel) -> None:
        self._model, self._translators = model, dict[DecodingOptions, Translator]()
        self.tokenizers, self.has_attention = model.tokenizers, model.has_attention
        self.source, self.target = (each.lower() for each in model.languages)
        self.version = " ".join(model.fingerprint())

    @property
    def beam_size(self) -> int:
        """The model's own."""
        return self._model.decoding.beam_size

    @property
    def size(self) -> int:
        """Bytes of its files while it is loaded, else 0."""
        if not self._translators:
            return 0
        return sum(each.stat().st_size for each in self.folder.glob("*") if each.is_file())

    @contextmanager
    def translator(self, options: DecodingOptions) -> Iterator[Translator]:
        """The translator with these options, for one thread and batch."""
        self.used = time.monotonic()
        with self._lock:
            if options not in self._translators:
                self._translators[options] = self._model.translator(options)
            translator = self._translators[options]
        yield translator

    def release(self) -> None:
        """Free its memory once no batch uses it; the next one loads it again."""
        with self._lock:
            self._translators.clear()
            self._model.close()

    def reload_if_changed(self) -> None:
        """Open the bundle again if it was replaced; batches under way keep the old one.

        A bundle that cannot be read, as while it is being written, does not replace the old one.
        """
        found = _signature(self.folder)
        if found == self._signature:
            return
        try:
            model = self._open()
            if tuple(each.lower() for each in model.languages) != (self.source, self.target):
                raise NmtError(f"{self.folder}: now translates between other languages")
        except NmtError as error:
            if found is not None and found != self._signature:
                self._warn(f"{error.args[0]}; still serving the bundle that was there")
        else:
            with self._lock:
                self._take(model)
            self._warn(f"{self.folder}: reloaded")
        self._signature = found


class Models:
    """All directions of a server.

    Args:
        memory: bytes of files that may be loaded at the same time; 0 for no limit. The direction
            that was used least recently makes room.
    """

    def __init__(self, folders: Sequence[Path], memory: int, warn: Callable[[str], None]) -> None:
        self._memory = memory
        self.directions = [Direction(each, warn) for each in dict.fromkeys(folders)]
        seen: dict[tuple[str, str], Path] = {}
        for each in self.directions:
            other = seen.setdefault((each.source, each.target), each.folder)
            if other != each.folder:
                raise NmtError(
                    f"{other} and {each.folder} both translate from {each.source} to {each.target}",
                    "serve one of them",
                )

    @property
    def sources(self) -> list[str]:
        """Codes of the source languages, sorted."""
        return sorted({each.source for each in self.directions})

    def targets(self, source: str) -> list[str]:
        """Codes of the languages that a language can be translated to, sorted."""
        return sorted(each.target for each in self.directions if each.source == source)

    def find(self, source: str, target: str) -> Direction | None:
        """The direction between two languages.

        A code with a region also finds the language without, and the other way round.
        """
        near = [
            each
            for each in self.directions
            if (_base(each.source), _base(each.target)) == (_base(source), _base(target))
        ]
        asked = source.lower(), target.lower()
        found = max(
            near,
            key=lambda each: (each.source == asked[0]) + (each.target == asked[1]),
            default=None,
        )
        if found:
            self._make_room(found)
        return found

    def reload_changed(self) -> None:
        """Reload the bundles that were replaced."""
        for each in self.directions:
            each.reload_if_changed()

    def _make_room(self, needed: Direction) -> None:
        if not self._memory:
            return
        others = [each for each in self.directions if each is not needed]
        for each in sorted(others, key=lambda other: other.used):
            if sum(other.size for other in self.directions) <= self._memory - needed.size:
                break
            each.release()


def _base(code: str) -> str:
    return code.lower().replace("_", "-").partition("-")[0]


def _signature(folder: Path) -> tuple[int, int] | None:
    """What changes when a bundle is replaced; None while there is none."""
    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
