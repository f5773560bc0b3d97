"""Which language a text is in, by py3langid, and whether that is plainly not the expected one."""

import re
from collections.abc import Sequence
from functools import cache

from nmt_cli.text.languages import base_language, known_languages

# More characters would make detection slower, and not more accurate.
_MAX_CHARACTERS = 1000
_TAG = re.compile("<[^<>]*>")
# How many times as likely as the expected language another one must be, and how likely at least:
# benchmarks/language_check.py.
_MIN_RATIO, _MIN_PROBABILITY = 10, 0.1
# How many times as likely as the suspected language another one must be.
_MIN_LEAD = 3
# Languages that are too similar for a warning.
_ALIKE = ({"bs", "hr", "sr"}, {"da", "nb", "nn", "no"}, {"id", "ms"}, {"gl", "pt"}, {"ca", "oc"})


class Detector:
    """Detects the language of texts."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def probabilities(self, text: str) -> dict[str, float]:
        """Return the probabilities of all languages that can be detected."""
        words = [word for word in _TAG.sub("", text).split() if "/" not in word]  # no addresses
        return dict(self._identifier.rank(" ".join(words)[:_MAX_CHARACTERS]))

    def rank(self, text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
        """Return these languages, likeliest first, with their probabilities among all languages."""
        known = self.probabilities(text)
        ranked = [(language, known.get(base_language(language), 0.0)) for language in languages]
        return sorted(ranked, key=lambda pair: -pair[1])

    def choose(self, text: str, sources: Sequence[str], target: str) -> tuple[str, float]:
        """Return the likeliest source language, or the target language if that is far likelier."""
        best, second = self.rank(text, [*sources, target])[:2]
        return second if best[0] == target and best[1] < 2 * second[1] else best


def other_language(text: str, expected: str, suspected: str) -> str | None:
    """Return the code of the language that a text is plainly in, if it is not the expected one.

    The ``suspected`` language, that of the translation, has precedence over similar ones. Returns
    None if nothing is certain, or if the expected language cannot be detected.
    """
    probabilities, expected = _detector().probabilities(text), base_language(expected)
    best = max(known_languages() & probabilities.keys(), key=lambda code: probabilities[code])
    likelihood = probabilities.get(expected, 1.0)
    if probabilities[best] < max(_MIN_PROBABILITY, _MIN_RATIO * likelihood):
        return None
    suspected = base_language(suspected)
    if _MIN_LEAD * probabilities.get(suspected, 0.0) > probabilities[best]:
        best = suspected
    return None if any({best, expected} <= alike for alike in _ALIKE) else best


@cache
def _detector() -> Detector:
    return Detector()
