"""Warn of an input that is plainly not in the language that a model translates from.

Loading py3langid takes as long as translating a line, so it is loaded only if the translations give
a reason: they repeat the words of the text, or are of low quality, as those of foreign words are.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import tee

from nmt_cli.search.lines import Line, Translation
from nmt_cli.web import language_name

logger = logging.getLogger(__name__)

_MAX_CHARACTERS = 2000  # of the start of an input
_WORD = re.compile(r"[^\W\d_]{2,}")
# The share of letters in repeated words, and in lines of low quality; see Translation.quality.
_MIN_REPEATED, _MIN_DOUBTFUL, _LOW_QUALITY = 0.4, 0.5, 30


@dataclass
class LanguageCheck:
    """Checks the start of one input, and warns at most once.

    Attributes:
        name: of the input.
        languages: the codes of source and target; None for no check.
    """

    name: str
    languages: tuple[str, str] | None
    _lines: list[str] = field(default_factory=list)
    _characters: int = 0
    _letters: int = 0
    _repeated: int = 0
    _doubtful: int = 0

    def watch(
        self, lines: Iterable[Line], translate: Callable[[Iterable[Line]], Iterable[Translation]]
    ) -> Iterator[Translation]:
        """Translate lines, and look at the first ones."""
        given, lines = tee(lines)
        # The translation first: it reads the line, which may not have arrived yet.
        for translation, line in zip(translate(lines), given, strict=False):
            yield translation
            if self.languages:
                self._add(line.text, translation)

    def _add(self, text: str, translation: Translation) -> None:
        words = _WORD.findall(text.lower())
        repeated = {*_WORD.findall(translation.text.lower())}
        letters = sum(map(len, words))
        self._letters += letters
        self._repeated += sum(len(word) for word in words if word in repeated)
        quality = translation.quality
        self._doubtful += letters * (quality is not None and quality < _LOW_QUALITY)
        self._lines.append(text[:_MAX_CHARACTERS])
        self._characters += len(text)
        if self._characters >= _MAX_CHARACTERS:
            self.finish()

    def finish(self) -> None:
        """Warn if what was read is in another language; the check ends."""
        languages, self.languages = self.languages, None
        if not languages or not self._letters:
            return
        repeated, doubtful = self._repeated / self._letters, self._doubtful / self._letters
        if repeated < _MIN_REPEATED and doubtful < _MIN_DOUBTFUL:
            return
        from nmt_cli.text.detection import other_language

        if other := other_language("\n".join(self._lines), *languages):
            logger.warning(
                f"{self.name}: looks like {language_name(other)}, but the model translates "
                f"from {language_name(languages[0])}; `language_check=False` hides this warning"
            )
