"""What the text path knows about languages: how they write numbers, centuries and abbreviations.

The data is in languages.json. Numbers: Unicode CLDR 46, as written in the largest country of a
language. Abbreviations: those that a sentence does not end with, since a name or a number follows,
casefolded, without their full stops; those of "*" count in all languages.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

_DATA = Path(__file__).with_name("languages.json")


@dataclass(frozen=True)
class Language:
    """How a language writes numbers, centuries and abbreviations.

    Attributes:
        decimal, group: the decimal separator and that of thousands; empty if they are not known.
        abbreviations: casefolded, without full stops.
        numbered: further abbreviations, if a number follows.
        century: a pattern of words, if Roman numerals of centuries follow them; else digits do.
    """

    decimal: str = ""
    group: str = ""
    abbreviations: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    century: str = ""


@cache
def language_of(code: str) -> Language:
    """Return what is known of a language; nothing if it is unknown. ``code`` is BCP 47."""
    languages = _table()
    everywhere = languages["*"]
    language = languages.get(base_language(code), {})
    abbreviations = f"{everywhere['abbreviations']} {language.get('abbreviations', '')}"
    return Language(
        language.get("decimal", ""),
        language.get("group", ""),
        frozenset(abbreviations.split()),
        frozenset(everywhere["numbered"].split()),
        language.get("century", ""),
    )


def known_languages() -> set[str]:
    """Return the codes of all languages in the data."""
    return _table().keys() - {"*"}


def _table() -> dict[str, dict[str, str]]:
    return msgspec.json.decode(_DATA.read_bytes(), type=dict[str, dict[str, str]])


def base_language(code: str) -> str:
    """Return the language of a code without its region, in lower case: pt of pt-BR and pt_BR."""
    return code.replace("_", "-").partition("-")[0].lower()
