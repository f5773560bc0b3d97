"""Detect the language of a text."""

from collections.abc import Collection, Sequence

_CHARACTERS = 1000  # enough to tell, and the time grows with them


class Detector:
    """Ranks languages by how likely a text is in them.

    Args:
        languages: codes of those that can be translated.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        self._languages = list(languages)

    def rank(self, text: str) -> list[tuple[str, float]]:
        """All languages that are likely, best first, with probabilities between 0 and 1."""
        found = self._identifier.rank(text[:_CHARACTERS])
        return [(code, share) for code, share in found if share >= 0.1] or found[:1]

    def choose(self, text: str, languages: Collection[str] | None = None) -> tuple[str, float]:
        """The likeliest of these languages, or of all that can be translated."""
        allowed = list(languages or self._languages)
        if len(allowed) == 1:
            return allowed[0], 1.0
        for code, share in self._identifier.rank(text[:_CHARACTERS]):
            for each in allowed:
                if each == code or each.partition("-")[0] == code:
                    return each, share
        return allowed[0], 0.0
